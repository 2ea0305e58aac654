// What is left behind: memory, files and threads, seen from the process.
#include "raw_host.hpp"

#include <thrt/graph/tensor_ops.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <system_error>

namespace thrt::conformance {
namespace {

constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB;

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

// --------------------------------------------------------------------------------------------------------------- by rounds

// What one round may add: less than any page-sized thing that a round would lose.
constexpr std::uint64_t kPerRound = 32 * kKiB;

// Small losses need many rounds. A process that grows once, for a cache or an allocator's arena, grows in one of the two
// halves; one that loses something grows in both.
void require_rounds_lose_nothing(const char* what, const std::function<void()>& round) {
  constexpr std::uint64_t kWarm = 40, kHalf = 80;
  const auto rounds = [&](std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) round();
    return resident_bytes();
  };
  const std::uint64_t start = rounds(kWarm), middle = rounds(kHalf), end = rounds(kHalf);
  const auto grown = [](std::uint64_t from, std::uint64_t to) { return to > from ? (to - from) / kHalf : 0; };
  const std::uint64_t each = std::min(grown(start, middle), grown(middle, end));
  require(!kResidentTells || each <= kPerRound, "each {} makes the process {} KiB larger, {} KiB are allowed", what,
          each / kKiB, kPerRound / kKiB);
}

void bindings_leak_nothing(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  const Program program = line_program(100);
  thrt_executable* executable = context.compile(*program.abi());
  thrt_buffer* in = context.buffer(400);
  thrt_buffer* out = context.buffer(400);
  const thrt_slot_buffer slots[] = {{in, 0}, {out, 0}};
  require_rounds_lose_nothing("bind", [&] {
    thrt_binding* binding = context.bind(executable, slots);
    context.wait(context.enqueue(binding));
    context.api().binding_destroy(context.handle(), binding);
  });
  context.api().executable_destroy(context.handle(), executable);
  for (thrt_buffer* one : {in, out}) context.api().buffer_destroy(context.handle(), one);
}

void small_objects_leak_nothing(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  const Program program = line_program(100);
  require_rounds_lose_nothing("buffer", [&] {
    thrt_buffer* buffer = context.buffer(64 * kKiB);
    context.write(buffer, std::vector<float>(16 * kKiB, 1.0f));
    context.api().buffer_destroy(context.handle(), buffer);
  });
  require_rounds_lose_nothing(
      "compile", [&] { context.api().executable_destroy(context.handle(), context.compile(*program.abi())); });
  require_rounds_lose_nothing("refused call", [&] {
    context.refused_buffer(std::uint64_t{1} << 62, {THRT_OVER_BUDGET, THRT_OUT_OF_MEMORY, THRT_INVALID_ARGUMENT},
                           "buffer_create of 2^62 bytes");
  });
}

std::size_t entries(const char* folder) {
  std::error_code failure;
  const std::filesystem::directory_iterator first(folder, failure);
  return static_cast<std::size_t>(std::distance(begin(first), end(first)));
}

// Open files and threads belong to the process: whoever took them gives them back.
void require_keeps_no_files_or_threads(const char* what, const std::function<void()>& round) {
  constexpr std::size_t kWarm = 5, kRounds = 20;
  for (std::size_t i = 0; i < kWarm; ++i) round();
  const std::size_t files = entries("/proc/self/fd"), threads = entries("/proc/self/task");
  for (std::size_t i = 0; i < kRounds; ++i) round();
  const std::size_t files_after = entries("/proc/self/fd"), threads_after = entries("/proc/self/task");
  require(files_after < files + kRounds, "{} {} times leaves {} files open", what, kRounds, files_after - files);
  require(threads_after < threads + kRounds, "{} {} times leaves {} threads running", what, kRounds,
          threads_after - threads);
}

void contexts_keep_no_files_or_threads(const Bench& bench) {
  const RawHost host(bench);
  require_keeps_no_files_or_threads("making a context", [&] { require_works(host.context()); });
}

void opening_keeps_no_files_or_threads(const Bench& bench) {
  require_keeps_no_files_or_threads("opening the plugin", [&] { const RawHost host(bench); });
}

}  // namespace

std::vector<Case> leak_cases() {
  return {
      contract_case("context_frees_what_is_left", context_frees_what_is_left),
      contract_case("open_run_close_fifty_times", open_run_close_fifty_times),
      contract_case("compile_leaks_nothing", compile_leaks_nothing),
      contract_case("bindings_leak_nothing", bindings_leak_nothing),
      contract_case("small_objects_leak_nothing", small_objects_leak_nothing),
      contract_case("contexts_keep_no_files_or_threads", contexts_keep_no_files_or_threads),
      contract_case("opening_keeps_no_files_or_threads", opening_keeps_no_files_or_threads),
  };
}

}  // namespace thrt::conformance
