// Binding, running and waiting as abi.h has them: where bytes go, in what order, who may still need what.
#include "open_program.hpp"
#include "raw_host.hpp"

#include <thrt/graph/tensor_ops.hpp>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace thrt::conformance {
namespace {

constexpr std::size_t kCount = 33;  // 132 bytes

std::vector<float> ramp(std::size_t count, float first = 0.0f) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = first + static_cast<float>(i);
  return values;
}

void require_line(const std::vector<float>& x, const std::vector<float>& y, const char* what) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    require(y[i] == 2.0f * x[i] + 1.0f, "{}: 2 x + 1 at element {}, x = {}, gives {}", what, i, x[i], y[i]);
  }
}

// ----------------------------------------------------------------------------------------------------------------- regions

void regions_of_one_buffer(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  const Program program = line_program(kCount);
  thrt_executable* executable = context.compile(*program.abi());
  constexpr std::size_t kFloats = 192, kIn = 16, kOut = 80;  // offsets 64 and 320
  thrt_buffer* buffer = context.buffer(kFloats * sizeof(float));
  std::vector<float> memory(kFloats, -7.0f);
  const std::vector<float> x = ramp(kCount, 5.0f);
  std::copy(x.begin(), x.end(), memory.begin() + kIn);
  context.write(buffer, memory);
  const thrt_slot_buffer slots[] = {{buffer, kIn * sizeof(float)}, {buffer, kOut * sizeof(float)}};
  thrt_binding* binding = context.bind(executable, slots);
  context.wait(context.enqueue(binding));
  const std::vector<float> after = context.read(buffer, kFloats);
  require_line(x, {after.begin() + kOut, after.begin() + kOut + kCount}, "regions of one buffer");
  for (std::size_t i = 0; i < kFloats; ++i) {
    if (i >= kOut && i < kOut + kCount) continue;
    require(after[i] == memory[i], "a run changes byte {} of a buffer, outside the region of {} bytes at {}", 4 * i,
            4 * kCount, 4 * kOut);
  }
  context.api().binding_destroy(context.handle(), binding);
  context.api().executable_destroy(context.handle(), executable);
  context.api().buffer_destroy(context.handle(), buffer);
}

void inputs_may_share_a_region(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  Graph graph("sum");
  const Type type{DType::kF32, {static_cast<std::int64_t>(kCount)}};
  graph.output("y", graph.input("a", type) + graph.input("b", type));
  const Program program = lower(graph);
  thrt_executable* executable = context.compile(*program.abi());
  thrt_buffer* in = context.buffer(type.bytes());
  thrt_buffer* out = context.buffer(type.bytes());
  std::vector<thrt_slot_buffer> slots;
  for (const Program::Slot& slot : program.slots()) slots.push_back({slot.name == "y" ? out : in, 0});
  thrt_binding* binding = context.bind(executable, slots);
  const std::vector<float> x = ramp(kCount);
  context.write(in, x);
  context.wait(context.enqueue(binding));
  const std::vector<float> y = context.read(out, kCount);
  for (std::size_t i = 0; i < kCount; ++i) require(y[i] == 2.0f * x[i], "a + a at a = {} gives {}", x[i], y[i]);
  context.api().binding_destroy(context.handle(), binding);
  context.api().executable_destroy(context.handle(), executable);
  for (thrt_buffer* one : {in, out}) context.api().buffer_destroy(context.handle(), one);
}

void staging_memory(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  const Program program = line_program(kCount);
  thrt_executable* executable = context.compile(*program.abi());
  thrt_buffer* in = context.buffer(4 * kCount, THRT_MEMORY_STAGING);
  thrt_buffer* out = context.buffer(4 * kCount, THRT_MEMORY_STAGING);
  const thrt_slot_buffer slots[] = {{in, 0}, {out, 0}};
  thrt_binding* binding = context.bind(executable, slots);
  const std::vector<float> x = ramp(kCount);
  context.write(in, x);
  context.wait(context.enqueue(binding));
  require_line(x, context.read(out, kCount), "staging memory");
  context.api().binding_destroy(context.handle(), binding);
  context.api().executable_destroy(context.handle(), executable);
  for (thrt_buffer* one : {in, out}) context.api().buffer_destroy(context.handle(), one);
}

void buffers_of_nothing(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  thrt_buffer* empty = context.buffer(0);
  std::byte nothing{};
  context.wait(context.upload(empty, 0, {&nothing, 0}));
  context.wait(context.download(empty, 0, {&nothing, 0}));
  context.api().buffer_destroy(context.handle(), empty);
  const RawBinding bound = context.prepare(line_program(0));
  context.wait(context.enqueue(bound.binding));
  context.destroy(bound);
  require_works(context);
}

// -------------------------------------------------------------------------------------------------------- order, pointers

