// Slots and what they alias, loops, long chains, large tensors.
#include "program_cases.hpp"

#include <thrt/graph/repeat.hpp>

#include <fmt/format.h>

namespace thrt::conformance {
namespace {

constexpr DType kF32 = DType::kF32;

Tensor state(CaseProgram& p, const std::string& name, const Type& type) {
  const Tensor value = p.graph.state(name, type, {});
  p.fill(name, -4.0, 4.0);
  return value;
}

// All outputs come from the inputs as they were at the start.
void states_rotate(CaseProgram& p) {
  const Type type{kF32, {257}};
  const Tensor a = state(p, "a", type), b = state(p, "b", type), c = state(p, "c", type), d = state(p, "d", type);
  p.graph.update("a", b);
  p.graph.update("b", a);
  p.graph.update("c", c + a);  // reads the old a, though a is written
  p.graph.update("d", d);      // written with what it held
  p.graph.output("old a", a);
  p.graph.output("sum", a + b);
  const Tensor e = state(p, "e", type), f = state(p, "f", type), g = state(p, "g", type);
  p.graph.update("e", f);
  p.graph.update("f", g);
  p.graph.update("g", e);
}

void one_value_many_slots(CaseProgram& p) {
  const Type type{kF32, {5, 7}};
  const Tensor x = p.random(type), unread = p.random(type);
  static_cast<void>(unread);
  const Tensor kept = state(p, "only read", type);
  const Tensor y = x * kept;
  p.graph.output("y", y);
  p.graph.output("y again", y);
  state(p, "s", type);
  p.graph.update("s", y);
  state(p, "t", type);
  p.graph.update("t", y);
  p.graph.output("input", x);
  p.graph.output("input again", x);
  state(p, "u", type);
  p.graph.update("u", x);
  const Tensor constant = scalar(p.graph, 2.5);
  p.graph.output("constant", constant);
  p.graph.output("constant again", constant);
  p.graph.output("reshaped", reshape(x, {35}));
  p.graph.output("broadcast", broadcast_to(constant, {3, 2}));
}

// In-place candidates: an op whose operand dies there, next to one whose operand lives on.
void lifetimes(CaseProgram& p) {
  Tensor x = p.random({kF32, {1023}}, -1.0, 1.0);
  std::vector<Tensor> kept;
  for (int i = 0; i < 12; ++i) {
    const Tensor next = x * 0.75 + 0.125;
    if (i % 3 == 0) kept.push_back(x);
    x = select(greater(next, 0.0), next, tanh(x));
  }
  p.graph.output("last", x);
  Tensor total = kept[0];
  for (const Tensor value : kept) total = total + value;
  p.graph.output("total", total);
  p.graph.output("first kept", kept[1]);
}

// States whose next value is there some steps before the old one is read for the last time: one, two and so on up to twelve steps.
// The state's memory may take the new value only after that.
void states_read_late(CaseProgram& p) {
  const Type type{kF32, {9, 9}};
  Tensor x = p.random(type, -0.5, 0.5);
  const Tensor weights = p.random(type, -0.25, 0.25);
  for (int distance = 1; distance <= 12; ++distance) {
    for (const bool is_product : {false, true}) {
      const std::string name = fmt::format("{} steps, {}", distance, is_product ? "product" : "sum");
      const Tensor old = state(p, name, type);
      p.graph.update(name, is_product ? matmul(old, weights) : old - weights);
      for (int i = 1; i < distance; ++i) x = i % 3 == 2 ? matmul(x, weights) : x - weights;
      if (distance % 3 == 0) {
        p.output("read by a product", matmul(old, weights));
      } else {
        x = x * old;
      }
      x = tanh(x);
    }
  }
  p.graph.output("x", x);
}

void no_ops(CaseProgram& p) {
  p.graph.output("copy", p.random({kF32, {33}}));
  p.graph.output("empty", p.random({kF32, {0, 3}}));
  p.graph.output("bools", p.random({DType::kBool, {5}}));
}

void many_slots(CaseProgram& p) {
  for (int i = 0; i < 60; ++i) {
    const Type type{i % 3 == 0 ? DType::kI32 : kF32, {i % 7, i % 5 + 1}};
    p.output(fmt::format("y{}", i), p.random(type) + p.random(type));
  }
}

void constants_shared(CaseProgram& p) {
  const Tensor x = p.random({kF32, {9}});
  for (int i = 0; i < 20; ++i) {
    p.output(fmt::format("y{}", i), x + full(p.graph, {kF32, {9}}, static_cast<double>(i % 4)));
  }
  std::vector<float> many(1000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<float>(i) * 0.5f;
  const Tensor large = constant_f32(p.graph, {1000}, many);
  p.output("large", large);
  p.output("large doubled", large + large);
}

void float_chain(CaseProgram& p) {
  Tensor x = p.random({kF32, {65}}, -1.0, 1.0);
  for (int i = 0; i < 300; ++i) x = (i % 2 == 0 ? x * 0.96875 : tanh(x)) + 0.03125;
  p.graph.output("x", x);
}

// Marsaglia's xorshift32 (2003) 400 times over: 2400 ops, to the bit.
void integer_chain(CaseProgram& p) {
  Tensor x = p.random({DType::kU32, {65}}, 1.0, 4e9);
  for (int i = 0; i < 400; ++i) {
    x = x ^ shift_left(x, 13);
    x = x ^ shift_right(x, 17);
    x = x ^ shift_left(x, 5);
  }
  p.graph.output("x", x);
}

void large_tensors(CaseProgram& p) {
  const Tensor x = p.random({kF32, {509, 1031}}, -4.0, 4.0);
  const Tensor centred = x - mean(x, {1}, true);
  p.graph.output("softmax", softmax(centred));
  p.graph.output("column sums", sum(centred, {0}));
  p.graph.output("largest", reduce_max(transpose(x), {1}));
}

// A state stepped in a loop, with rows that are collected and a loop inside.
void loops(CaseProgram& p) {
  Graph inner("inner");
  const Tensor y = inner.state("y", {kF32, {3}}, {});
  inner.update("y", y * 0.5 + inner.input("push", {kF32, {3}}));
  inner.output("trace", sum(y));

  Graph outer("outer");
  const Tensor x = outer.state("x", {kF32, {3}}, {});
  const Tensor iteration = outer.input("iteration", {DType::kI32, {}});
  const Tensor push = outer.input("push", {kF32, {3}}) + cast(iteration, kF32);
  const NamedTensors inside = repeat(outer, 3, inner, {{"push", push}});
  outer.update("x", x + outer.current("y"));
  outer.output("traces", inside.at("trace"));
  outer.output("iterations", iteration);

  const NamedTensors results = repeat(p.graph, 4, outer, {{"push", p.random({kF32, {3}}, -1.0, 1.0)}});
  for (const auto& [name, value] : results) p.graph.output(name, value);
  const NamedTensors never = repeat(p.graph, 0, outer, {{"push", p.random({kF32, {3}}, -1.0, 1.0)}});
  p.fill("", -1.0, 1.0);
}

// Discounted sums from the last row to the first, as advantage estimation does.
void backward_scan(CaseProgram& p) {
  constexpr std::int64_t kSteps = 17;
  Graph step("step");
  const Tensor rewards = step.input("rewards", {kF32, {kSteps, 5}}),
               done = step.input("done", {DType::kBool, {kSteps, 5}});
  const Tensor at = static_cast<double>(kSteps - 1) - step.input("iteration", {DType::kI32, {}});
  const auto row = [&](Tensor x) { return reshape(dynamic_slice(x, starts_along(x, 0, at), {1, 5}), {5}); };
  const Tensor sum_so_far = step.state("sum", {kF32, {5}}, {});
  const Tensor alive = select(row(done), like(sum_so_far, 0.0), sum_so_far);
  step.update("sum", row(rewards) + 0.99 * alive);
  step.output("sums", step.current("sum"));
  const NamedTensors results =
      repeat(p.graph, kSteps, step,
             {{"rewards", p.random({kF32, {kSteps, 5}}, -1.0, 1.0)}, {"done", p.random({DType::kBool, {kSteps, 5}})}});
  p.graph.output("sums", results.at("sums"));
  p.fill("", -1.0, 1.0);
}

}  // namespace

std::vector<Case> structure_cases() {
  return {
      program_case("states_rotate", Level::kCore, states_rotate),
      program_case("states_rotate_three_runs", Level::kCore, states_rotate, {.runs = 3}),
      program_case("one_value_many_slots", Level::kCore, one_value_many_slots),
      program_case("lifetimes", Level::kCore, lifetimes),
      program_case("states_read_late", Level::kCore, states_read_late),
      program_case("states_read_late_three_runs", Level::kCore, states_read_late, {.runs = 3}),
      program_case("no_ops", Level::kCore, no_ops),
      program_case("empty", Level::kCore, [](CaseProgram&) {}),
      program_case("many_slots", Level::kCore, many_slots),
      program_case("constants_shared", Level::kCore, constants_shared),
      program_case("float_chain", Level::kCore, float_chain),
      program_case("integer_chain", Level::kTraining, integer_chain),
      program_case("large_tensors", Level::kCore, large_tensors),
      program_case("loops", Level::kTraining, loops),
      program_case("backward_scan", Level::kTraining, backward_scan),
  };
}

}  // namespace thrt::conformance
