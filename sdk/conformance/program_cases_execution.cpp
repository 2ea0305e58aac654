// How programs are run: many times by one call, one after another on shared buffers, compiled again, checked for what is not
// finite.
#include "program_cases.hpp"

#include <fmt/format.h>

namespace thrt::conformance {
namespace {

constexpr DType kF32 = DType::kF32;

Outcome failed(const std::string& detail) {
  return {Outcome::Kind::kFailed, detail};
}

// A state that moves on with each run, and an output of it.
void stepping(CaseProgram& p) {
  const Tensor x = p.graph.state("x", {kF32, {65}}, {}), rate = p.random({kF32, {}}, 0.1, 0.2);
  const Tensor count = p.graph.state("count", {DType::kI32, {}}, {});
  p.graph.update("x", x + rate * tanh(cast(count, kF32) - x));
  p.graph.update("count", count + 1.0);
  p.graph.output("mean", mean(x));
  p.fill("x", -1.0, 1.0);
  p.fill("count", 3.0);
}

void write_all(DeviceProgram& program, const Contents& contents) {
  for (std::size_t i = 0; i < program.program().slots().size(); ++i) {
    const auto found = contents.find(program.program().slots()[i].name);
    program.buffer(i)->write(found != contents.end() ? std::span<const std::byte>(found->second)
                                                     : std::span<const std::byte>());
  }
}

std::vector<Bytes> read_all(const DeviceProgram& program) {
  std::vector<Bytes> all;
  for (std::size_t i = 0; i < program.program().slots().size(); ++i) {
    all.push_back(program.buffer(i)->read(program.program().slots()[i].name));
  }
  return all;
}

// enqueue(repeat = n) is n runs.
Outcome enqueue_repeats(const Bench& bench) {
  CaseProgram p("enqueue_repeats");
  stepping(p);
  const DeviceContext context(bench);
  DeviceProgram program(context, lower(p.graph));
  write_all(program, p.contents);
  program.run(7);
  const std::vector<Bytes> at_once = read_all(program);
  write_all(program, p.contents);
  for (int i = 0; i < 3; ++i) static_cast<void>(program.enqueue());
  static_cast<void>(program.enqueue(3));
  program.run();
  if (read_all(program) != at_once) return failed("seven runs by one enqueue left other bits than seven in several");
  constexpr std::uint32_t kMany = 40;
  write_all(program, p.contents);
  program.run(kMany);
  const std::vector<Bytes> many_at_once = read_all(program);
  write_all(program, p.contents);
  for (std::uint32_t i = 0; i < kMany; ++i) program.run();
  if (read_all(program) != many_at_once) return failed("forty runs by one enqueue left other bits than forty enqueues");
  return p.compare(bench, {.runs = 7});
}

// Two programs on one buffer, queued without a wait between: the second reads what the first wrote, and the first what the
// second did.
Outcome chained(const Bench& bench) {
  const Type type{kF32, {129}};
  Graph produce("produce"), consume("consume");
  const Tensor x = produce.input("x", type);
  produce.output("between", tanh(x) * 2.0);
  const Tensor between = consume.input("between", type);
  const Tensor total = consume.state("total", type, {});
  consume.update("total", total * 0.5 + between);
  consume.output("x", total - between);

  CaseProgram whole("chained");  // the same as one program, three times over
  Tensor now = whole.random(type, -1.0, 1.0), sum_so_far = whole.random(type, -1.0, 1.0);
  for (int i = 0; i < 3; ++i) {
    const Tensor made = tanh(now) * 2.0;
    now = sum_so_far - made;
    sum_so_far = sum_so_far * 0.5 + made;
  }
  whole.output("x", now);
  whole.output("total", sum_so_far);

  const DeviceContext context(bench);
  DeviceProgram first(context, lower(produce));
  DeviceProgram second(context, lower(consume), 0,
                       {first.buffer(first.slot("between")), nullptr, first.buffer(first.slot("x"))});
  first.buffer(first.slot("x"))->write(whole.contents.at("x0"));
  second.buffer(second.slot("total"))->write(whole.contents.at("x1"));
  thrt_ticket last = 0;
  for (int i = 0; i < 3; ++i) {
    static_cast<void>(first.enqueue());
    last = second.enqueue();
  }
  context.wait(last);
  const ExpectedSlots right = expected(bench, whole.graph, whole.contents, 1, context.flushes_denormals());
  for (const char* const name : {"x", "total"}) {
    const std::string difference =
        first_difference(name, type, second.buffer(second.slot(name))->read(name), right.at(name));
    if (!difference.empty()) return failed(difference);
  }
  return {};
}

// The same bits from another compilation in another context.
Outcome compiled_twice(const Bench& bench) {
  CaseProgram p("compiled_twice");
  const Tensor x = p.random({kF32, {63, 65}}), y = p.random({kF32, {65, 31}});
  p.graph.output("product", matmul(x, y));
  p.graph.output("sums", sum(exp(x), {0}));
  p.graph.output("sum", sum(x));
  std::vector<Bytes> first;
  for (int i = 0; i < 2; ++i) {
    const DeviceContext context(bench);
    DeviceProgram program(context, lower(p.graph));
    write_all(program, p.contents);
    program.run();
    std::vector<Bytes> all = read_all(program);
    if (i > 0 && all != first) return failed("the same program, compiled again, gave different bits");
    first = std::move(all);
  }
  return p.compare(bench);
}

// Whether running `graph` under CHECK_FINITE fails as NON_FINITE and blames this op; empty when it does.
std::string blames(const DeviceContext& context, const CaseProgram& p, std::uint32_t op) {
  DeviceProgram program(context, lower(p.graph), THRT_COMPILE_CHECK_FINITE);
  write_all(program, p.contents);
  try {
    program.run();
  } catch (const CallFailed& failure) {
    if (failure.error.code != THRT_NON_FINITE)
      return fmt::format("expected NON_FINITE ({}): {}", +THRT_NON_FINITE, failure.what());
    if (failure.error.op_index == op) return {};
    return fmt::format("op {} made the first NaN, op {} is blamed", op, failure.error.op_index);
  }
  return fmt::format("op {} made a NaN, and the run reported nothing", op);
}

Outcome check_finite(const Bench& bench) {
  const DeviceContext context(bench);
  CaseProgram fine("check_finite_fine");
  fine.graph.output("y", log(fine.random({kF32, {33}}, 1.0, 2.0)) + fine.random({kF32, {33}}));
  DeviceProgram program(context, lower(fine.graph), THRT_COMPILE_CHECK_FINITE);
  write_all(program, fine.contents);
  program.run();

  CaseProgram p("check_finite");  // op 0 abs, 1 constant, 2 broadcast, 3 sub, 4 log, 5 neg
  const Tensor x = p.given({kF32, {33}}, {1.0, 2.0, -0.5});
  p.graph.output("y", -log(abs(x) - 1.0));
  if (const std::string wrong = blames(context, p, 4); !wrong.empty()) return failed(wrong);
  return {};
}

// In a loop ops are numbered on from the repeat: 0 repeat, 1 constant, 2 sub, 3 sqrt.
Outcome check_finite_in_loop(const Bench& bench) {
  const DeviceContext context(bench);
  CaseProgram p("check_finite_in_loop");
  auto body = std::make_shared<Graph>("body");
  body->input("iteration", {DType::kI32, {}});
  const Tensor x = body->state("x", {kF32, {}}, {});
  body->update("x", sqrt(x - 2.0));
  const Tensor start = p.given({kF32, {}}, {6.5});  // sqrt(4.5) = 2.12, sqrt(0.12) = 0.35, sqrt(-1.65)
  p.graph.output("y", p.graph.append_repeat(3, std::vector<Tensor>{start}, {}, body)[0]);
  if (const std::string wrong = blames(context, p, 3); !wrong.empty()) return failed(wrong);
  return {};
}

}  // namespace

std::vector<Case> execution_cases() {
  return {
      running_case("enqueue_repeats", Level::kCore, enqueue_repeats),
      running_case("chained", Level::kCore, chained),
      running_case("compiled_twice", Level::kCore, compiled_twice),
      running_case("check_finite", Level::kCore, check_finite),
      running_case("check_finite_in_loop", Level::kTraining, check_finite_in_loop),
  };
}

}  // namespace thrt::conformance