void compile_keeps_no_pointer(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  Graph graph("kept");
  const Type type{DType::kF32, {static_cast<std::int64_t>(kCount)}};
  {
    const Graph::Mark mark(graph, "line/1", "somewhere");
    const std::vector<float> twos(kCount, 2.0f);
    graph.output("y", graph.input("x", type) * constant_f32(graph, type.shape, twos) + 1.0);
  }
  auto program = std::make_unique<OpenProgram>(graph);
  thrt_compile_options options{sizeof options, 0};
  thrt_executable* executable = nullptr;
  Answer answer;
  answer.require_ok(
      context.api().compile(context.handle(), &program->abi(), &options, &executable, nullptr, answer.slot()),
      "compile");
  program->scramble();
  program.reset();
  std::memset(&options, 0xA5, sizeof options);
  thrt_buffer* in = context.buffer(type.bytes());
  thrt_buffer* out = context.buffer(type.bytes());
  std::vector<thrt_slot_buffer> slots;
  const std::vector<Program::Slot> order = lower(graph).slots();
  for (const Program::Slot& slot : order) slots.push_back({slot.name == "y" ? out : in, 0});
  thrt_binding* binding = context.bind(executable, slots);
  std::memset(slots.data(), 0xA5, slots.size() * sizeof slots[0]);
  const std::vector<float> x = ramp(kCount);
  context.write(in, x);
  context.wait(context.enqueue(binding));
  require_line(x, context.read(out, kCount), "after the program's arrays are gone");
  context.api().binding_destroy(context.handle(), binding);
  context.api().executable_destroy(context.handle(), executable);
  for (thrt_buffer* one : {in, out}) context.api().buffer_destroy(context.handle(), one);
}

// A chain of copies and runs, waited for once at its end: one in-order queue.
void queue_is_in_order(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  constexpr std::size_t kLarge = 100'003;
  const RawBinding bound = context.prepare(line_program(kLarge));
  constexpr int kRounds = 6;
  std::vector<std::vector<float>> x, y;
  for (int r = 0; r < kRounds; ++r) {
    x.push_back(ramp(kLarge, static_cast<float>(100 * r)));
    y.emplace_back(kLarge, -1.0f);
  }
  thrt_ticket last = 0;
  const auto queued = [&](thrt_ticket ticket) {
    require(ticket >= last, "ticket {} comes after {}", ticket, last);
    last = ticket;
  };
  for (std::size_t r = 0; r < kRounds; ++r) {
    queued(context.upload(bound.buffers[0], 0, std::as_bytes(std::span(x[r]))));
    queued(context.enqueue(bound.binding));
    queued(context.download(bound.buffers[1], 0, std::as_writable_bytes(std::span(y[r]))));
  }
  context.wait(last);
  for (std::size_t r = 0; r < kRounds; ++r) require_line(x[r], y[r], "a queue of copies and runs");
  context.destroy(bound);
}

// s becomes 2 s + 1: after n runs s = 2^n - 1, exact in f32 up to n = 24.
void repeat_counts(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  Graph graph("state");
  const Tensor s = graph.state("s", {DType::kF32, {}}, Init::zeros());
  graph.update("s", s * 2.0 + 1.0);
  const RawBinding bound = context.prepare(lower(graph));
  const std::array<float, 1> zero = {0.0f};
  context.write(bound.buffers[0], zero);
  context.enqueue(bound.binding, 5);
  context.enqueue(bound.binding, 1);
  context.wait(context.enqueue(bound.binding, 9));
  const float got = context.read(bound.buffers[0], 1)[0];
  require(got == 32767.0f, "15 runs of s = 2 s + 1 give {}, expected 32767", got);
  context.destroy(bound);
}

void enqueue_repeat_zero(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  const RawBinding bound = context.prepare(line_program(kCount));
  thrt_ticket ticket = 0x5A5A;
  Answer answer;
  answer.require_refused(context.api().enqueue(context.handle(), bound.binding, 0, &ticket, answer.slot()),
                         {THRT_INVALID_ARGUMENT}, "enqueue with repeat 0");
  require(ticket == 0x5A5A, "enqueue: failed and wrote the ticket");
  require(context.stats().runs == 0, "enqueue with repeat 0 counts {} runs", context.stats().runs);
  context.destroy(bound);
  require_works(context);
}

// -------------------------------------------------------------------------------------------------------------------- wait

void wait_for_the_start(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  for (const std::uint64_t timeout : {std::uint64_t{0}, std::uint64_t{1}, UINT64_MAX}) {
    Answer answer;
    answer.require_ok(context.api().wait(context.handle(), 0, timeout, answer.slot()), "wait for ticket 0");
  }
}

