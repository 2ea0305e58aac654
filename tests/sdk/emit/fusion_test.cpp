// Which kernels a program becomes.
#include "../../plugins/cpu/host.hpp"

#include <thrt/emit/emit.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace thrt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr DType kF32 = DType::kF32;

// Kernels as fusion leaves them; merge_test.cpp is about those that share a launch.
emit::Options apart() {
  emit::Options options;
  options.join = false;
  return options;
}

struct Planned {
  explicit Planned(Builder& builder, const emit::Options& options = apart())
      : plan(emit::plan(sdk::ProgramView(builder.built()), emit::opencl_c(), options)) {
    for (const emit::Step& step : plan.steps) kernels.insert(kernels.end(), step.kernels.begin(), step.kernels.end());
  }
  emit::Plan plan;
  std::vector<emit::Kernel> kernels;
};

TEST(Fusion, ADenseLayerIsOneKernel) {
  Builder b;
  const std::uint32_t x = b.input("x", {kF32, {32, 16}}), w = b.input("w", {kF32, {16, 64}}),
                      bias = b.input("b", {kF32, {64}});
  const std::uint32_t rows = b.op(OpKind::BROADCAST, {bias}, {1}, Type{kF32, {32, 64}});
  b.output("y", b.op(OpKind::TANH, {b.op(OpKind::ADD, {b.op(OpKind::MATMUL, {x, w}, {0, 0}), rows})}));
  const Planned planned(b);
  ASSERT_EQ(planned.kernels.size(), 1u);
  EXPECT_EQ(planned.kernels[0].arguments.size(), 4u);
  EXPECT_EQ(planned.kernels[0].work_items, 32 * 64);
}

// Each element of exp(x) goes into 64 elements of the product: it is computed once, whatever movement lies between.
TEST(Fusion, WhatAProductReadsManyTimesIsComputedOnce) {
  Builder b;
  const std::uint32_t x = b.input("x", {kF32, {128}}), w = b.input("w", {kF32, {128, 64}});
  const std::uint32_t wide = b.op(OpKind::BROADCAST, {b.op(OpKind::EXP, {x})}, {1}, Type{kF32, {256, 128}});
  b.output("y", b.op(OpKind::MATMUL, {wide, w}, {0, 0}));
  const Planned planned(b);
  ASSERT_EQ(planned.kernels.size(), 2u);
  EXPECT_THAT(planned.kernels[0].text, HasSubstr("exp("));
  EXPECT_EQ(planned.kernels[0].work_items, 128);
  EXPECT_THAT(planned.kernels[1].text, Not(HasSubstr("exp(")));
}

// A sum over everything has one work-item: a product must not end up in its loop.
TEST(Fusion, ASumDoesNotDoTheWorkOfManyWorkItems) {
  Builder b;
  const std::uint32_t x = b.input("x", {kF32, {64, 64}}), w = b.input("w", {kF32, {64, 64}});
  b.output("y", b.op(OpKind::REDUCE_SUM, {b.op(OpKind::MATMUL, {x, w}, {0, 0})}, {0, 1}));
  const Planned planned(b);
  ASSERT_EQ(planned.kernels.size(), 2u);
  EXPECT_EQ(planned.kernels[0].work_items, 64 * 64);
  EXPECT_EQ(planned.kernels[1].work_items, 1);
}

// Adam, A. Kingma and Ba (2015), without the correction of bias: three results of one shape, each over its own state.
TEST(Fusion, AnOptimiserStepIsOneKernelThatWorksInPlace) {
  Builder b;
  const Type type{kF32, {64, 64}};
  const auto number = [&](float value) {
    return b.op(OpKind::BROADCAST, {b.constant<float>({kF32, {}}, {value})}, {}, type);
  };
  const auto op = [&](OpKind kind, std::uint32_t x, std::uint32_t y) { return b.op(kind, {x, y}); };
  const std::uint32_t p = b.input("p", type), g = b.input("g", type), m = b.input("m", type), v = b.input("v", type);
  const std::uint32_t m2 = op(OpKind::ADD, op(OpKind::MUL, m, number(0.9f)), op(OpKind::MUL, g, number(0.1f)));
  const std::uint32_t g2 = op(OpKind::MUL, g, g);
  const std::uint32_t v2 = op(OpKind::ADD, op(OpKind::MUL, v, number(0.999f)), op(OpKind::MUL, g2, number(0.001f)));
  const std::uint32_t step = op(OpKind::DIV, m2, op(OpKind::ADD, b.op(OpKind::SQRT, {v2}), number(1e-8f)));
  b.output("p", op(OpKind::SUB, p, op(OpKind::MUL, step, number(1e-3f))));
  b.output("m", m2);
  b.output("v", v2);
  const Planned planned(b);
  ASSERT_EQ(planned.kernels.size(), 1u);
  EXPECT_EQ(planned.kernels[0].arguments.size(), 7u);
  const sdk::MemoryPlan memory = sdk::plan_memory(sdk::ProgramView(b.built()), planned.plan.memory_steps());
  EXPECT_EQ(memory.workspace_bytes, 0u);
  EXPECT_TRUE(memory.final_copies.empty());
}

