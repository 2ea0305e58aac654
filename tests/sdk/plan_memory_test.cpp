#include "program_builder.hpp"

#include <thrt/sdk/plan_memory.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <vector>

namespace thrt::testing {
namespace {

using sdk::MemoryPlan;
using sdk::Placement;
using sdk::PlanStep;
using Where = Placement::Where;

Type vector_of(std::int64_t elements) {
  return {DType::kF32, {elements}};
}

MemoryPlan plan(ProgramBuilder& program) {
  const sdk::ProgramView view(program.build());
  return sdk::plan_memory(view, sdk::plan_steps(view));
}

// Runs a plan on symbols: every 64-byte piece of memory holds "value v", an op stamps its result after checking that all it reads is
// still there. So any wrong sharing, in-place or copy shows, whatever the planner thinks of lifetimes.
class Simulation {
 public:
  Simulation(const sdk::ProgramView& program, const std::vector<PlanStep>& steps, const MemoryPlan& plan)
      : program_(program), steps_(steps), plan_(plan), meaning_(program.value_count()) {
    std::iota(meaning_.begin(), meaning_.end(), 0u);
    for (const PlanStep& step : steps) {
      for (const auto& [result, operand] : step.views) meaning_[result] = meaning_[operand];
    }
  }

  ::testing::AssertionResult run() {
    for (std::uint32_t s = 0; s < program_.slot_count(); ++s) {
      if (program_.slot(s).read()) write({Where::kSlot, s, 0}, program_.slot(s).input_value);
    }
    for (const sdk::OpView& op : program_.ops()) {
      if (op.kind() == OpKind::CONSTANT) write(plan_.values[op.result()], op.result());
    }
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (auto result = run_step(i); !result) return result;
    }
    for (const sdk::PlanCopy& copy : plan_.final_copies) {
      for (std::uint64_t at = 0; at < copy.bytes; at += 64) memory_[key(copy.to, at)] = memory_[key(copy.from, at)];
    }
    for (std::uint32_t s = 0; s < program_.slot_count(); ++s) {
      const sdk::SlotView slot = program_.slot(s);
      const std::uint32_t value = slot.written() ? slot.output_value : slot.input_value;
      // A slot that is only read must be as it was.
      if (!holds({Where::kSlot, s, 0}, value)) {
        return ::testing::AssertionFailure() << "slot " << s << " does not end with value " << value;
      }
    }
    return ::testing::AssertionSuccess();
  }

 private:
  using Key = std::tuple<int, std::uint32_t, std::uint64_t>;
  static Key key(const Placement& place, std::uint64_t at) {
    return {static_cast<int>(place.where), place.slot, place.offset + at};
  }
  void write(const Placement& place, std::uint32_t value) {
    for (std::uint64_t at = 0; at < program_.type(value).bytes(); at += 64) memory_[key(place, at)] = meaning_[value];
  }
  bool holds(const Placement& place, std::uint32_t value) {
    for (std::uint64_t at = 0; at < program_.type(value).bytes(); at += 64) {
      const auto found = memory_.find(key(place, at));
      if (found == memory_.end() || found->second != meaning_[value]) return false;
    }
    return true;
  }

  bool may_share(const PlanStep& step, std::uint32_t result, std::uint32_t read) const {
    return std::find(step.in_place.begin(), step.in_place.end(), std::pair(result, read)) != step.in_place.end();
  }

  ::testing::AssertionResult run_step(std::size_t i) {
    const PlanStep& step = steps_[i];
    for (const std::uint32_t read : step.reads) {
      if (!holds(plan_.values[read], read)) {
        return ::testing::AssertionFailure() << "step " << i << ": value " << read << " is gone";
      }
    }
    // Scratch and each result are stamped; then all that was read must be there still, but for what a result may overwrite.
    for (std::uint64_t at = 0; at < step.scratch_bytes; at += 64) {
      memory_[key({Where::kWorkspace, THRT_NONE, plan_.scratch[i]}, at)] = kScratch;
    }
    for (const std::uint32_t result : step.writes) {
      if (plan_.values[result].offset % 64 != 0) return ::testing::AssertionFailure() << "unaligned";
      write(plan_.values[result], result);
    }
    for (const std::uint32_t read : step.reads) {
      if (holds(plan_.values[read], read)) continue;
      const bool allowed = std::any_of(step.writes.begin(), step.writes.end(), [&](std::uint32_t result) {
        return plan_.values[result] == plan_.values[read] && may_share(step, result, read);
      });
      if (!allowed) return ::testing::AssertionFailure() << "step " << i << " overwrites value " << read;
    }
    for (const std::uint32_t result : step.writes) {
      if (!holds(plan_.values[result], result)) {
        return ::testing::AssertionFailure() << "step " << i << ": results overlap";
      }
    }
    return ::testing::AssertionSuccess();
  }

