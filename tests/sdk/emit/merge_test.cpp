// Which steps run together, which of their kernels share a launch, and that memory allows it.
#include "../../plugins/cpu/random_chain.hpp"
#include "host_kernels.hpp"

#include <thrt/emit/emit.hpp>
#include <thrt/emit/levels.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

namespace thrt::testing {
namespace {

constexpr DType kF32 = DType::kF32;

emit::Plan planned(Builder& builder, const emit::Options& options = {}) {
  return emit::plan(sdk::ProgramView(builder.built()), emit::opencl_c(), options);
}

std::vector<emit::Kernel> kernels_of(const emit::Plan& plan) {
  std::vector<emit::Kernel> kernels;
  for (const emit::Step& step : plan.steps) kernels.insert(kernels.end(), step.kernels.begin(), step.kernels.end());
  return kernels;
}

// Momentum's update, m' = 0.9 m + g and p' = p - m', of `count` tensors: four arrays each, and the two results.
void add_updates(Builder& b, int count) {
  for (int i = 0; i < count; ++i) {
    const Type type{kF32, {10 + 3 * i}};
    const std::string n = std::to_string(i);
    const std::uint32_t factor = b.op(OpKind::BROADCAST, {b.constant<float>({kF32, {}}, {0.9f})}, {}, type);
    const std::uint32_t p = b.input("p" + n, type), m = b.input("m" + n, type), g = b.input("g" + n, type);
    const std::uint32_t next = b.op(OpKind::ADD, {b.op(OpKind::MUL, {m, factor}), g});
    b.output("p" + n, b.op(OpKind::SUB, {p, next}));
    b.output("m" + n, next);
  }
}

TEST(Merge, AnOptimisersUpdateOfManyTensorsIsAsFewLaunchesAsArgumentsAllow) {
  Builder b;
  add_updates(b, 9);
  emit::Options options;
  options.max_arguments = 15;  // three updates
  const emit::Plan plan = planned(b, options);
  ASSERT_EQ(plan.steps.size(), 1u);
  EXPECT_EQ(plan.steps[0].kernels.size(), 3u);
  for (const emit::Kernel& kernel : plan.steps[0].kernels) {
    EXPECT_EQ(kernel.parts.size(), 3u);
    EXPECT_LE(kernel.arguments.size(), 15u);
    EXPECT_EQ(kernel.stage, 0u);
  }
  const sdk::MemoryPlan memory = sdk::plan_memory(sdk::ProgramView(b.built()), plan.memory_steps());
  EXPECT_TRUE(memory.final_copies.empty());
  options.join = false;
  EXPECT_EQ(planned(b, options).steps.size(), 9u);
}

TEST(Merge, WhatPartsShareIsOneArgument) {
  Builder b;
  const std::uint32_t x = b.input("x", {kF32, {256, 8}}), w = b.input("w", {kF32, {8, 4}}),
                      v = b.input("v", {kF32, {8, 5}});
  b.output("y", b.op(OpKind::MATMUL, {x, w}, {0, 0}));
  b.output("z", b.op(OpKind::MATMUL, {x, v}, {0, 0}));
  const std::vector<emit::Kernel> kernels = kernels_of(planned(b));
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].parts.size(), 2u);
  EXPECT_EQ(kernels[0].arguments.size(), 5u);
  EXPECT_EQ(kernels[0].work_items, 256 * 9);
  EXPECT_EQ(kernels[0].groups, 256 * 9 / kernels[0].group_size);
}

// Two networks of three layers beside each other take three launches, whatever the order of the ops.
TEST(Merge, ThereAreAsManyStepsAsTheLongestChainHas) {
  Builder b;
  for (const char* name : {"policy", "value"}) {
    std::uint32_t x = b.input(std::string(name) + "/x", {kF32, {64, 32}});
    for (int layer = 0; layer < 3; ++layer) {
      const std::uint32_t w = b.input(name + std::to_string(layer), {kF32, {32, 32}});
      x = b.op(OpKind::TANH, {b.op(OpKind::MATMUL, {x, w}, {0, 0})});
    }
    b.output(name, x);
  }
  const emit::Plan plan = planned(b);
  ASSERT_EQ(plan.steps.size(), 3u);
  for (const emit::Step& step : plan.steps) EXPECT_EQ(step.kernels.size(), 1u);
}