// exp(x) is an output, and at its own place in the quotient; but the quotient waits for a sum of it: they cannot be one
// kernel.
TEST(Fusion, AKernelNeverWaitsForItself) {
  Builder b;
  const std::uint32_t x = b.input("x", {kF32, {512}});
  const std::uint32_t v = b.op(OpKind::EXP, {x});
  const std::uint32_t s = b.op(OpKind::REDUCE_SUM, {v}, {0});
  const std::uint32_t sums = b.op(OpKind::BROADCAST, {s}, {}, Type{kF32, {512}});
  b.output("v", v);
  b.output("y", b.op(OpKind::DIV, {v, sums}));
  const Planned planned(b);
  ASSERT_EQ(planned.kernels.size(), 3u);
  // exp, its sum, the quotient: in the order in which they need each other.
  EXPECT_EQ(planned.kernels[0].work_items, 512);
  EXPECT_EQ(planned.kernels[1].work_items, 1);
  EXPECT_EQ(planned.kernels[2].work_items, 512);
}

TEST(Fusion, EqualKernelsHaveEqualTexts) {
  Builder b;
  const std::uint32_t x = b.input("x", {kF32, {8, 8}}), y = b.input("y", {kF32, {8, 8}}),
                      z = b.input("z", {kF32, {8, 9}});
  b.output("a", b.op(OpKind::MATMUL, {x, y}, {0, 0}));
  b.output("b", b.op(OpKind::MATMUL, {y, x}, {0, 0}));
  b.output("c", b.op(OpKind::MATMUL, {x, z}, {0, 0}));
  const Planned planned(b);
  ASSERT_EQ(planned.kernels.size(), 3u);
  std::vector<std::string> texts, names;
  for (const emit::Kernel& kernel : planned.kernels) {
    texts.push_back(kernel.text);
    names.push_back(kernel.name);
  }
  for (std::vector<std::string>* list : {&texts, &names}) {
    std::sort(list->begin(), list->end());
    EXPECT_EQ(std::unique(list->begin(), list->end()) - list->begin(), 2);
  }
}

// Clipping by the norm of all gradients (Pascanu et al. 2013): each tensor's kernel takes the norm, not the twelve sums that it is made
// of, which would leave no room for other tensors in its launch.
TEST(Fusion, ANormIsOneArgumentOfEachTensorThatItScales) {
  Builder b;
  std::uint32_t sum = 0;
  std::vector<std::uint32_t> gradients;
  for (std::int64_t i = 0; i < 12; ++i) {
    const std::uint32_t g = b.input("g" + std::to_string(i), {kF32, {100 + i}});
    const std::uint32_t square = b.op(OpKind::REDUCE_SUM, {b.op(OpKind::MUL, {g, g})}, {0});
    sum = i == 0 ? square : b.op(OpKind::ADD, {sum, square});
    gradients.push_back(g);
  }
  const std::uint32_t norm = b.op(OpKind::SQRT, {sum});
  for (std::int64_t i = 0; i < 12; ++i) {
    const std::uint32_t wide = b.op(OpKind::BROADCAST, {norm}, {}, Type{kF32, {100 + i}});
    b.output("y" + std::to_string(i), b.op(OpKind::DIV, {gradients[static_cast<std::size_t>(i)], wide}));
  }
  const Planned planned(b);
  std::size_t scaled = 0;
  for (const emit::Kernel& kernel : planned.kernels) {
    if (kernel.work_items < 100) continue;
    ++scaled;
    EXPECT_EQ(kernel.arguments.size(), 3u);
  }
  EXPECT_EQ(scaled, 12u);
}

// Forty products of one number each, on 64 elements that a matmul reads 64 times: one alone is cheap to do again, all are not.
TEST(Fusion, WhatAKernelRepeatsIsBoundedInAll) {
  Builder b;
  const Type type{kF32, {64, 1}};
  std::uint32_t x = b.input("x", type);
  const std::uint32_t factor = b.op(OpKind::BROADCAST, {b.constant<float>({kF32, {}}, {1.5f})}, {}, type);
  for (int i = 0; i < 40; ++i) x = b.op(OpKind::MUL, {x, factor});
  b.output("y", b.op(OpKind::MATMUL, {x, b.input("w", {kF32, {1, 64}})}, {0, 0}));
  emit::Options options = apart();
  const Planned planned(b, options);
  ASSERT_EQ(planned.kernels.size(), 2u);
  EXPECT_EQ(planned.kernels[0].work_items, 64);
  options.launch_cost = 1e6;
  EXPECT_EQ(Planned(b, options).kernels.size(), 1u);
}

