// The budget, the statistics, and what is left when things are destroyed.
#include "raw_host.hpp"

#include <thrt/graph/tensor_ops.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
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

// What is left is freed with its context; nothing says so but the process's memory.
std::uint64_t resident_bytes() {
  std::uint64_t pages = 0, resident = 0;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/statm", "r"), &std::fclose);
  if (file == nullptr || std::fscanf(file.get(), "%lu %lu", &pages, &resident) != 2) return 0;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

// What forty rounds that each use 4 MiB may add to the process: an allocator keeps some of what it was given, a leak of
// one round's buffers is 160 MiB.
constexpr std::uint64_t kMayGrow = 40 * kMiB;
// Freed memory stays resident under AddressSanitizer on purpose.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kResidentTells = false;
#else
constexpr bool kResidentTells = true;
#endif

// Runs `round` fifty times; memory is looked at from the tenth on, when caches are warm.
void require_no_growth(const std::function<void()>& round) {
  std::uint64_t warm = 0;
  for (int i = 0; i < 50; ++i) {
    round();
    if (i == 9) warm = resident_bytes();
  }
  const std::uint64_t end = resident_bytes();
  require(!kResidentTells || end <= warm + kMayGrow, "40 rounds make the process {} KiB larger, {} KiB are allowed",
          (end - warm) / kKiB, kMayGrow / kKiB);
}

void fill_and_run(const RawContext& context, const RawBinding& bound, std::int64_t count) {
  context.write(bound.buffers[0], std::vector<float>(static_cast<std::size_t>(count), 1.5f));
  context.wait(context.enqueue(bound.binding));
  require(context.read(bound.buffers[1], static_cast<std::size_t>(count)).back() == 4.0f, "2 * 1.5 + 1 is not 4");
}

void context_frees_what_is_left(const Bench& bench) {
  const RawHost host(bench);
  constexpr std::int64_t kCount = 1 << 19;  // two buffers of 2 MiB
  const Program program = line_program(kCount);
  require_no_growth([&] {
    const RawContext context = host.context();
    fill_and_run(context, context.prepare(program), kCount);
  });
}

void open_run_close_fifty_times(const Bench& bench) {
  constexpr std::int64_t kCount = 1 << 19;
  const Program program = line_program(kCount);
  require_no_growth([&] {
    const RawHost host(bench);
    const RawContext context = host.context();
    const RawBinding bound = context.prepare(program);
    fill_and_run(context, bound, kCount);
    context.destroy(bound);
    require(context.stats().bytes_allocated == 0, "{} bytes stay allocated", context.stats().bytes_allocated);
  });
}

void compile_leaks_nothing(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  Graph graph("constants");
  graph.output("y", graph.input("x", {DType::kF32, {1 << 20}}) +
                        constant_f32(graph, {1 << 20}, std::vector<float>(std::size_t{1} << 20, 0.5f)));
  const Program program = lower(graph);
  require_no_growth([&] { context.api().executable_destroy(context.handle(), context.compile(*program.abi())); });
  require(context.stats().bytes_allocated == 0, "{} bytes stay allocated", context.stats().bytes_allocated);
}

}  // namespace

std::vector<Case> memory_cases() {
  return {
      contract_case("budget_above_the_device", budget_above_the_device),
      contract_case("buffers_over_budget", buffers_over_budget),
      contract_case("constants_over_budget", constants_over_budget),
      contract_case("workspace_over_budget", workspace_over_budget),
      contract_case("stats_count", stats_count),
      contract_case("destruction_orders", destruction_orders),
      contract_case("executable_outlives_bindings", executable_outlives_bindings),
      contract_case("context_frees_what_is_left", context_frees_what_is_left),
      contract_case("open_run_close_fifty_times", open_run_close_fifty_times),
      contract_case("compile_leaks_nothing", compile_leaks_nothing),
  };
}

}  // namespace thrt::conformance
