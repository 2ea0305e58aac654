// The budget, the statistics, and what is left when things are destroyed.
#include "raw_host.hpp"

#include <thrt/graph/tensor_ops.hpp>

#include <algorithm>
#include <array>
#include <numeric>

namespace thrt::conformance {
namespace {

constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB;
// Over budget, or really without memory: a backend may see the device's end first.
const std::vector<thrt_status> kOverBudget = {THRT_OVER_BUDGET};

// A program with intermediate values: two products of [n, n].
Program products(std::int64_t n) {
  Graph graph("products");
  const Tensor x = graph.input("x", {DType::kF32, {n, n}});
  graph.output("y", sum(matmul(tanh(matmul(x, x)), x), {0, 1}));
  return lower(graph);
}

// ---------------------------------------------------------------------------------------------------------------- budget

void budget_above_the_device(const Bench& bench) {
  const RawHost host(bench);
  const std::uint64_t memory = host.info().memory_total;
  if (memory == 0 || memory > UINT64_MAX / 4) return;
  for (const std::uint64_t budget : {2 * memory, UINT64_MAX}) {
    const thrt_context_options options{sizeof options, host.device(), budget, 0, THRT_PRECISION_F32};
    thrt_context* context = poison<thrt_context>();
    Answer answer;
    answer.require_refused(host.api().context_create(host.plugin(), &options, &context, answer.slot()), kOverBudget,
                           "context_create with a budget above the device's memory");
    require(context == nullptr, "context_create: failed and did not set the context to null");
  }
  require_works(host.context());
}

void require_within_budget(const RawContext& context, std::uint64_t budget) {
  const thrt_stats stats = context.stats();
  require(stats.bytes_budget == budget, "stats.bytes_budget is {}, the context was made with {}", stats.bytes_budget,
          budget);
  require(stats.bytes_allocated <= budget, "{} bytes are allocated of a budget of {}", stats.bytes_allocated, budget);
  require(stats.bytes_peak >= stats.bytes_allocated, "the peak of {} bytes is below the {} allocated now",
          stats.bytes_peak, stats.bytes_allocated);
}

void buffers_over_budget(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context(kMiB);
  context.refused_buffer(4 * kMiB, kOverBudget, "buffer_create of 4 MiB in a budget of 1 MiB");
  context.refused_buffer(std::uint64_t{1} << 62, {THRT_OVER_BUDGET, THRT_OUT_OF_MEMORY, THRT_INVALID_ARGUMENT},
                         "buffer_create of 2^62 bytes");
  require_within_budget(context, kMiB);
  std::vector<thrt_buffer*> buffers;
  for (int i = 0; i < 15; ++i) buffers.push_back(context.buffer(60 * kKiB));
  require_within_budget(context, kMiB);
  context.refused_buffer(512 * kKiB, kOverBudget, "buffer_create of 512 KiB after 900 KiB of 1 MiB");
  for (int i = 0; i < 9; ++i) {
    context.api().buffer_destroy(context.handle(), buffers.back());
    buffers.pop_back();
  }
  buffers.push_back(context.buffer(512 * kKiB));  // what was given back can be had again
  require_within_budget(context, kMiB);
  for (thrt_buffer* one : buffers) context.api().buffer_destroy(context.handle(), one);
  require(context.stats().bytes_allocated == 0, "{} bytes are allocated after all buffers are gone",
          context.stats().bytes_allocated);
  require_works(context);
}

void constants_over_budget(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context(kMiB);
  Graph graph("constants");
  std::vector<float> numbers(std::size_t{1} << 20);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  graph.output("y", graph.input("x", {DType::kF32, {1 << 20}}) + constant_f32(graph, {1 << 20}, numbers));
  const Program program = lower(graph);
  const thrt_compile_options options{sizeof options, 0};
  thrt_executable* executable = poison<thrt_executable>();
  Answer answer;
  const thrt_status status =
      context.api().compile(context.handle(), program.abi(), &options, &executable, nullptr, answer.slot());
  // A backend may keep its constants with the workspace; what it says it holds must be within the budget.
  if (status == THRT_OK) {
    require_within_budget(context, kMiB);
    context.api().executable_destroy(context.handle(), executable);
  } else {
    answer.require_refused(status, kOverBudget, "compile with 4 MiB of constants in a budget of 1 MiB");
    require(executable == nullptr, "compile: failed and did not set the executable to null");
  }
  require(context.stats().bytes_allocated == 0, "{} bytes stay allocated", context.stats().bytes_allocated);
  require_works(context);
}

// "0: the device's memory".
void budget_by_default(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  const std::uint64_t budget = context.stats().bytes_budget, memory = host.info().memory_total;
  require(budget > 0, "without a budget of the host's, stats.bytes_budget is 0");
  require(memory == 0 || budget <= memory, "stats.bytes_budget is {}, the device has {} bytes", budget, memory);
}

// They are of the budget, as an executable's own or in a binding's workspace.
void constants_are_counted(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  constexpr std::int64_t kCount = 1 << 20;
  Graph graph("constants");
  std::vector<float> numbers(kCount);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  graph.output("y", graph.input("x", {DType::kF32, {kCount}}) + constant_f32(graph, {kCount}, numbers));
  const Program program = lower(graph);
  std::vector<thrt_slot_buffer> slots;
  for (const Program::Slot& slot : program.slots()) slots.push_back({context.buffer(slot.type.bytes()), 0});
  const std::uint64_t before = context.stats().bytes_allocated;
  thrt_executable_info info{};
  info.struct_size = sizeof info;
  thrt_executable* executable = context.compile(*program.abi(), 0, &info);
  thrt_binding* binding = context.bind(executable, slots);
  const std::uint64_t taken = context.stats().bytes_allocated - before;
  require(taken >= info.constant_bytes, "info.constant_bytes is {}, compile and bind take {} bytes of the budget",
          info.constant_bytes, taken);
  context.api().binding_destroy(context.handle(), binding);
  context.api().executable_destroy(context.handle(), executable);
  require(context.stats().bytes_allocated == before, "a destroyed executable keeps {} bytes",
          context.stats().bytes_allocated - before);
  for (const thrt_slot_buffer& slot : slots) context.api().buffer_destroy(context.handle(), slot.buffer);
}

void workspace_over_budget(const Bench& bench) {
  const RawHost host(bench);
  constexpr std::int64_t kSide = 512;  // 1 MiB a value
  constexpr std::uint64_t kBudget = 16 * kMiB;
  const RawContext context = host.context(kBudget);
  const Program program = products(kSide);
  thrt_executable_info info{};
  info.struct_size = sizeof info;
  thrt_executable* executable = context.compile(*program.abi(), 0, &info);
  const std::uint64_t workspace = info.workspace_bytes;
  if (workspace >= kMiB && workspace < 8 * kMiB) {
    std::vector<thrt_slot_buffer> slots;
    for (const Program::Slot& slot : program.slots()) slots.push_back({context.buffer(slot.type.bytes()), 0});
    const std::uint64_t left = kBudget - context.stats().bytes_allocated;
    thrt_buffer* filler = context.buffer(left - workspace / 2);
    context.refused_bind(executable, slots.data(), static_cast<std::uint32_t>(slots.size()), kOverBudget,
                         "bind with half of its workspace left in the budget");
    require_within_budget(context, kBudget);
    context.api().buffer_destroy(context.handle(), filler);
    const std::uint64_t before = context.stats().bytes_allocated;
    thrt_binding* binding = context.bind(executable, slots);
    require(context.stats().bytes_allocated >= before + workspace, "bind takes {} bytes, info.workspace_bytes is {}",
            context.stats().bytes_allocated - before, workspace);
    require_within_budget(context, kBudget);
    context.api().binding_destroy(context.handle(), binding);
    require(context.stats().bytes_allocated == before, "a destroyed binding keeps {} bytes",
            context.stats().bytes_allocated - before);
    for (const thrt_slot_buffer& slot : slots) context.api().buffer_destroy(context.handle(), slot.buffer);
  }
  context.api().executable_destroy(context.handle(), executable);
  require(context.stats().bytes_allocated == 0, "{} bytes stay allocated", context.stats().bytes_allocated);
  require_works(context);
}

// ------------------------------------------------------------------------------------------------------------ statistics

void stats_count(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  constexpr std::int64_t kCount = 1000;
  const RawBinding bound = context.prepare(line_program(kCount));
  thrt_stats stats = context.stats();
  require(stats.buffers == 2 && stats.executables == 1 && stats.bindings == 1,
          "stats count {} buffers, {} executables, {} bindings; there are 2, 1, 1", stats.buffers, stats.executables,
          stats.bindings);
  require(stats.bytes_allocated >= 2 * kCount * 4, "stats.bytes_allocated is {}, the buffers alone have {}",
          stats.bytes_allocated, 2 * kCount * 4);
  require(stats.runs == 0 && stats.bytes_uploaded == 0 && stats.bytes_downloaded == 0,
          "a new context has {} runs, {} bytes uploaded, {} downloaded", stats.runs, stats.bytes_uploaded,
          stats.bytes_downloaded);
  const std::vector<float> x(kCount, 1.0f);
  context.write(bound.buffers[0], x);
  context.write(bound.buffers[0], std::span(x).first(10));
  context.wait(context.enqueue(bound.binding, 7));
  context.wait(context.enqueue(bound.binding));
  context.read(bound.buffers[1], kCount);
  stats = context.stats();
  require(stats.bytes_uploaded == 4040, "4040 bytes were uploaded, stats say {}", stats.bytes_uploaded);
  require(stats.bytes_downloaded == 4000, "4000 bytes were downloaded, stats say {}", stats.bytes_downloaded);
  require(stats.runs == 8, "the program ran 8 times, stats say {}", stats.runs);
  const std::uint64_t peak = stats.bytes_peak;
  context.destroy(bound);
  stats = context.stats();
  require(stats.buffers + stats.executables + stats.bindings == 0, "destroyed objects are still counted");
  require(stats.bytes_allocated == 0 && stats.bytes_peak == peak, "after all is gone {} bytes are allocated, peak {}",
          stats.bytes_allocated, stats.bytes_peak);
}

// The peak is the most that was ever allocated, so no less than what any look at it found.
void stats_peak(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  std::uint64_t most = 0;
  const auto look = [&](const char* when) {
    const thrt_stats stats = context.stats();
    most = std::max(most, stats.bytes_allocated);
    require(stats.bytes_peak >= most, "after {} the peak is {} bytes, {} were allocated at a time", when,
            stats.bytes_peak, most);
  };
  for (const std::uint64_t bytes : {4 * kMiB, 64 * kKiB, 8 * kMiB, kKiB}) {
    thrt_buffer* buffer = context.buffer(bytes);
    look("buffer_create");
    context.api().buffer_destroy(context.handle(), buffer);
    look("buffer_destroy");
  }
  for (const std::int64_t side : {256, 8}) {
    const RawBinding bound = context.prepare(products(side));
    look("bind");
    context.wait(context.enqueue(bound.binding, 3));
    look("runs");
    context.destroy(bound);
    look("binding_destroy");
  }
}

// -------------------------------------------------------------------------------------------------------------- lifetimes

// Two bindings of one executable, destroyed with their buffers and the executable in the order of `order`; whatever
// depends on another goes first all the same.
void destroy_in_order(const RawContext& context, const std::array<int, 5>& order) {
  const thrt_backend_api& api = context.api();
  const Program program = line_program(500);
  thrt_executable* executable = context.compile(*program.abi());
  thrt_buffer* buffers[3] = {context.buffer(2000), context.buffer(2000), context.buffer(2000)};
  thrt_binding* bindings[2];
  for (int b = 0; b < 2; ++b) {
    const thrt_slot_buffer slots[] = {{buffers[0], 0}, {buffers[1 + b], 0}};
    bindings[b] = context.bind(executable, slots);
  }
  const std::vector<float> x(500, 3.0f);
  context.write(buffers[0], x);
  context.enqueue(bindings[0]);  // not waited for: a destroyed binding waits for its runs
  context.enqueue(bindings[1]);
  api.binding_destroy(context.handle(), bindings[order[0] % 2]);
  api.binding_destroy(context.handle(), bindings[1 - order[0] % 2]);
  for (const int what : order) {
    if (what < 3) {
      api.buffer_destroy(context.handle(), buffers[what]);
    } else if (what == 3) {
      api.executable_destroy(context.handle(), executable);
    }
  }
}

void destruction_orders(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  std::array<int, 5> order = {0, 1, 2, 3, 4};
  int tried = 0;
  do {
    destroy_in_order(context, order);
    const thrt_stats stats = context.stats();
    require(stats.bytes_allocated == 0 && stats.buffers + stats.executables + stats.bindings == 0,
            "order {}{}{}{}: {} bytes and {} objects stay", order[0], order[1], order[2], order[3],
            stats.bytes_allocated, stats.buffers + stats.executables + stats.bindings);
    ++tried;
  } while (std::next_permutation(order.begin(), order.begin() + 4));
  require(tried == 24, "{} orders of 24", tried);
  require_works(context);
}

void executable_outlives_bindings(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  const Program program = line_program(16);
  thrt_executable* executable = context.compile(*program.abi());
  for (int round = 0; round < 20; ++round) {
    thrt_buffer* in = context.buffer(64);
    thrt_buffer* out = context.buffer(64);
    const thrt_slot_buffer slots[] = {{in, 0}, {out, 0}};
    thrt_binding* binding = context.bind(executable, slots);
    context.write(in, std::vector<float>(16, static_cast<float>(round)));
    context.wait(context.enqueue(binding));
    const float got = context.read(out, 16)[15];
    require(got == 2.0f * static_cast<float>(round) + 1.0f, "round {} of one executable gives {}", round, got);
    context.api().binding_destroy(context.handle(), binding);
    for (thrt_buffer* one : {in, out}) context.api().buffer_destroy(context.handle(), one);
  }
  context.api().executable_destroy(context.handle(), executable);
}

}  // namespace

std::vector<Case> memory_cases() {
  return {
      contract_case("budget_above_the_device", budget_above_the_device),
      contract_case("buffers_over_budget", buffers_over_budget),
      contract_case("constants_over_budget", constants_over_budget),
      contract_case("workspace_over_budget", workspace_over_budget),
      contract_case("budget_by_default", budget_by_default),
      contract_case("constants_are_counted", constants_are_counted),
      contract_case("stats_count", stats_count),
      contract_case("stats_peak", stats_peak),
      contract_case("destruction_orders", destruction_orders),
      contract_case("executable_outlives_bindings", executable_outlives_bindings),
  };
}

}  // namespace thrt::conformance