// The same bound beside a slice of exp(x) that takes few of its elements: what is not computed there is no credit.
TEST(Fusion, ASliceMakesNoRoomForRepeatedWork) {
  Builder b;
  const Type type{kF32, {64, 1}}, product{kF32, {64, 64}};
  std::uint32_t x = b.input("x", type);
  const std::uint32_t factor = b.op(OpKind::BROADCAST, {b.constant<float>({kF32, {}}, {1.5f})}, {}, type);
  for (int i = 0; i < 40; ++i) x = b.op(OpKind::MUL, {x, factor});
  const std::uint32_t y = b.op(OpKind::MATMUL, {x, b.input("w", {kF32, {1, 64}})}, {0, 0});
  const std::uint32_t few = b.op(OpKind::SLICE, {b.op(OpKind::EXP, {b.input("z", {kF32, {1 << 20}})})}, {0, 4096, 1});
  b.output("y", b.op(OpKind::ADD, {y, b.op(OpKind::RESHAPE, {few}, {}, product)}));
  const Planned planned(b);
  ASSERT_EQ(planned.kernels.size(), 2u);
  EXPECT_EQ(planned.kernels[0].work_items, 64);
}

// Each value is asked for twice at the same place, once by an op that needs it only where it keeps it: 2^40 paths.
TEST(Fusion, AChainOfUpdatedSlicesIsPrintedOnce) {
  Builder b;
  std::uint32_t x = b.input("x", {kF32, {64}});
  const std::uint32_t update = b.input("u", {kF32, {8}}), starts = b.input("s", {DType::kI32, {1}});
  for (int i = 0; i < 40; ++i) x = b.op(OpKind::ADD, {b.op(OpKind::DYNAMIC_UPDATE_SLICE, {x, update, starts}), x});
  b.output("y", x);
  const Planned planned(b);
  ASSERT_EQ(planned.kernels.size(), 1u);
  EXPECT_LT(planned.kernels[0].text.size(), 32768u);
}

TEST(Fusion, WithoutItEveryOpHasItsKernel) {
  Builder b;
  const std::uint32_t x = b.input("x", {kF32, {8}});
  b.output("y", b.op(OpKind::NEG, {b.op(OpKind::EXP, {b.op(OpKind::MUL, {x, x})})}));
  emit::Options options = apart();
  EXPECT_EQ(Planned(b, options).kernels.size(), 1u);
  options.fuse = false;
  EXPECT_EQ(Planned(b, options).kernels.size(), 3u);
}

// x ^ (x << 13) and so on (Marsaglia, "Xorshift RNGs", 2003): 2^600 paths lead from the last value to the first.
TEST(Fusion, ALongChainOfDiamondsIsCutIntoKernels) {
  Builder b;
  std::uint32_t x = b.input("x", {DType::kU32, {65}});
  const std::uint32_t by = b.constant<std::uint32_t>({DType::kU32, {65}}, std::vector<std::uint32_t>(65, 13));
  for (int i = 0; i < 600; ++i) x = b.op(OpKind::XOR, {x, b.op(OpKind::SHIFT_LEFT, {x, by})});
  b.output("y", x);
  const Planned planned(b);
  EXPECT_GE(planned.kernels.size(), 1200 / emit::Options().max_expression);
  EXPECT_LE(planned.kernels.size(), 2 * 1200 / emit::Options().max_expression);
  for (const emit::Kernel& kernel : planned.kernels) EXPECT_LE(kernel.arguments.size(), 4u);
}

TEST(Fusion, ValuesThatNobodyWantsAreNotComputed) {
  Builder b;
  const std::uint32_t x = b.input("x", {kF32, {8}});
  b.op(OpKind::EXP, {x});
  b.output("y", b.op(OpKind::NEG, {x}));
  const Planned planned(b);
  ASSERT_EQ(planned.kernels.size(), 1u);
  EXPECT_THAT(planned.kernels[0].text, Not(HasSubstr("exp(")));
}

