// What a plan looks like to a person.
#include "../../plugins/cpu/host.hpp"

#include <thrt/emit/describe.hpp>
#include <thrt/emit/emit.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thrt::testing {
namespace {

using ::testing::HasSubstr;

constexpr DType kF32 = DType::kF32;

TEST(Describe, ADenseLayer) {
  Builder b;
  const std::uint32_t x = b.input("x", {kF32, {32, 16}}), w = b.input("w", {kF32, {16, 64}}),
                      bias = b.input("b", {kF32, {64}});
  const std::uint32_t rows = b.op(OpKind::BROADCAST, {bias}, {1}, Type{kF32, {32, 64}});
  b.output("y", b.op(OpKind::TANH, {b.op(OpKind::ADD, {b.op(OpKind::MATMUL, {x, w}, {0, 0}), rows})}));
  const sdk::ProgramView program(b.built());
  EXPECT_EQ(emit::describe(program, emit::plan(program, emit::opencl_c())),
            "--\n"
            "1. 32 groups of 64: tanh_matmul\n"
            "     y f32[32, 64] = tanh(matmul(x, w) + b)\n"
            "     reads 6.2 KiB: x f32[32, 16], w f32[16, 64], b f32[64]\n"
            "     writes 8.0 KiB: y f32[32, 64]\n"
            "in all 1 launches, 6.2 KiB read, 8.0 KiB written, with repeats as often as they run\n");
}

TEST(Describe, StatesNumbersAndRepeats) {
  auto body = std::make_shared<Builder>("halve");
  body->input("i", {DType::kI32, {}});
  const std::uint32_t s = body->input("s", {kF32, {4}});
  const std::uint32_t half =
      body->op(OpKind::BROADCAST, {body->constant<float>({kF32, {}}, {0.5f})}, {}, Type{kF32, {4}});
  body->output("s", body->op(OpKind::MUL, {body->op(OpKind::ADD, {s, half}), half}));
  Builder b;
  const std::uint32_t x = b.input("x", {kF32, {4}});
  b.output("x", b.repeat(3, {b.op(OpKind::EXP, {x})}, {}, body));
  const sdk::ProgramView program(b.built());
  const auto plan_of = [](const sdk::ProgramView& view) { return emit::plan(view, emit::opencl_c()); };
  const std::string text =
      emit::describe(program, plan_of(program), [&](const sdk::OpView& op) { return plan_of(op.body()); });
  EXPECT_THAT(text, HasSubstr("= exp(x)\n"));
  EXPECT_THAT(text, HasSubstr("repeat 3 times \"halve\"\n"));
  EXPECT_THAT(text, HasSubstr("       s' f32[4] = (s + 0.5) * 0.5\n"));
  // exp reads and writes 16 bytes, and so does each of three turns.
  EXPECT_THAT(text, HasSubstr("in all 4 launches, 64 B read, 64 B written"));
}

// 2^40 paths lead from the last value to the first: the formula would be as long.
TEST(Describe, ALongFormulaIsAListOfOps) {
  Builder b;
  std::uint32_t x = b.input("x", {DType::kU32, {65}});
  for (int i = 0; i < 40; ++i) x = b.op(OpKind::MUL, {x, x});
  b.output("y", x);
  const sdk::ProgramView program(b.built());
  EXPECT_THAT(emit::describe(program, emit::plan(program, emit::opencl_c())),
              HasSubstr("y u32[65] = mul, the last of 40 ops: 40 mul\n"));
}

TEST(Describe, PartsOfOneLaunch) {
  Builder b;
  const std::uint32_t x = b.input("x", {kF32, {640}}), y = b.input("y", {kF32, {64}});
  b.output("a", b.op(OpKind::NEG, {x}));
  b.output("b", b.op(OpKind::NEG, {y}));
  b.output("c", b.op(OpKind::EXP, {y}));
  const sdk::ProgramView program(b.built());
  const std::string text = emit::describe(program, emit::plan(program, emit::opencl_c()));
  EXPECT_THAT(text, HasSubstr("1. 12 groups of 64: neg x2, exp\n"));
  EXPECT_THAT(text, HasSubstr("reads 2.8 KiB: x f32[640], y f32[64]\n"));
}

}  // namespace
}  // namespace thrt::testing
