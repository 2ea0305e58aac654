#include "near_all.hpp"
#include "reference_device.hpp"

#include <thrt/philox.h>
#include <thrt/error.hpp>
#include <thrt/nn/initialise.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>

namespace thrt::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<double> values_of(const Init& init, const Type& type, const std::string& name = "w",
                              std::uint64_t seed = 1) {
  return HostValue(type, nn::initial_value(init, type, name, seed)).numbers();
}

// The rows (or columns, whichever are fewer) of a rows x columns matrix have the inner products of gain^2 times the
// identity.
void expect_orthogonal(const std::vector<double>& m, std::size_t rows, std::size_t columns, double gain) {
  const bool wide = rows < columns;
  const std::size_t vectors = wide ? rows : columns, length = wide ? columns : rows;
  const auto at = [&](std::size_t vector, std::size_t i) {
    return wide ? m[vector * columns + i] : m[i * columns + vector];
  };
  for (std::size_t a = 0; a < vectors; ++a) {
    for (std::size_t b = 0; b < vectors; ++b) {
      double product = 0.0;
      for (std::size_t i = 0; i < length; ++i) product += at(a, i) * at(b, i);
      EXPECT_NEAR(product, a == b ? gain * gain : 0.0, 1e-6) << a << ' ' << b;
    }
  }
}

TEST(InitialValue, OrthogonalIsOrthogonal) {
  const double gain = std::sqrt(2.0);
  expect_orthogonal(values_of(Init::orthogonal(gain), {DType::kF32, {4, 64}}), 4, 64, gain);
  expect_orthogonal(values_of(Init::orthogonal(gain), {DType::kF32, {64, 4}}), 64, 4, gain);
  expect_orthogonal(values_of(Init::orthogonal(0.01), {DType::kF32, {32, 32}}), 32, 32, 0.01);
  expect_orthogonal(values_of(Init::orthogonal(1.0), {DType::kF32, {8, 3, 3, 2}}), 8, 18, 1.0);
  expect_orthogonal(values_of(Init::orthogonal(1.0), {DType::kF32, {40, 1, 3, 2}}), 40, 6, 1.0);
}

// In two dimensions the Haar measure is known: half of the matrices are reflections, and the first column's angle is
// uniform. Without the sign correction all would be of one kind. Over 400 seeds, within 5 deviations.
TEST(InitialValue, OrthogonalIsUniformOverAll) {
  constexpr double kCount = 400.0;
  double reflections = 0.0, cosines = 0.0, sines = 0.0, cosines_of_double = 0.0;
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(kCount); ++seed) {
    const std::vector<double> m = values_of(Init::orthogonal(1.0), {DType::kF64, {2, 2}}, "w", seed);
    reflections += m[0] * m[3] - m[1] * m[2] < 0.0 ? 1.0 : 0.0;
    cosines += m[0];
    sines += m[2];
    cosines_of_double += m[0] * m[0] - m[2] * m[2];
  }
  EXPECT_NEAR(reflections, kCount / 2.0, 5.0 * std::sqrt(kCount / 4.0));
  for (const double total : {cosines, sines, cosines_of_double}) {
    EXPECT_NEAR(total, 0.0, 5.0 * std::sqrt(kCount / 2.0));
  }
}

// U(-b, b): all inside, the largest close to b, variance b^2 / 3 within 5 deviations (kurtosis 9/5).
void expect_uniform(const std::vector<double>& x, double bound) {
  const double n = static_cast<double>(x.size());
  double most = 0.0, squares = 0.0, total = 0.0;
  for (const double value : x) {
    most = std::max(most, std::abs(value));
    squares += value * value;
    total += value;
  }
  const double variance = bound * bound / 3.0;
  EXPECT_LE(most, bound * (1.0 + 1e-7));
  EXPECT_GT(most, bound * (1.0 - 20.0 / n));
  EXPECT_NEAR(total / n, 0.0, 5.0 * std::sqrt(variance / n));
  EXPECT_NEAR(squares / n, variance, 5.0 * variance * std::sqrt(0.8 / n));
}

TEST(InitialValue, FansSetTheBounds) {
  const Type dense{DType::kF32, {50, 80}}, conv{DType::kF32, {32, 4, 5, 6}};
  expect_uniform(values_of(Init::uniform(0.3), dense), 0.3);
  expect_uniform(values_of(Init::kaiming_uniform(std::sqrt(2.0)), dense), std::sqrt(6.0 / 50.0));
  expect_uniform(values_of(Init::kaiming_uniform(1.0), conv), std::sqrt(3.0 / (4 * 5 * 6)));
  expect_uniform(values_of(Init::xavier_uniform(1.0), dense), std::sqrt(6.0 / (50 + 80)));
  expect_uniform(values_of(Init::xavier_uniform(2.0), conv), 2.0 * std::sqrt(6.0 / (4 * 5 * 6 + 32 * 5 * 6)));
}