TEST(Fusion, ARepeatIsAStepOfItsOwn) {
  auto body = std::make_shared<Builder>("body");
  body->input("i", {DType::kI32, {}});
  const std::uint32_t s = body->input("s", {kF32, {4}});
  body->output("s", body->op(OpKind::ADD, {s, s}));
  Builder b;
  const std::uint32_t x = b.input("x", {kF32, {4}});
  b.output("y", b.op(OpKind::NEG, {b.repeat(3, {b.op(OpKind::EXP, {x})}, {}, body)}));
  const Planned planned(b);
  ASSERT_EQ(planned.plan.steps.size(), 3u);
  EXPECT_TRUE(planned.plan.steps[1].is_repeat);
  EXPECT_EQ(planned.kernels.size(), 2u);
}

TEST(Fusion, OptionsThatNoKernelCanKeepToAreRefused) {
  Builder b;
  b.output("y", b.op(OpKind::NEG, {b.input("x", {kF32, {8}})}));
  const auto status = [&](void (*change)(emit::Options&)) {
    emit::Options options;
    change(options);
    try {
      emit::plan(sdk::ProgramView(b.built()), emit::opencl_c(), options);
    } catch (const sdk::Error& e) {
      return e.status();
    }
    return thrt_status{THRT_OK};
  };
  EXPECT_EQ(status([](emit::Options& o) { o.max_arguments = 4; }), THRT_OK);
  EXPECT_EQ(status([](emit::Options& o) { o.max_arguments = 3; }), THRT_INVALID_ARGUMENT);
  EXPECT_EQ(status([](emit::Options& o) { o.group_size = 48; }), THRT_INVALID_ARGUMENT);
  EXPECT_EQ(status([](emit::Options& o) { o.sorted_block = 1000; }), THRT_INVALID_ARGUMENT);
  EXPECT_EQ(status([](emit::Options& o) { o.teams = emit::Teams{3, 1}; }), THRT_INVALID_ARGUMENT);
}

// The least storage buffers that a Vulkan device has.
TEST(Fusion, KernelsKeepToFourArguments) {
  emit::Options options;
  options.max_arguments = 4;
  const auto expect_few = [&](Builder& builder, const std::string& what) {
    for (const emit::Step& step : emit::plan(sdk::ProgramView(builder.built()), emit::glsl(), options).steps) {
      for (const emit::Kernel& kernel : step.kernels) EXPECT_LE(kernel.arguments.size(), 4u) << what;
    }
  };
  Builder sums;
  const std::uint32_t x = sums.input("x", {kF32, {4, 70000}}), w = sums.input("w", {kF32, {4, 70000}});
  const std::uint32_t s = sums.op(OpKind::REDUCE_SUM, {sums.op(OpKind::MUL, {x, w})}, {0, 1});
  const std::uint32_t rows = sums.op(OpKind::REDUCE_SUM, {x}, {1});
  sums.output("s", sums.op(OpKind::ADD, {sums.op(OpKind::BROADCAST, {s}, {}, Type{kF32, {4}}), rows}));
  sums.output("r", sums.op(OpKind::MUL, {rows, sums.input("z", {kF32, {4}})}));
  expect_few(sums, "sums");
  Builder moved;
  const std::uint32_t table = moved.input("t", {kF32, {1000}}), at = moved.input("at", {DType::kI32, {900}}),
                      more = moved.input("m", {kF32, {900}});
  moved.output("y", moved.op(OpKind::SCATTER_ADD, {table, at, more}, {0}));
  std::vector<std::uint32_t> pieces;
  for (int i = 0; i < 9; ++i) pieces.push_back(moved.input("p" + std::to_string(i), {kF32, {5}}));
  moved.output("z", moved.op(OpKind::CONCAT, pieces, {0}));
  expect_few(moved, "scatter and concat");
}

TEST(Fusion, WhatCannotBePrintedIsRefusedByName) {
  const auto reason = [](const ir::Type& type, const emit::Dialect& dialect, std::uint32_t dtypes) {
    Builder b;
    b.output("y", b.op(OpKind::NEG, {b.input("x", type)}));
    return emit::refuse(sdk::ProgramView(b.built()).ops()[0], dialect, dtypes).value_or("");
  };
  const std::uint32_t all = emit::kPrintedDtypes, without_halves = ir::dtype_bit(DType::kF32);
  EXPECT_EQ(reason({DType::kF64, {4}}, emit::opencl_c(), all), "neg: no kernels for f64");
  EXPECT_EQ(reason({DType::kBF16, {4}}, emit::glsl(), all), "");
  EXPECT_EQ(reason({DType::kBF16, {4}}, emit::glsl(), without_halves), "neg: this device does not store bf16");
  const ir::Type large{DType::kF32, {1 << 16, 1 << 15}};
  EXPECT_EQ(reason(large, emit::opencl_c(), all), "");
  EXPECT_EQ(reason(large, emit::glsl(), all), "neg: 2147483648 elements; kernels in GLSL count to 2146435071");
}

}  // namespace
}  // namespace thrt::testing