void wait_with_a_timeout(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  const RawBinding bound = context.prepare(line_program(1 << 16));
  const std::vector<float> x = ramp(1 << 16);
  context.write(bound.buffers[0], x);
  const thrt_ticket ticket = context.enqueue(bound.binding, 20);
  for (const std::uint64_t timeout : {0u, 1000u}) {
    Answer answer;
    const thrt_status status = context.api().wait(context.handle(), ticket, timeout, answer.slot());
    if (status == THRT_OK) {
      answer.require_ok(status, "wait");
    } else {
      answer.require_refused(status, {THRT_TIMEOUT}, "wait with a short timeout");
    }
  }
  context.wait(ticket);
  Answer again;
  again.require_ok(context.api().wait(context.handle(), ticket, 0, again.slot()), "wait for a ticket that was reached");
  require_line(x, context.read(bound.buffers[1], x.size()), "after a timeout");
  context.destroy(bound);
}

void wait_for_a_ticket_never_issued(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  const RawBinding bound = context.prepare(line_program(kCount));
  const thrt_ticket ticket = context.enqueue(bound.binding);
  context.wait(ticket);
  for (const thrt_ticket never : {ticket + 1000, UINT64_MAX}) {
    Answer answer;
    answer.require_refused(context.api().wait(context.handle(), never, 0, answer.slot()),
                           {THRT_INVALID_ARGUMENT, THRT_TIMEOUT}, "wait for a ticket that was never handed out");
  }
  context.destroy(bound);
  require_works(context);
}

// -------------------------------------------------------------------------------------------------------------- non-finite

// op 0: log(x), op 1: exp(x), op 2: their product.
Program logarithms() {
  Graph graph("logarithms");
  const Tensor x = graph.input("x", {DType::kF32, {static_cast<std::int64_t>(kCount)}});
  const Tensor a = graph.append(OpKind::LOG, {x});
  const Tensor b = graph.append(OpKind::EXP, {x});
  graph.output("y", graph.append(OpKind::MUL, {a, b}));
  return lower(graph);
}

void check_finite(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  const RawBinding bound = context.prepare(logarithms(), THRT_COMPILE_CHECK_FINITE);
  std::vector<float> x(kCount, 1.0f);
  context.write(bound.buffers[0], x);
  context.wait(context.enqueue(bound.binding));  // all finite
  struct Trial {
    float value;
    std::uint32_t op;
  };
  for (const Trial trial : {Trial{-1.0f, 0}, Trial{200.0f, 1}, Trial{std::numeric_limits<float>::infinity(), 0}}) {
    x[20] = trial.value;
    context.write(bound.buffers[0], x);
    Answer run, wait;
    thrt_ticket ticket = 0;
    run.require_ok(context.api().enqueue(context.handle(), bound.binding, 1, &ticket, run.slot()), "enqueue");
    wait.require_refused(context.api().wait(context.handle(), ticket, UINT64_MAX, wait.slot()), {THRT_NON_FINITE},
                         "wait after a run with a value that is not finite");
    require(wait.error().op_index == trial.op, "x = {}: op {} is named, op {} made it", trial.value,
            wait.error().op_index, trial.op);
  }
  x[20] = 2.0f;
  context.write(bound.buffers[0], x);
  context.wait(context.enqueue(bound.binding));
  const float got = context.read(bound.buffers[1], kCount)[20];
  const double expected = std::log(2.0) * std::exp(2.0);
  require(std::abs(got - expected) < 1e-4, "log(2) exp(2) after a failed run gives {}, expected {}", got, expected);
  context.destroy(bound);
  require_works(context);
}

void debug_runs_the_same_program(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  const RawBinding bound = context.prepare(line_program(kCount), THRT_COMPILE_DEBUG);
  const std::vector<float> x = ramp(kCount);
  context.write(bound.buffers[0], x);
  context.wait(context.enqueue(bound.binding));
  require_line(x, context.read(bound.buffers[1], kCount), "compiled with THRT_COMPILE_DEBUG");
  context.destroy(bound);
}

}  // namespace

std::vector<Case> contract_run_cases() {
  return {
      contract_case("regions_of_one_buffer", regions_of_one_buffer),
      contract_case("inputs_may_share_a_region", inputs_may_share_a_region),
      contract_case("staging_memory", staging_memory),
      contract_case("buffers_of_nothing", buffers_of_nothing),
      contract_case("compile_keeps_no_pointer", compile_keeps_no_pointer),
      contract_case("queue_is_in_order", queue_is_in_order),
      contract_case("repeat_counts", repeat_counts),
      contract_case("enqueue_repeat_zero", enqueue_repeat_zero),
      contract_case("wait_for_the_start", wait_for_the_start),
      contract_case("wait_with_a_timeout", wait_with_a_timeout),
      contract_case("wait_for_a_ticket_never_issued", wait_for_a_ticket_never_issued),
      contract_case("check_finite", check_finite),
      contract_case("debug_runs_the_same_program", debug_runs_the_same_program),
  };
}

}  // namespace thrt::conformance