// The second product reads p, whose new value is at hand before: that waits, and so takes a third step, where the copy would be.
TEST(Merge, AStateIsWrittenWhenItsReadersHaveRun) {
  const Type type{kF32, {64, 64}};
  for (const bool is_late : {false, true}) {
    Builder b;
    const std::uint32_t p = b.input("p", type), x = b.input("x", type);
    b.output("p", b.op(OpKind::SUB, {p, x}));
    const std::uint32_t first = b.op(OpKind::MATMUL, {x, is_late ? x : p}, {0, 0});
    b.output("q", b.op(OpKind::MATMUL, {first, is_late ? p : x}, {0, 0}));
    const emit::Plan plan = planned(b);
    EXPECT_EQ(plan.steps.size(), is_late ? 3u : 2u);
    EXPECT_TRUE(sdk::plan_memory(sdk::ProgramView(b.built()), plan.memory_steps()).final_copies.empty());
  }
}

// Two states that swap need a copy in any case: it spares nothing to wait.
TEST(Merge, NothingWaitsWhereACopyIsNeededAnyway) {
  Builder b;
  const Type type{kF32, {64, 64}};
  const std::uint32_t p = b.input("p", type), q = b.input("q", type);
  b.output("p", b.op(OpKind::SIN, {q}));
  b.output("q", b.op(OpKind::COS, {p}));
  const emit::Plan plan = planned(b);
  EXPECT_EQ(plan.steps.size(), 1u);
  EXPECT_EQ(sdk::plan_memory(sdk::ProgramView(b.built()), plan.memory_steps()).final_copies.size(), 2u);
}

// Both read x. z could lie in its memory if y did not read it at the same time.
TEST(Merge, AnOperandThatAnotherPartReadsIsNotOverwritten) {
  Builder b;
  const std::uint32_t x = b.op(OpKind::ARGSORT, {b.input("in", {kF32, {64}})}, {0});
  b.output("y", b.op(OpKind::REDUCE_SUM, {x}, {0}));
  b.output("z", b.op(OpKind::NEG, {x}));
  const auto is_overwritten = [&](const emit::Options& options) {
    bool found = false;
    const emit::Plan plan = planned(b, options);
    for (const emit::Step& step : plan.steps) {
      for (const auto& [result, operand] : step.memory.in_place) found = found || operand == x;
    }
    return found;
  };
  emit::Options options;
  EXPECT_FALSE(is_overwritten(options));
  options.join = false;
  EXPECT_TRUE(is_overwritten(options));
}

TEST(Merge, ARepeatStandsBetweenWhatItNeedsAndWhatNeedsIt) {
  auto body = std::make_shared<Builder>("body");
  body->input("i", {DType::kI32, {}});
  const std::uint32_t s = body->input("s", {kF32, {4}});
  body->output("s", body->op(OpKind::ADD, {s, s}));
  Builder b;
  const std::uint32_t x = b.input("x", {kF32, {4}}), y = b.input("y", {kF32, {4}});
  const std::uint32_t first = b.repeat(3, {b.op(OpKind::EXP, {x})}, {}, body);
  const std::uint32_t second = b.repeat(2, {b.op(OpKind::NEG, {first})}, {}, body);
  b.output("a", b.op(OpKind::NEG, {second}));
  b.output("b", b.op(OpKind::SIN, {y}));
  const emit::Plan plan = planned(b);
  ASSERT_EQ(plan.steps.size(), 5u);
  EXPECT_EQ(plan.steps[0].ops.size(), 2u);  // exp(x) and sin(y)
  EXPECT_TRUE(plan.steps[1].is_repeat);
  EXPECT_TRUE(plan.steps[3].is_repeat);
  EXPECT_EQ(plan.steps[4].kernels.size(), 1u);
}