  static constexpr std::uint32_t kScratch = THRT_NONE;
  const sdk::ProgramView& program_;
  const std::vector<PlanStep>& steps_;
  const MemoryPlan& plan_;
  std::vector<std::uint32_t> meaning_;  // the value whose bytes a value has: views are what they view
  std::map<Key, std::uint32_t> memory_;
};

// Any mix of inputs, states, outputs, views, constants, elementwise ops and ops that cannot run in place.
ProgramBuilder random_program(std::mt19937& random) {
  ProgramBuilder program;
  const std::int64_t sizes[] = {16, 16, 32, 48, 160, 1};
  std::vector<std::uint32_t> values;
  const auto pick = [&] { return values[random() % values.size()]; };
  const std::uint32_t inputs = 1 + random() % 5;
  for (std::uint32_t i = 0; i < inputs; ++i) {
    values.push_back(program.input("in" + std::to_string(i), vector_of(sizes[random() % 6])));
  }
  const std::uint32_t ops = 1 + random() % 30;
  for (std::uint32_t i = 0; i < ops; ++i) {
    // Often the newest value: chains, as programs have.
    const std::uint32_t x = random() % 2 == 0 ? values.back() : pick();
    const Type type = ir::type_of(program.values[x]);
    switch (random() % 6) {
      case 0:
        values.push_back(program.op(OpKind::RESHAPE, {x}, {}, Type{DType::kF32, {type.elements(), 1}}));
        break;
      case 1: {
        const std::vector<float> data(16, 1.0f);
        values.push_back(program.constant(vector_of(16), data.data()));
        break;
      }
      case 2: {
        std::vector<std::uint32_t> same;
        for (const std::uint32_t v : values) {
          if (ir::type_of(program.values[v]) == type) same.push_back(v);
        }
        values.push_back(program.op(OpKind::ADD, {x, same[random() % same.size()]}));
        break;
      }
      case 3: {
        const std::uint32_t y = pick();
        const Type other = ir::type_of(program.values[y]);
        if (other.shape.rank() != 1 || type.shape.rank() != 1 || type.elements() + other.elements() > 400) break;
        values.push_back(program.op(OpKind::CONCAT, {x, y}, {0}));
        break;
      }
      default:
        values.push_back(program.op(OpKind::NEG, {x}));
    }
  }
  for (std::uint32_t s = 0; s < inputs; ++s) {  // some inputs become states: swaps and rings among them
    std::vector<std::uint32_t> same;
    for (const std::uint32_t v : values) {
      if (ir::type_of(program.values[v]) == ir::type_of(program.values[program.slots[s].input_value]))
        same.push_back(v);
    }
    if (random() % 2 == 0) program.state_output(s, same[random() % same.size()]);
  }
  const std::uint32_t outputs = random() % 4;
  for (std::uint32_t i = 0; i < outputs; ++i) program.output("out" + std::to_string(i), pick());
  return program;
}

TEST(PlanMemory, KeepsEveryValueUntilItsLastUse) {
  std::mt19937 random(7);
  int in_slots = 0, copies = 0;
  for (int i = 0; i < 20'000; ++i) {
    ProgramBuilder builder = random_program(random);
    const sdk::ProgramView program(builder.build());
    std::vector<PlanStep> steps = sdk::plan_steps(program);
    for (PlanStep& step : steps) step.scratch_bytes = random() % 4 == 0 ? random() % 500 : 0;
    const MemoryPlan plan = sdk::plan_memory(program, steps);
    ASSERT_TRUE(Simulation(program, steps, plan).run()) << "program " << i;
    for (const Placement& place : plan.values) in_slots += place.where == Where::kSlot;
    copies += !plan.final_copies.empty();
  }
  EXPECT_GT(in_slots, 1000);
  EXPECT_GT(copies, 1000);
}

// What is alive at the same time is the least any plan needs.
std::uint64_t most_alive(const sdk::ProgramView& program, const std::vector<PlanStep>& steps, const MemoryPlan& plan) {
  std::vector<std::uint64_t> alive(steps.size(), 0);
  for (std::uint32_t v = 0; v < program.value_count(); ++v) {
    if (plan.values[v].where != Where::kWorkspace) continue;
    std::size_t first = 0, last = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto& writes = steps[i].writes;
      const auto& reads = steps[i].reads;
      if (std::find(writes.begin(), writes.end(), v) != writes.end()) first = last = i;
      if (std::find(reads.begin(), reads.end(), v) != reads.end()) last = i;
    }
    for (std::size_t i = first; i <= last; ++i) alive[i] += (program.type(v).bytes() + 63) / 64 * 64;
  }
  return alive.empty() ? 0 : *std::max_element(alive.begin(), alive.end());
}

