// `limits [--threads N] [--benchmark_...]`: the floor of each group; ids are GROUP/floor[-bf16]/bBATCH.
//
// The libraries spread a call over N threads of OpenMP; Eigen, built without it, stays on one. A product too small for
// that gets slower with two threads in oneDNN 2.6 too: the table's floor for N threads is the better of 1 and N.
#include "limits.hpp"
#include "plain_names.hpp"

#include <thrt/error.hpp>
#include <thrt/standard_streams.hpp>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace thrt::bench {
namespace {

int take_threads(int& argc, char** argv) {
  int threads = 1, kept = 1;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--threads") == 0 && i + 1 < argc) {
      threads = std::atoi(argv[++i]);
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  argv[argc] = nullptr;
  if (threads >= 1) return threads;
  throw Error("--threads takes a whole number of 1 or more", {}, "--threads 2");
}

void add_benchmark(const Limit& limit, int threads) {
  const auto run = std::make_shared<std::function<void()>>();
  benchmark::RegisterBenchmark(limit.id.c_str(),
                               [limit, run, threads](benchmark::State& state) {
                                 omp_set_num_threads(threads);
                                 if (!*run) *run = limit.make(threads);
                                 (*run)();
                                 for ([[maybe_unused]] auto step : state) (*run)();
                                 state.counters["backend_threads"] = threads;
                               })
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}

int run(int argc, char** argv) {
  const int threads = take_threads(argc, argv);
  PlainNames names(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  std::vector<Limit> limits;
  add_small_net_limits(limits);
  add_nature_cnn_limits(limits);
  const dnnl_version_t* const version = dnnl_version();
  benchmark::AddCustomContext("onednn", fmt::format("{}.{}.{}", version->major, version->minor, version->patch));
  for (const Limit& limit : limits) add_benchmark(limit, threads);
  names.run();
  benchmark::Shutdown();
  return 0;
}

}  // namespace
}  // namespace thrt::bench

int main(int argc, char** argv) {
  try {
    return thrt::bench::run(argc, argv);
  } catch (const thrt::Error& error) {
    return thrt::report_failure(error);
  } catch (const std::exception& failure) {
    return thrt::report_failure(thrt::Error(failure.what(), {}, {}, thrt::ErrorKind::kRun));
  }
}
