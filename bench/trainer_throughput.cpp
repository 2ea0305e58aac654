// Times every group on every backend that is there: `trainer_throughput [--backend ID]... [--plugin FILE]...
// [--precision f32,bf16] [--threads N] [--benchmark_...]`. All others are Google Benchmark's own options.
//
// Ids are GROUP/BACKEND[-PRECISION]/bBATCH. Counters: `setup_ms` building, compiling, binding and the first run, apart
// from the time; `backend_threads`; `parameters`; `env_steps_per_second`.
#include <thrt/bench/groups.hpp>
#include <thrt/bench/targets.hpp>
#include <thrt/error.hpp>
#include <thrt/plugin/probe.hpp>
#include <thrt/standard_streams.hpp>

#include "plain_names.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace thrt::bench {
namespace {

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

std::int64_t thread_count(const std::string& text) {
  std::int64_t count = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (failure == std::errc() && end == text.data() + text.size() && count >= 1) return count;
  throw Error(fmt::format("--threads is '{}'", text), "it takes a whole number of 1 or more", "--threads 2");
}

// Takes our options out of the arguments; what is left is Google Benchmark's.
TargetRequest take_options(int& argc, char** argv) {
  TargetRequest request;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    std::string option = argv[i];
    std::optional<std::string> value;
    if (const std::size_t equals = option.find('='); equals != std::string::npos) {
      value = option.substr(equals + 1);
      option.resize(equals);
    }
    if (option != "--backend" && option != "--plugin" && option != "--precision" && option != "--threads") {
      argv[kept++] = argv[i];
      continue;
    }
    if (!value) {
      if (i + 1 == argc) throw Error(option + " has no value", "a value has to follow it", option + "=VALUE");
      value = argv[++i];
    }
    if (option == "--backend") request.backends.push_back(*value);
    if (option == "--plugin") request.plugins.push_back(*value);
    if (option == "--precision") request.precisions = split(*value);
    if (option == "--threads") request.threads = thread_count(*value);
  }
  argc = kept;
  argv[argc] = nullptr;
  return request;
}

struct Prepared {
  Work work;
  double setup_seconds = 0.0;
};

// Google Benchmark calls a benchmark several times, to find out how often to run it. One that was made stays until the
// next is asked for, so that its set-up is done once and its memory is there for the next.
class Workbench {
 public:
  const Prepared& prepare(const std::string& id, const std::function<Work()>& make) {
    if (id_ == id) return *prepared_;
    prepared_.reset();
    id_.clear();
    const auto start = std::chrono::steady_clock::now();
    Work work = make();
    work.run();
    const std::chrono::duration<double> setup = std::chrono::steady_clock::now() - start;
    prepared_ = {std::move(work), setup.count()};
    id_ = id;
    return *prepared_;
  }

 private:
  std::string id_;
  std::optional<Prepared> prepared_;
};

void time_work(benchmark::State& state, const Prepared& prepared, std::int64_t threads) {
  for ([[maybe_unused]] auto step : state) prepared.work.run();
  state.counters["setup_ms"] = 1e3 * prepared.setup_seconds;
  state.counters["backend_threads"] = static_cast<double>(threads);
  if (prepared.work.parameters > 0) state.counters["parameters"] = static_cast<double>(prepared.work.parameters);
  if (prepared.work.env_steps > 0.0) {
    state.counters["env_steps_per_second"] = benchmark::Counter(
        prepared.work.env_steps * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  }
}

void add_benchmark(const std::shared_ptr<Workbench>& bench, const std::string& id, const std::function<Work()>& make,
                   std::int64_t threads) {
  benchmark::RegisterBenchmark(
      id.c_str(),
      [bench, id, make, threads](benchmark::State& state) {
        try {
          time_work(state, bench->prepare(id, make), threads);
        } catch (const Error& error) {  // a backend that lacks an op does not keep the others from being timed
          state.SkipWithError(fmt::format("{}: {}", error.what(), error.why()).c_str());
        }
      })
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}

void add_all(const Targets& targets, std::int64_t threads) {
  const auto bench = std::make_shared<Workbench>();
  for (const Group& group : groups()) {
    if (!group.on_device) {
      add_benchmark(bench, benchmark_id(group, "host"), group.make_host, 1);
      continue;
    }
    for (const Target& target : targets.targets) {
      if (!target.is_f32 && !group.mixed) continue;
      add_benchmark(
          bench, benchmark_id(group, target.label),
          [make = group.make, context = target.context] { return make(context); }, threads);
    }
  }
}

int run(int argc, char** argv) {
  const TargetRequest request = take_options(argc, argv);
  PlainNames names(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const Targets targets = open_targets(request);
  for (const std::string& line : targets.left_out) fmt::print(stderr, "left out: {}\n", line);
  for (const Target& target : targets.targets) {
    benchmark::AddCustomContext("backend " + target.label, fmt::format("{}, {}", target.device, target.plugin));
  }
  benchmark::AddCustomContext("backend_threads", std::to_string(request.threads));
  add_all(targets, request.threads);
  const std::size_t ran = names.run();
  benchmark::ClearRegisteredBenchmarks();
  benchmark::Shutdown();
  if (ran == 0) throw Error("the filter leaves no benchmark", {}, "--benchmark_list_tests shows them");
  return 0;
}

}  // namespace
}  // namespace thrt::bench

int main(int argc, char** argv) {
  // The child that discovery starts for each plugin.
  if (argc == 4 && std::strcmp(argv[1], "__probe") == 0) return thrt::probe_main(argv[2], std::atoi(argv[3]));
  try {
    return thrt::bench::run(argc, argv);
  } catch (const thrt::Error& error) {
    return thrt::report_failure(error);
  } catch (const std::exception& failure) {
    return thrt::report_failure(thrt::Error(failure.what(), {}, {}, thrt::ErrorKind::kRun));
  }
}