// Layers forward and back, as training steps have: activations live long, gradients short.
TEST(PlanMemory, StaysNearTheLeastPossible) {
  std::mt19937 random(3);
  double worst = 1;
  for (int i = 0; i < 200; ++i) {
    ProgramBuilder builder;
    std::vector<std::uint32_t> activations = {builder.input("x", vector_of(16))};
    const int layers = 2 + static_cast<int>(random() % 12);
    for (int k = 0; k < layers; ++k) {
      const std::int64_t size = 16 * (1 + static_cast<std::int64_t>(random() % 20));
      const std::uint32_t wider = builder.op(
          OpKind::BROADCAST, {builder.op(OpKind::REDUCE_SUM, {activations.back()}, {0})}, {}, vector_of(size));
      activations.push_back(builder.op(OpKind::TANH, {wider}));
    }
    std::uint32_t gradient = activations.back();
    for (std::size_t k = activations.size(); k-- > 1;) {
      const Type type = ir::type_of(builder.values[activations[k]]);
      const std::uint32_t sum = builder.op(OpKind::REDUCE_SUM, {gradient}, {0});
      gradient = builder.op(OpKind::MUL, {builder.op(OpKind::BROADCAST, {sum}, {}, type), activations[k]});
    }
    builder.output("y", builder.op(OpKind::REDUCE_SUM, {gradient}, {0}));
    const sdk::ProgramView program(builder.build());
    std::vector<PlanStep> steps = sdk::plan_steps(program);
    for (PlanStep& step : steps) step.in_place.clear();
    const MemoryPlan plan = sdk::plan_memory(program, steps);
    const std::uint64_t least = most_alive(program, steps, plan);
    worst = std::max(worst, static_cast<double>(plan.workspace_bytes) / static_cast<double>(least));
    ASSERT_GE(plan.workspace_bytes, least);
  }
  EXPECT_LE(worst, 1.25);
}

TEST(PlanMemory, AChainOfElementwiseOpsUsesOnePlace) {
  ProgramBuilder program;
  std::uint32_t x = program.input("x", vector_of(64));
  for (int i = 0; i < 10; ++i) x = program.op(OpKind::NEG, {x});
  const std::uint32_t sum = program.op(OpKind::REDUCE_SUM, {x}, {0});
  program.output("y", sum);
  const MemoryPlan planned = plan(program);
  EXPECT_EQ(planned.workspace_bytes, 256u);
  EXPECT_EQ(planned.values[sum], (Placement{Where::kSlot, 1, 0}));
  EXPECT_EQ(planned.values[0], (Placement{Where::kSlot, 0, 0}));
}

TEST(PlanMemory, AnUpdateHappensInTheStatesBuffer) {
  ProgramBuilder program;  // w -= g
  const std::uint32_t w = program.input("w", vector_of(16));
  const std::uint32_t g = program.input("g", vector_of(16));
  program.state_output(0, program.op(OpKind::SUB, {w, g}));
  const MemoryPlan planned = plan(program);
  EXPECT_EQ(planned.workspace_bytes, 0u);
  EXPECT_TRUE(planned.final_copies.empty());
  EXPECT_EQ(planned.values[2], (Placement{Where::kSlot, 0, 0}));
}

TEST(PlanMemory, AnInputThatIsStillReadIsNotOverwritten) {
  ProgramBuilder program;
  const std::uint32_t w = program.input("w", vector_of(16));
  const std::uint32_t next = program.op(OpKind::NEG, {w});
  program.state_output(0, next);
  program.output("old", program.op(OpKind::ABS, {w}));
  const MemoryPlan planned = plan(program);
  EXPECT_EQ(planned.values[next].where, Where::kWorkspace);
  ASSERT_EQ(planned.final_copies.size(), 1u);
  EXPECT_EQ(planned.final_copies[0].to, (Placement{Where::kSlot, 0, 0}));
}

TEST(PlanMemory, TwoStatesThatSwapGoThroughTheWorkspace) {
  ProgramBuilder program;
  const std::uint32_t a = program.input("a", vector_of(16));
  const std::uint32_t b = program.input("b", vector_of(16));
  program.state_output(0, b);
  program.state_output(1, a);
  const sdk::ProgramView view(program.build());
  const auto steps = sdk::plan_steps(view);
  const MemoryPlan planned = sdk::plan_memory(view, steps);
  EXPECT_EQ(planned.final_copies.size(), 3u);
  EXPECT_EQ(planned.workspace_bytes, 64u);
  EXPECT_TRUE(Simulation(view, steps, planned).run());
}

TEST(PlanMemory, FusedValuesAreNowhere) {
  ProgramBuilder program;
  const std::uint32_t x = program.input("x", vector_of(16));
  const std::uint32_t inner = program.op(OpKind::NEG, {x});
  const std::uint32_t y = program.op(OpKind::ABS, {inner});
  program.output("y", y);
  PlanStep fused;
  fused.reads = {x};
  fused.writes = {y};
  const MemoryPlan planned = sdk::plan_memory(sdk::ProgramView(program.build()), {fused});
  EXPECT_EQ(planned.values[inner].where, Where::kNowhere);
  EXPECT_EQ(planned.values[y], (Placement{Where::kSlot, 1, 0}));
  EXPECT_EQ(planned.workspace_bytes, 0u);
}

}  // namespace
}  // namespace thrt::testing
