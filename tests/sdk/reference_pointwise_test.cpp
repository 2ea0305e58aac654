#include "loaded_backend.hpp"

#include <thrt/ir/float16.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace thrt::testing {
namespace {

class ReferencePointwise : public ReferenceTest {
 protected:
  // f32 in, f32 out.
  std::vector<float> floats(OpKind kind, const std::vector<std::vector<float>>& operands) {
    std::vector<Array> arrays;
    for (const auto& operand : operands) arrays.push_back(f32({static_cast<std::int64_t>(operand.size())}, operand));
    return session.op(kind, arrays).as<float>();
  }
  std::vector<std::int32_t> ints(OpKind kind, const std::vector<std::int32_t>& x, const std::vector<std::int32_t>& y) {
    const auto n = static_cast<std::int64_t>(x.size());
    return session.op(kind, {i32({n}, x), i32({n}, y)}).as<std::int32_t>();
  }
  std::vector<std::uint32_t> words(OpKind kind, const std::vector<std::uint32_t>& x,
                                   const std::vector<std::uint32_t>& y) {
    const auto n = static_cast<std::int64_t>(x.size());
    return session.op(kind, {u32({n}, x), u32({n}, y)}).as<std::uint32_t>();
  }
};

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr std::int32_t kMin = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max();

bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

void expect_same(const std::vector<float>& got, const std::vector<float>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(same(got[i], wanted[i])) << i << ": " << got[i] << ", " << wanted[i];
}

TEST_F(ReferencePointwise, OneFloat) {
  expect_same(floats(OpKind::NEG, {{1.5f, 0.0f, -kInf, kNan}}), {-1.5f, -0.0f, kInf, kNan});
  expect_same(floats(OpKind::ABS, {{-1.5f, -0.0f, -kInf, kNan}}), {1.5f, 0.0f, kInf, kNan});
  expect_same(floats(OpKind::SIGN, {{-3.0f, 2.0f, -0.0f, 0.0f, kNan, kInf}}), {-1, 1, -0.0f, 0, kNan, 1});
  expect_same(floats(OpKind::FLOOR, {{-1.5f, 1.5f, -0.0f, kInf}}), {-2, 1, -0.0f, kInf});
  expect_same(floats(OpKind::ROUND, {{0.5f, 1.5f, 2.5f, -0.5f, -2.5f, 2.51f}}), {0, 2, 2, -0.0f, -2, 3});
  expect_same(floats(OpKind::SQRT, {{4, 2, -1, -0.0f, kInf}}), {2, 1.41421356f, kNan, -0.0f, kInf});
  // Decimal values from tables; f32 is their nearest.
  expect_same(floats(OpKind::EXP, {{1, 0, -kInf, 89, -104}}), {2.71828183f, 1, 0, kInf, 0});
  expect_same(floats(OpKind::LOG, {{2, 1, 0, -1, kInf}}), {0.693147181f, 0, -kInf, kNan, kInf});
  expect_same(floats(OpKind::LOG1P, {{1e-10f, -1, -2, 1}}), {1e-10f, -kInf, kNan, 0.693147181f});
  expect_same(floats(OpKind::SIN, {{1, 0, -0.0f}}), {0.841470985f, 0, -0.0f});
  expect_same(floats(OpKind::COS, {{1, 0}}), {0.540302306f, 1});
  expect_same(floats(OpKind::TANH, {{1, 1e-10f, 100, -kInf}}), {0.761594156f, 1e-10f, 1, -1});
  expect_same(floats(OpKind::SIGMOID, {{0, 1, -100, 100, -kInf, kInf}}),
              {0.5f, 0.731058579f, 3.72007598e-44f, 1, 0, 1});
  expect_same(floats(OpKind::ERF, {{1, 0.5f, -1, kInf}}), {0.842700793f, 0.520499878f, -0.842700793f, 1});
}

TEST_F(ReferencePointwise, NotANumberGoesThrough) {
  for (const OpKind kind : {OpKind::FLOOR, OpKind::ROUND, OpKind::SQRT, OpKind::EXP, OpKind::LOG, OpKind::LOG1P,
                            OpKind::SIN, OpKind::COS, OpKind::TANH, OpKind::SIGMOID, OpKind::ERF}) {
    EXPECT_TRUE(std::isnan(floats(kind, {{kNan}})[0])) << ir::op_info(kind).name;
  }
  for (const OpKind kind :
       {OpKind::ADD, OpKind::SUB, OpKind::MUL, OpKind::DIV, OpKind::REM, OpKind::MAX, OpKind::MIN}) {
    EXPECT_TRUE(std::isnan(floats(kind, {{kNan}, {1}})[0])) << ir::op_info(kind).name;
    EXPECT_TRUE(std::isnan(floats(kind, {{1}, {kNan}})[0])) << ir::op_info(kind).name;
  }
}

TEST_F(ReferencePointwise, TwoFloats) {
  // Sums, products and quotients of f32 are correctly rounded: as the processor's own.
  const float third = 1.0f / 3.0f;
  expect_same(floats(OpKind::ADD, {{1, 16777216, kInf}, {third, 1, -kInf}}), {1 + third, 16777216, kNan});
  expect_same(floats(OpKind::SUB, {{1, 0}, {third, 0}}), {1 - third, 0});
  expect_same(floats(OpKind::MUL, {{third, 3e38f, -0.0f}, {third, 10, 5}}), {third * third, kInf, -0.0f});
  expect_same(floats(OpKind::DIV, {{1, 1, -1, 0}, {3, 0, 0, 0}}), {third, kInf, -kInf, kNan});
  expect_same(floats(OpKind::REM, {{5.5f, -5.5f, 5.5f, 1, 1}, {2, 2, -2, 0, kInf}}), {1.5f, -1.5f, 1.5f, kNan, 1});
  expect_same(floats(OpKind::POW, {{2, -2, -2, 0, kNan, 4}, {10, 3, 0.5f, 0, 0, 0.5f}}), {1024, -8, kNan, 1, 1, 2});
  expect_same(floats(OpKind::MAX, {{1, -kInf}, {2, 3}}), {2, 3});
  expect_same(floats(OpKind::MIN, {{1, -kInf}, {2, 3}}), {1, -kInf});
}

TEST_F(ReferencePointwise, IntegersWrapAndDivideAsTheContractSays) {
  using Ints = std::vector<std::int32_t>;
  EXPECT_EQ(ints(OpKind::ADD, {kMax, -5}, {1, 3}), (Ints{kMin, -2}));
  EXPECT_EQ(ints(OpKind::SUB, {kMin, 3}, {1, 5}), (Ints{kMax, -2}));
  EXPECT_EQ(ints(OpKind::MUL, {65536, -3}, {65536, 5}), (Ints{0, -15}));
  EXPECT_EQ(ints(OpKind::DIV, {-7, 7, 5, kMin, kMin}, {2, -2, 0, -1, 0}), (Ints{-3, -3, 0, kMin, 0}));
  EXPECT_EQ(ints(OpKind::REM, {-7, 7, 5, kMin}, {2, -2, 0, -1}), (Ints{-1, 1, 0, 0}));
  EXPECT_EQ(ints(OpKind::MAX, {-1, 4}, {1, 3}), (Ints{1, 4}));
  EXPECT_EQ(ints(OpKind::MIN, {-1, 4}, {1, 3}), (Ints{-1, 3}));
  EXPECT_EQ(session.op(OpKind::NEG, {i32({3}, {kMin, 5, 0})}).as<std::int32_t>(), (Ints{kMin, -5, 0}));
  EXPECT_EQ(session.op(OpKind::ABS, {i32({3}, {kMin, -5, 5})}).as<std::int32_t>(), (Ints{kMin, 5, 5}));
  EXPECT_EQ(session.op(OpKind::SIGN, {i32({3}, {kMin, 0, 5})}).as<std::int32_t>(), (Ints{-1, 0, 1}));

  using Words = std::vector<std::uint32_t>;
  EXPECT_EQ(words(OpKind::ADD, {0xFFFFFFFFu}, {2}), (Words{1}));
  EXPECT_EQ(words(OpKind::SUB, {1}, {2}), (Words{0xFFFFFFFFu}));
  EXPECT_EQ(words(OpKind::MUL, {0x80000001u}, {2}), (Words{2}));
  EXPECT_EQ(words(OpKind::DIV, {0xFFFFFFFEu, 9}, {2, 0}), (Words{0x7FFFFFFFu, 0}));
  EXPECT_EQ(words(OpKind::REM, {0xFFFFFFFFu, 9}, {16, 0}), (Words{15, 0}));
  EXPECT_EQ(words(OpKind::MAX, {0x80000000u}, {1}), (Words{0x80000000u}));
  EXPECT_EQ(session.op(OpKind::NEG, {u32({2}, {1, 0})}).as<std::uint32_t>(), (Words{0xFFFFFFFFu, 0}));
  EXPECT_EQ(session.op(OpKind::ABS, {u32({1}, {0x80000000u})}).as<std::uint32_t>(), (Words{0x80000000u}));
  EXPECT_EQ(session.op(OpKind::SIGN, {u32({2}, {0, 0x80000000u})}).as<std::uint32_t>(), (Words{0, 1}));
}

TEST_F(ReferencePointwise, Bits) {
  using Ints = std::vector<std::int32_t>;
  using Words = std::vector<std::uint32_t>;
  using Bytes = std::vector<std::uint8_t>;
  EXPECT_EQ(words(OpKind::AND, {0xF0F0u}, {0xFF00u}), (Words{0xF000u}));
  EXPECT_EQ(words(OpKind::OR, {0xF0F0u}, {0xFF00u}), (Words{0xFFF0u}));
  EXPECT_EQ(words(OpKind::XOR, {0xF0F0u}, {0xFF00u}), (Words{0x0FF0u}));
  EXPECT_EQ(words(OpKind::SHIFT_LEFT, {1, 3, 1}, {4, 31, 33}), (Words{16, 0x80000000u, 2}));
  EXPECT_EQ(words(OpKind::SHIFT_RIGHT, {0x80000000u, 8}, {31, 35}), (Words{1, 1}));
  EXPECT_EQ(ints(OpKind::SHIFT_RIGHT, {-8, kMin}, {1, 31}), (Ints{-4, -1}));
  EXPECT_EQ(ints(OpKind::SHIFT_LEFT, {-1, 1}, {4, 63}), (Ints{-16, kMin}));
  EXPECT_EQ(session.op(OpKind::NOT, {u32({1}, {0xF0u})}).as<std::uint32_t>(), (Words{0xFFFFFF0Fu}));
  EXPECT_EQ(session.op(OpKind::NOT, {i32({1}, {0})}).as<std::int32_t>(), (Ints{-1}));
  EXPECT_EQ(session.op(OpKind::NOT, {boolean({2}, {0, 1})}).as<std::uint8_t>(), (Bytes{1, 0}));
  const Array p = boolean({4}, {0, 0, 1, 1}), q = boolean({4}, {0, 1, 0, 1});
  EXPECT_EQ(session.op(OpKind::AND, {p, q}).as<std::uint8_t>(), (Bytes{0, 0, 0, 1}));
  EXPECT_EQ(session.op(OpKind::OR, {p, q}).as<std::uint8_t>(), (Bytes{0, 1, 1, 1}));
  EXPECT_EQ(session.op(OpKind::XOR, {p, q}).as<std::uint8_t>(), (Bytes{0, 1, 1, 0}));
}

TEST_F(ReferencePointwise, Comparisons) {
  using Bytes = std::vector<std::uint8_t>;
  const Array x = f32({5}, {1, 2, 3, kNan, -0.0f}), y = f32({5}, {2, 2, 2, kNan, 0.0f});
  EXPECT_EQ(session.op(OpKind::LT, {x, y}).as<std::uint8_t>(), (Bytes{1, 0, 0, 0, 0}));
  EXPECT_EQ(session.op(OpKind::LE, {x, y}).as<std::uint8_t>(), (Bytes{1, 1, 0, 0, 1}));
  EXPECT_EQ(session.op(OpKind::EQ, {x, y}).as<std::uint8_t>(), (Bytes{0, 1, 0, 0, 1}));
  EXPECT_EQ(session.op(OpKind::LT, {u32({1}, {1}), u32({1}, {0x80000000u})}).as<std::uint8_t>(), (Bytes{1}));
  EXPECT_EQ(session.op(OpKind::LT, {i32({1}, {1}), i32({1}, {kMin})}).as<std::uint8_t>(), (Bytes{0}));
  EXPECT_EQ(session.op(OpKind::EQ, {boolean({2}, {0, 1}), boolean({2}, {1, 1})}).as<std::uint8_t>(), (Bytes{0, 1}));
  const Array bytes = array<std::uint8_t>(DType::kU8, {2}, {7, 8});
  EXPECT_EQ(session.op(OpKind::EQ, {bytes, array<std::uint8_t>(DType::kU8, {2}, {7, 9})}).as<std::uint8_t>(),
            (Bytes{1, 0}));
}

TEST_F(ReferencePointwise, SelectHidesWhatItDoesNotTake) {
  const Array picked =
      session.op(OpKind::SELECT, {boolean({3}, {1, 0, 1}), f32({3}, {1, kNan, 3}), f32({3}, {kNan, 5, kInf})});
  expect_same(picked.as<float>(), {1, 5, 3});
}

TEST_F(ReferencePointwise, CastFollowsTheContract) {
  const auto cast = [&](const Array& x, DType to) { return session.op(OpKind::CAST, {x}, {}, Type{to, x.type.shape}); };
  using Ints = std::vector<std::int32_t>;
  using Words = std::vector<std::uint32_t>;
  using Bytes = std::vector<std::uint8_t>;
  using Halves = std::vector<std::uint16_t>;
  const Array x = f32({8}, {1.9f, -1.9f, 3e9f, -3e9f, kNan, kInf, -kInf, 256.5f});
  EXPECT_EQ(cast(x, DType::kI32).as<std::int32_t>(), (Ints{1, -1, kMax, kMin, 0, kMax, kMin, 256}));
  EXPECT_EQ(cast(x, DType::kU32).as<std::uint32_t>(), (Words{1, 0, 3000000000u, 0, 0, 0xFFFFFFFFu, 0, 256}));
  EXPECT_EQ(cast(x, DType::kU8).as<std::uint8_t>(), (Bytes{1, 0, 255, 0, 0, 255, 0, 255}));
  EXPECT_EQ(cast(f32({4}, {0, -0.0f, kNan, 0.1f}), DType::kBool).as<std::uint8_t>(), (Bytes{0, 0, 1, 1}));
  // 2^24 + 1 is between two f32: to even. 2^31 - 1 rounds up.
  expect_same(cast(i32({3}, {16777217, kMax, -16777219}), DType::kF32).as<float>(),
              {16777216.0f, 2147483648.0f, -16777220.0f});
  expect_same(cast(u32({1}, {0xFFFFFFFFu}), DType::kF32).as<float>(), {4294967296.0f});
  EXPECT_EQ(cast(i32({3}, {-1, 300, 256}), DType::kU8).as<std::uint8_t>(), (Bytes{255, 44, 0}));
  EXPECT_EQ(cast(i32({2}, {-1, 5}), DType::kU32).as<std::uint32_t>(), (Words{0xFFFFFFFFu, 5}));
  EXPECT_EQ(cast(u32({1}, {0xFFFFFFFEu}), DType::kI32).as<std::int32_t>(), (Ints{-2}));
  EXPECT_EQ(cast(i32({2}, {256, 0}), DType::kBool).as<std::uint8_t>(), (Bytes{1, 0}));
  EXPECT_EQ(cast(boolean({2}, {0, 1}), DType::kI32).as<std::int32_t>(), (Ints{0, 1}));
  expect_same(cast(boolean({2}, {0, 1}), DType::kF32).as<float>(), {0, 1});
  EXPECT_EQ(cast(f32({3}, {65520.0f, 1.0f, -2.0f}), DType::kF16).as<std::uint16_t>(), (Halves{0x7C00, 0x3C00, 0xC000}));
  EXPECT_EQ(cast(f32({2}, {1.0f, 3.4e38f}), DType::kBF16).as<std::uint16_t>(), (Halves{0x3F80, 0x7F80}));
  // Rounding f64 to f16 by way of f32 would end at the lower neighbour: 1 + 2^-11 + 2^-40 is above the middle.
  EXPECT_EQ(cast(f64({1}, {1 + 0x1p-11 + 0x1p-40}), DType::kF16).as<std::uint16_t>(), (Halves{0x3C01}));
  expect_same(cast(f64({2}, {1e300, 1 + 0x1p-24}), DType::kF32).as<float>(), {kInf, 1});
}

TEST_F(ReferencePointwise, SmallFloatsAreComputedWideAndRoundedOnce) {
  const auto half = [](float x) { return ir::f32_to_f16(x); };
  const Array x = array<std::uint16_t>(DType::kF16, {2}, {half(60000.0f), half(1.0f)});
  const Array y = array<std::uint16_t>(DType::kF16, {2}, {half(60000.0f), half(0.0004f)});
  const auto sums = session.op(OpKind::ADD, {x, y}).as<std::uint16_t>();
  EXPECT_EQ(sums[0], 0x7C00);  // overflow
  EXPECT_EQ(sums[1], half(1.0f + ir::f16_to_f32(half(0.0004f))));
  const Array b = array<std::uint16_t>(DType::kBF16, {1}, {ir::f32_to_bf16(0.1f)});
  EXPECT_EQ(session.op(OpKind::EXP, {b}).as<std::uint16_t>()[0],
            ir::f32_to_bf16(std::exp(ir::bf16_to_f32(ir::f32_to_bf16(0.1f)))));
}

TEST_F(ReferencePointwise, DoublesStayDouble) {
  EXPECT_EQ(session.op(OpKind::ADD, {f64({1}, {1}), f64({1}, {0x1p-50})}).as<double>()[0], 1 + 0x1p-50);
  EXPECT_DOUBLE_EQ(session.op(OpKind::LOG, {f64({1}, {10})}).as<double>()[0], 2.302585092994046);
}

}  // namespace
}  // namespace thrt::testing