TEST(InitialValue, NormalHasItsMoments) {
  const std::vector<double> x = values_of(Init::normal(3.0), {DType::kF32, {20000}});
  double total = 0.0, squares = 0.0, fourth = 0.0;
  for (const double value : x) {
    const double z = value / 3.0;
    total += z;
    squares += z * z;
    fourth += z * z * z * z;
  }
  const double n = static_cast<double>(x.size()), unit = 5.0 / std::sqrt(n);
  EXPECT_NEAR(total / n, 0.0, unit);
  EXPECT_NEAR(squares / n, 1.0, unit * std::sqrt(2.0));
  EXPECT_NEAR(fourth / n, 3.0, unit * std::sqrt(96.0));
}

TEST(InitialValue, FixedValuesInEveryDtype) {
  for (const DType dtype : ir::kAllDTypes) {
    const double one = 1.0;
    EXPECT_THAT(values_of(Init::constant(one), {dtype, {3}}), Each(1.0)) << ir::dtype_name(dtype);
    EXPECT_THAT(values_of(Init::zeros(), {dtype, {3}}), Each(0.0)) << ir::dtype_name(dtype);
  }
  EXPECT_THAT(values_of(Init::constant(0.1), {DType::kF32, {}}), ElementsAre(0.1f));
  EXPECT_TRUE(values_of(Init::normal(1.0), {DType::kF32, {0}}).empty());
}

TEST(InitialValue, DependsOnSeedAndNameAlone) {
  const Type type{DType::kF32, {8, 8}};
  for (const Init& init : {Init::normal(1.0), Init::uniform(1.0), Init::orthogonal(1.0), Init::kaiming_uniform(1.0),
                           Init::xavier_uniform(1.0)}) {
    const auto first = values_of(init, type, "pi/1/weight", 7);
    values_of(Init::normal(1.0), type, "another", 7);
    EXPECT_EQ(values_of(init, type, "pi/1/weight", 7), first);
    EXPECT_NE(values_of(init, type, "pi/2/weight", 7), first);
    EXPECT_NE(values_of(init, type, "pi/1/weight", 8), first);
    EXPECT_NE(values_of(init, type, "pi/1/weight", 7 + (std::uint64_t{1} << 32)), first);
  }
}

// Two slots of one shape must not be shifts or copies of each other: correlation of 4096 numbers within 5 deviations.
TEST(InitialValue, NamesDrawIndependently) {
  const Type type{DType::kF32, {4096}};
  const auto a = values_of(Init::normal(1.0), type, "a"), b = values_of(Init::normal(1.0), type, "b");
  double product = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) product += a[i] * b[i];
  EXPECT_NEAR(product / 4096.0, 0.0, 5.0 / 64.0);
}

TEST(InitialValue, RandomStatesHoldTheSeedAndTheirOwnStream) {
  const Type type{DType::kU32, {4}};
  const std::uint64_t seed = (std::uint64_t{5} << 32) + 9;
  const auto act = values_of(Init::random_state(), type, "rng/act", seed);
  const auto update = values_of(Init::random_state(), type, "rng/update", seed);
  for (const auto& state : {act, update}) {
    EXPECT_EQ(state[0], 9.0);
    EXPECT_EQ(state[1], 5.0);
    EXPECT_EQ(state[2], 0.0);
  }
  EXPECT_NE(act[3], update[3]);
}

TEST(InitialValue, RefusesWhatDoesNotFit) {
  const auto error_of = [](const Init& init, const Type& type) -> std::string {
    try {
      nn::initial_value(init, type, "the/slot", 1);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  for (const Init& init : {Init::orthogonal(1.0), Init::kaiming_uniform(1.0), Init::xavier_uniform(1.0)}) {
    EXPECT_THAT(error_of(init, {DType::kF32, {3}}), HasSubstr("'the/slot'"));
    EXPECT_THAT(error_of(init, {DType::kF32, {3, 3, 3}}), HasSubstr("f32[3, 3, 3]"));
  }
  EXPECT_THAT(error_of(Init::normal(1.0), {DType::kI32, {3}}), HasSubstr("i32[3]"));
  EXPECT_THAT(error_of(Init::random_state(), {DType::kU32, {3}}), HasSubstr("u32[3]"));
}

}  // namespace
}  // namespace thrt::test
