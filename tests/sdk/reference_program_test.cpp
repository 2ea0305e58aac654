// Whole programs on the reference backend: random bits, repeat, states, finite checks.
#include "loaded_backend.hpp"

#include <thrt/philox.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace thrt::testing {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;
using Words = std::vector<std::uint32_t>;

class ReferenceProgram : public ReferenceTest {};

// Known answers of the authors' own test suite (Random123, kat_vectors: philox4x32 with 10 rounds).
TEST(Philox, GivesThePublishedAnswers) {
  struct Known {
    std::uint32_t counter[4], key[2], answer[4];
  };
  const Known known[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const Known& k : known) {
    std::uint32_t counter[4] = {k.counter[0], k.counter[1], k.counter[2], k.counter[3]};
    thrt_philox4x32_10(counter, k.key[0], k.key[1]);
    for (int lane = 0; lane < 4; ++lane) EXPECT_EQ(counter[lane], k.answer[lane]);
  }
}

TEST_F(ReferenceProgram, RandomBitsAreThePublishedStream) {
  // Counter {0, 0, 0, 0}, key {0, 0}: the first known answer; then the second block of the same stream.
  const Words bits =
      session.op(OpKind::RANDOM_BITS, {u32({4}, {0, 0, 0, 0})}, {}, Type{DType::kU32, {2, 3}}).as<std::uint32_t>();
  EXPECT_EQ(Words(bits.begin(), bits.begin() + 4), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  std::uint32_t second[4] = {1, 0, 0, 0};
  thrt_philox4x32_10(second, 0, 0);
  EXPECT_EQ(bits[4], second[0]);
  EXPECT_EQ(bits[5], second[1]);
  // The state's upper words are the stream, its lower ones the key.
  std::uint32_t other[4] = {0, 0, 7, 8};
  thrt_philox4x32_10(other, 5, 6);
  EXPECT_EQ(
      session.op(OpKind::RANDOM_BITS, {u32({4}, {5, 6, 7, 8})}, {}, Type{DType::kU32, {1}}).as<std::uint32_t>()[0],
      other[0]);
}

// x <- x * a + i, the iteration as a number.
std::shared_ptr<ProgramBuilder> affine_body() {
  auto body = std::make_shared<ProgramBuilder>("affine");
  const std::uint32_t i = body->input("i", {DType::kI32, {}});
  const std::uint32_t x = body->input("x", {DType::kI32, {2}});
  const std::uint32_t a = body->input("a", {DType::kI32, {2}});
  const std::uint32_t wide = body->op(OpKind::BROADCAST, {i}, {}, Type{DType::kI32, {2}});
  body->state_output(1, body->op(OpKind::ADD, {body->op(OpKind::MUL, {x, a}), wide}));
  return body;
}

TEST_F(ReferenceProgram, RepeatCarriesValuesAndCounts) {
  for (const std::int64_t trips : {0, 1, 5}) {
    ProgramBuilder program;
    const std::uint32_t x = program.input("x", {DType::kI32, {2}});
    const std::uint32_t a = program.input("a", {DType::kI32, {2}});
    program.output("y", program.repeat(affine_body(), trips, 1, {x, a})[0]);
    Ints wanted = {1, 2};
    for (std::int32_t i = 0; i < trips; ++i) wanted = {wanted[0] * 3 + i, wanted[1] * 2 + i};
    const auto out = session.run(program.build(), {{"x", i32({2}, {1, 2})}, {"a", i32({2}, {3, 2})}});
    EXPECT_EQ(out.at("y").as<std::int32_t>(), wanted) << trips;
  }
}

TEST_F(ReferenceProgram, RepeatTakesOneValueForSeveralOperands) {
  ProgramBuilder program;  // carried and invariant are one value, which is also read later
  const std::uint32_t x = program.input("x", {DType::kI32, {2}});
  const std::uint32_t twice = program.op(OpKind::ADD, {x, x});
  const std::uint32_t y = program.repeat(affine_body(), 2, 1, {twice, twice})[0];
  program.output("y", program.op(OpKind::ADD, {y, twice}));
  // x = 2 each: 4 -> 4*4+0 = 16 -> 16*4+1 = 65, plus 4.
  EXPECT_EQ(session.run(program.build(), {{"x", i32({2}, {2, 2})}}).at("y").as<std::int32_t>(), (Ints{69, 69}));
}

TEST_F(ReferenceProgram, RepeatUpdatesAStateAndSwapsCarriedValues) {
  auto body = std::make_shared<ProgramBuilder>("swap");
  body->input("i", {DType::kI32, {}});
  const std::uint32_t p = body->input("p", {DType::kI32, {1}});
  const std::uint32_t q = body->input("q", {DType::kI32, {1}});
  body->state_output(1, q);
  body->state_output(2, body->op(OpKind::ADD, {p, q}));  // Fibonacci
  ProgramBuilder program;
  const std::uint32_t a = program.input("a", {DType::kI32, {1}});
  const std::uint32_t b = program.input("b", {DType::kI32, {1}});
  const auto results = program.repeat(body, 10, 2, {a, b});
  program.state_output(0, results[0]);
  program.state_output(1, results[1]);
  const std::map<std::string, Array> start = {{"a", i32({1}, {0})}, {"b", i32({1}, {1})}};
  auto out = session.run(program.build(), start);
  EXPECT_EQ(out.at("a").as<std::int32_t>(), (Ints{55}));
  EXPECT_EQ(out.at("b").as<std::int32_t>(), (Ints{89}));
  // Two runs of the same binding continue from the state: F(20) and F(21).
  out = session.run(program.build(), start, 0, 2);
  EXPECT_EQ(out.at("a").as<std::int32_t>(), (Ints{6765}));
  EXPECT_EQ(out.at("b").as<std::int32_t>(), (Ints{10946}));
}

TEST_F(ReferenceProgram, RepeatsNest) {
  auto outer = std::make_shared<ProgramBuilder>("outer");
  const std::uint32_t i = outer->input("i", {DType::kI32, {}});
  const std::uint32_t x = outer->input("x", {DType::kI32, {2}});
  const std::uint32_t a = outer->input("a", {DType::kI32, {2}});
  const std::uint32_t inner = outer->repeat(affine_body(), 3, 1, {x, a})[0];
  const std::uint32_t wide = outer->op(OpKind::BROADCAST, {i}, {}, Type{DType::kI32, {2}});
  outer->state_output(1, outer->op(OpKind::SUB, {inner, wide}));
  ProgramBuilder program;
  const std::uint32_t start = program.input("x", {DType::kI32, {2}});
  const std::uint32_t factor = program.input("a", {DType::kI32, {2}});
  program.output("y", program.repeat(outer, 4, 1, {start, factor})[0]);
  Ints wanted = {1, -2};
  const Ints factors = {2, 3};
  for (std::int32_t o = 0; o < 4; ++o) {
    for (std::size_t k = 0; k < 2; ++k) {
      for (std::int32_t n = 0; n < 3; ++n) wanted[k] = wanted[k] * factors[k] + n;
      wanted[k] -= o;
    }
  }
  const auto out = session.run(program.build(), {{"x", i32({2}, {1, -2})}, {"a", i32({2}, factors)}});
  EXPECT_EQ(out.at("y").as<std::int32_t>(), wanted);
}

TEST_F(ReferenceProgram, AllOutputsComeFromTheInputsAsTheyWere) {
  ProgramBuilder program;
  const std::uint32_t a = program.input("a", {DType::kF32, {20}});
  const std::uint32_t b = program.input("b", {DType::kF32, {20}});
  const std::uint32_t c = program.input("c", {DType::kF32, {20}});
  program.state_output(0, b);
  program.state_output(1, c);
  program.state_output(2, program.op(OpKind::NEG, {a}));
  program.output("copy", a);
  const auto out =
      session.run(program.build(),
                  {{"a", f32({20}, Floats(20, 1))}, {"b", f32({20}, Floats(20, 2))}, {"c", f32({20}, Floats(20, 3))}});
  EXPECT_EQ(out.at("a").as<float>(), Floats(20, 2));
  EXPECT_EQ(out.at("b").as<float>(), Floats(20, 3));
  EXPECT_EQ(out.at("c").as<float>(), Floats(20, -1));
  EXPECT_EQ(out.at("copy").as<float>(), Floats(20, 1));
}

TEST_F(ReferenceProgram, ConstantsBelongToTheExecutable) {
  ProgramBuilder program;
  const std::uint32_t x = program.input("x", {DType::kF32, {3}});
  const float numbers[3] = {1, 2, 3};
  const std::uint32_t c = program.constant({DType::kF32, {3}}, numbers);
  program.output("y", program.op(OpKind::ADD, {x, c}));
  program.output("c", c);
  const auto out = session.run(program.build(), {{"x", f32({3}, {10, 20, 30})}}, 0, 3);
  EXPECT_EQ(out.at("y").as<float>(), (Floats{11, 22, 33}));
  EXPECT_EQ(out.at("c").as<float>(), (Floats{1, 2, 3}));
}

TEST_F(ReferenceProgram, CheckFiniteNamesTheFirstBadOp) {
  ProgramBuilder program;
  const std::uint32_t x = program.input("x", {DType::kF32, {3}});
  const std::uint32_t fine = program.op(OpKind::ABS, {x});    // op 0
  const std::uint32_t bad = program.op(OpKind::LOG, {fine});  // op 1: log(0)
  program.output("y", program.op(OpKind::EXP, {bad}));        // op 2: finite again
  const std::map<std::string, Array> inputs = {{"x", f32({3}, {1, 0, 2})}};
  EXPECT_EQ(session.run(program.build(), inputs).at("y").as<float>()[1], 0.0f);
  EXPECT_THROW(session.run(program.build(), inputs, THRT_COMPILE_CHECK_FINITE), std::runtime_error);
  EXPECT_EQ(session.error.code, THRT_NON_FINITE);
  EXPECT_EQ(session.error.op_index, 1u);
  EXPECT_EQ(session.error.value_index, bad);
  EXPECT_THAT(session.error.message, ::testing::HasSubstr("op 1 (log) made an infinity in element 1"));
  // The failure was reported; the context works on.
  EXPECT_NO_THROW(session.run(program.build(), {{"x", f32({3}, {1, 1, 2})}}, THRT_COMPILE_CHECK_FINITE));
}

TEST_F(ReferenceProgram, CheckFiniteNamesAnOpInsideARepeat) {
  auto body = std::make_shared<ProgramBuilder>("body");
  body->input("i", {DType::kI32, {}});
  const std::uint32_t x = body->input("x", {DType::kF32, {1}});
  const std::uint32_t down = body->input("one", {DType::kF32, {1}});
  const std::uint32_t less = body->op(OpKind::SUB, {x, down});                     // op 2
  body->state_output(1, body->op(OpKind::ABS, {body->op(OpKind::SQRT, {less})}));  // op 3, op 4
  ProgramBuilder program;
  const std::uint32_t start = program.input("x", {DType::kF32, {1}});
  const std::uint32_t one = program.input("one", {DType::kF32, {1}});
  const std::uint32_t same = program.op(OpKind::ABS, {start});  // op 0
  program.output("y", program.repeat(body, 3, 1, {same, one})[0]);
  const std::map<std::string, Array> inputs = {{"x", f32({1}, {1.5f})}, {"one", f32({1}, {1})}};
  EXPECT_THROW(session.run(program.build(), inputs, THRT_COMPILE_CHECK_FINITE), std::runtime_error);
  EXPECT_EQ(session.error.code, THRT_NON_FINITE);
  EXPECT_EQ(session.error.op_index, 3u);
  EXPECT_THAT(session.error.message, ::testing::HasSubstr("a NaN"));
}

}  // namespace
}  // namespace thrt::testing