// 32 chains of 4 MiB, each of two products: in the program's order few of them are alive at once.
TEST(Merge, LargeTensorsKeepTheirOrder) {
  Builder b;
  const Type type{kF32, {1024, 1024}};
  const std::uint32_t x = b.input("x", type);
  std::uint32_t sum = x;
  for (int i = 0; i < 32; ++i) {
    const std::uint32_t w = b.input("w" + std::to_string(i), type);
    const std::uint32_t y = b.op(OpKind::MATMUL, {b.op(OpKind::MATMUL, {x, w}, {0, 0}), w}, {0, 0});
    sum = b.op(OpKind::ADD, {sum, y});
  }
  b.output("sum", sum);
  emit::Options options;
  const auto bytes = [&] {
    return sdk::plan_memory(sdk::ProgramView(b.built()), planned(b, options).memory_steps()).workspace_bytes;
  };
  const std::uint64_t joined = bytes();
  options.join = false;
  EXPECT_LE(joined, std::max<std::uint64_t>(32u << 20, bytes() + bytes() / 4));
}

TEST(Merge, RandomProgramsGiveTheExactResultHoweverTheyAreJoined) {
  HostKernels kernels;
  std::vector<std::unique_ptr<Chain>> chains;
  std::vector<HostKernels::Program> programs;
  std::size_t shared_groups = 0;  // kernels of several parts with group memory
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    chains.push_back(std::make_unique<Chain>(9000 + seed));
    emit::Options options;
    options.join = seed % 6 != 0;
    if (seed % 2 == 1) options.max_arguments = 64;
    options.launch_cost = options.serial_cost = seed % 3 == 0 ? 0 : seed % 3 == 1 ? 4096 : 1e9;
    if (seed % 4 == 3) {  // work-groups with memory of their own, in kernels with others
      options.device = emit::DeviceKind::kGpu;
      options.teams = emit::Teams{8, 2};
    }
    programs.push_back(kernels.add(chains.back()->builder().built(), options));
    for (const emit::Kernel& kernel : kernels_of(programs.back().plan)) {
      EXPECT_LE(kernel.arguments.size(), options.max_arguments);
      shared_groups += kernel.parts.size() > 1 && kernel.shared_bytes > 0;
    }
  }
  EXPECT_GT(shared_groups, 0u);
  ASSERT_NO_FATAL_FAILURE(kernels.compile());
  for (std::size_t i = 0; i < chains.size(); ++i) {
    SCOPED_TRACE(i);
    ASSERT_NO_FATAL_FAILURE(chains[i]->expect(kernels.run(programs[i], chains[i]->inputs())));
  }
}

// Steps of one to three stages: whatever the choices, each starts after all it needs, and the longest chain is as long as the whole.
TEST(Merge, LevelsKeepTheOrderOfSteps) {
  std::uint32_t random = 7;
  const auto draw = [&](std::uint32_t below) {
    random = random * 1664525u + 1013904223u;
    return (random >> 8) % below;
  };
  for (int round = 0; round < 200; ++round) {
    const std::size_t count = 1 + draw(30);
    emit::detail::Levels levels(count);
    std::vector<std::vector<std::size_t>> needs(count);
    std::vector<std::int64_t> stages(count), chain(count);
    for (std::size_t i = 0; i < count; ++i) {
      stages[i] = 1 + draw(3);
      levels.set_stages(i, stages[i]);
      for (std::size_t before = 0; before < i; ++before) {
        if (draw(6) != 0) continue;
        levels.need(before, i);
        needs[i].push_back(before);
        chain[i] = std::max(chain[i], chain[before]);
      }
      chain[i] += stages[i];
    }
    std::vector<std::int64_t> start(count, -1);
    const auto segments = levels.schedule([&](std::size_t, std::size_t i, std::int64_t first, std::int64_t last) {
      start[i] = first + draw(static_cast<std::uint32_t>(last - first) + 1);
      return start[i];
    });
    ASSERT_EQ(segments.size(), 1u);
    EXPECT_EQ(segments[0].stages, *std::max_element(chain.begin(), chain.end()));
    for (std::size_t i = 0; i < count; ++i) {
      for (const std::size_t before : needs[i]) EXPECT_LE(start[before] + stages[before], start[i]);
      EXPECT_LE(start[i] + stages[i], segments[0].stages);
    }
  }
}

}  // namespace
}  // namespace thrt::testing
