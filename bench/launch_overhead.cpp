// What a launch costs besides its work: an empty program through the C interface, on a plugin that computes nothing and
// on the cpu backend, against a call of a function. On the caller's thread, so CPU time is the figure.
//
//     launch_overhead NULL_PLUGIN CPU_PLUGIN [--benchmark_...]
#include <thrt/error.hpp>
#include <thrt/graph/graph.hpp>
#include <thrt/graph/program.hpp>
#include <thrt/graph/tensor_ops.hpp>
#include <thrt/plugin/loaded_plugin.hpp>
#include <thrt/runtime/context.hpp>

#include <benchmark/benchmark.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace thrt::bench {
namespace {

void nothing() {
  benchmark::ClobberMemory();
}

void direct_call(benchmark::State& state) {
  void (*volatile function)() = nothing;
  for ([[maybe_unused]] auto _ : state) function();
}

// y = x, or y = -x, of one f32.
class Small {
 public:
  Small(std::shared_ptr<LoadedPlugin> plugin, std::uint32_t threads, bool empty)
      : plugin_(std::move(plugin)), context_(plugin_, options(threads)), executable_(context_, program(empty)) {
    for (std::size_t i = 0; i < executable_.program().slots().size(); ++i) buffers_.emplace_back(context_, 64);
    binding_ = std::make_unique<Binding>(executable_, buffers_);
  }
  Binding& binding() { return *binding_; }

 private:
  static ContextOptions options(std::uint32_t threads) {
    ContextOptions made;
    made.threads = threads;
    return made;
  }
  static Program program(bool empty) {
    Graph graph("small");
    const Tensor x = graph.input("x", {DType::kF32, {1}});
    graph.output("y", empty ? x : -x);
    return lower(graph);
  }

  std::shared_ptr<LoadedPlugin> plugin_;
  Context context_;
  Executable executable_;
  std::vector<Buffer> buffers_;
  std::unique_ptr<Binding> binding_;
};

void launch(benchmark::State& state, const std::shared_ptr<LoadedPlugin>& plugin, std::uint32_t threads, bool empty) {
  Small small(plugin, threads, empty);
  for ([[maybe_unused]] auto _ : state) small.binding().run();
}

}  // namespace
}  // namespace thrt::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 3) {
    std::fputs("usage: launch_overhead NULL_PLUGIN CPU_PLUGIN [--benchmark_...]\n", stderr);
    return 2;
  }
  try {
    using thrt::LoadedPlugin;
    using thrt::bench::launch;
    const auto null = std::make_shared<LoadedPlugin>(argv[1]), cpu = std::make_shared<LoadedPlugin>(argv[2]);
    benchmark::RegisterBenchmark("direct_call", thrt::bench::direct_call);
    benchmark::RegisterBenchmark("launch/null", launch, null, 1u, true);
    for (const std::uint32_t threads : {1u, 2u}) {
      const std::string where = "/cpu/threads" + std::to_string(threads);
      benchmark::RegisterBenchmark(("launch_copy" + where).c_str(), launch, cpu, threads, true);
      benchmark::RegisterBenchmark(("launch_one_op" + where).c_str(), launch, cpu, threads, false);
    }
    benchmark::RunSpecifiedBenchmarks();
  } catch (const thrt::Error& error) {
    std::fprintf(stderr, "launch_overhead: %s\n", error.what());
    return 1;
  }
  return 0;
}
