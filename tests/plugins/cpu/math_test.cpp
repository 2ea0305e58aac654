// The f32 functions against f64 ones, over all of f32: errors in units in the last place, special values, same bits on
// all levels.
#include "kernel_levels.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace thrt::cpu {
namespace {

using ir::DType;
using ir::OpKind;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<float> apply(const Kernels& kernels, OpKind kind, const std::vector<float>& x) {
  std::vector<float> y(x.size());
  const ElementwiseFn run = kernels.elementwise(kind, DType::kF32, DType::kF32, ScalarOperand::kNone);
  run(y.data(), x.data(), nullptr, nullptr, static_cast<std::int64_t>(x.size()));
  return y;
}

std::vector<float> apply(const Kernels& kernels, OpKind kind, const std::vector<float>& x,
                         const std::vector<float>& z) {
  std::vector<float> y(x.size());
  const ElementwiseFn run = kernels.elementwise(kind, DType::kF32, DType::kF32, ScalarOperand::kNone);
  run(y.data(), x.data(), z.data(), nullptr, static_cast<std::int64_t>(x.size()));
  return y;
}

// Distance in units of the last place of `exact` as an f32, denormals included.
double ulps(float got, double exact) {
  const auto rounded = static_cast<float>(exact);
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0.0 : 1e30;
  if (std::isinf(rounded) || std::isinf(got)) {
    if (rounded == got) return 0.0;
    // Just below the overflow threshold a result may already be infinite, and the other way round.
    return std::fabs(exact) > 0x1.fffffp127 ? 0.0 : 1e30;
  }
  const int exponent = exact == 0.0 ? -149 : std::max(std::ilogb(exact) - 23, -149);
  return std::fabs(static_cast<double>(got) - exact) / std::ldexp(1.0, exponent);
}

// Every 2003rd bit pattern: 2.1 million floats of all signs and magnitudes, NaN and infinities left out.
const std::vector<float>& all_of_f32() {
  static const std::vector<float> values = [] {
    std::vector<float> list;
    for (std::uint64_t bits = 0; bits <= 0xffffffffu; bits += 2003) {
      const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      if (std::isfinite(x)) list.push_back(x);
    }
    return list;
  }();
  return values;
}

// Evenly in [low, high].
std::vector<float> dense(double low, double high) {
  std::vector<float> list;
  constexpr int kCount = 400001;
  for (int i = 0; i < kCount; ++i) list.push_back(static_cast<float>(low + (high - low) * i / (kCount - 1)));
  return list;
}

void expect_within(OpKind kind, double (*exact)(double), double low, double high, double bound) {
  for (const Kernels* kernels : all_levels()) {
    for (const auto& values : {all_of_f32(), dense(low, high)}) {
      const std::vector<float> got = apply(*kernels, kind, values);
      double worst = 0;
      float at = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double error = ulps(got[i], exact(static_cast<double>(values[i])));
        if (error > worst) {
          worst = error;
          at = values[i];
        }
      }
      EXPECT_LE(worst, bound) << ir::op_info(kind).name << " on " << kernels->level << " at " << at;
      ::testing::Test::RecordProperty(std::string(ir::op_info(kind).name) + "_ulps", std::to_string(worst));
    }
  }
}

double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

TEST(CpuMath, ErrorsStayWithinTheContract) {
  expect_within(OpKind::EXP, std::exp, -110, 90, 8);
  expect_within(OpKind::LOG, std::log, 0.5, 2, 8);
  expect_within(OpKind::LOG1P, std::log1p, -1, 1, 8);
  expect_within(OpKind::TANH, std::tanh, -10, 10, 8);
  expect_within(OpKind::SIGMOID, sigmoid, -104, 20, 8);
  expect_within(OpKind::ERF, std::erf, -5, 5, 16);
  expect_within(OpKind::SQRT, std::sqrt, 0, 4, 0.5);
  expect_within(OpKind::FLOOR, std::floor, -100, 100, 0);
  expect_within(OpKind::ROUND, std::nearbyint, -100, 100, 0);
}

TEST(CpuMath, SineAndCosine) {
  for (const Kernels* kernels : all_levels()) {
    for (const OpKind kind : {OpKind::SIN, OpKind::COS}) {
      for (const auto& values : {all_of_f32(), dense(-7, 7), dense(-10000, 10000)}) {
        const std::vector<float> got = apply(*kernels, kind, values);
        for (std::size_t i = 0; i < values.size(); ++i) {
          const double x = static_cast<double>(values[i]);
          ASSERT_TRUE(got[i] >= -1.0f && got[i] <= 1.0f) << x;
          if (std::fabs(x) > 1e4) continue;
          const double exact = kind == OpKind::SIN ? std::sin(x) : std::cos(x);
          ASSERT_TRUE(ulps(got[i], exact) <= 8 || std::fabs(static_cast<double>(got[i]) - exact) <= 0x1p-21)
              << ir::op_info(kind).name << "(" << x << ") = " << got[i] << " on " << kernels->level;
        }
      }
    }
  }
}

struct Special {
  OpKind kind;
  float x, y;
};

TEST(CpuMath, SpecialValues) {
  const float denormal = 1e-42f;
  const Special cases[] = {
      {OpKind::EXP, kInf, kInf},     {OpKind::EXP, -kInf, 0.0f},     {OpKind::EXP, 1000.0f, kInf},
      {OpKind::EXP, -1000.0f, 0.0f}, {OpKind::EXP, 0.0f, 1.0f},      {OpKind::EXP, -0.0f, 1.0f},
      {OpKind::EXP, kNaN, kNaN},     {OpKind::LOG, 0.0f, -kInf},     {OpKind::LOG, -0.0f, -kInf},
      {OpKind::LOG, -1.0f, kNaN},    {OpKind::LOG, -denormal, kNaN}, {OpKind::LOG, -kInf, kNaN},
      {OpKind::LOG, kInf, kInf},     {OpKind::LOG, kNaN, kNaN},      {OpKind::LOG, 1.0f, 0.0f},
      {OpKind::LOG1P, -1.0f, -kInf}, {OpKind::LOG1P, -1.5f, kNaN},   {OpKind::LOG1P, kInf, kInf},
      {OpKind::LOG1P, -kInf, kNaN},  {OpKind::LOG1P, kNaN, kNaN},    {OpKind::LOG1P, -0.0f, -0.0f},
      {OpKind::TANH, kInf, 1.0f},    {OpKind::TANH, -kInf, -1.0f},   {OpKind::TANH, 1e30f, 1.0f},
      {OpKind::TANH, -1e30f, -1.0f}, {OpKind::TANH, -0.0f, -0.0f},   {OpKind::TANH, kNaN, kNaN},
      {OpKind::SIGMOID, kInf, 1.0f}, {OpKind::SIGMOID, -kInf, 0.0f}, {OpKind::SIGMOID, 0.0f, 0.5f},
      {OpKind::SIGMOID, kNaN, kNaN}, {OpKind::ERF, kInf, 1.0f},      {OpKind::ERF, -kInf, -1.0f},
      {OpKind::ERF, -0.0f, -0.0f},   {OpKind::ERF, kNaN, kNaN},      {OpKind::SQRT, -1.0f, kNaN},
      {OpKind::SQRT, -0.0f, -0.0f},  {OpKind::SQRT, kInf, kInf},     {OpKind::SQRT, kNaN, kNaN},
      {OpKind::FLOOR, -0.5f, -1.0f}, {OpKind::FLOOR, -0.0f, -0.0f},  {OpKind::FLOOR, kInf, kInf},
      {OpKind::FLOOR, kNaN, kNaN},   {OpKind::FLOOR, 1e20f, 1e20f},  {OpKind::ROUND, 0.5f, 0.0f},
      {OpKind::ROUND, 1.5f, 2.0f},   {OpKind::ROUND, 2.5f, 2.0f},    {OpKind::ROUND, -0.5f, -0.0f},
      {OpKind::ROUND, -kInf, -kInf}, {OpKind::ROUND, kNaN, kNaN},    {OpKind::SIGN, kNaN, kNaN},
      {OpKind::SIGN, -0.0f, -0.0f},  {OpKind::SIGN, 0.0f, 0.0f},     {OpKind::SIGN, -denormal, -1.0f},
      {OpKind::SIGN, kInf, 1.0f},    {OpKind::NEG, 0.0f, -0.0f},     {OpKind::NEG, kInf, -kInf},
      {OpKind::NEG, kNaN, kNaN},     {OpKind::ABS, -0.0f, 0.0f},     {OpKind::ABS, -kInf, kInf},
      {OpKind::ABS, kNaN, kNaN},     {OpKind::SIN, -0.0f, -0.0f},    {OpKind::SIN, kNaN, kNaN},
      {OpKind::COS, 0.0f, 1.0f},     {OpKind::COS, kNaN, kNaN},
  };
  for (const Kernels* kernels : all_levels()) {
    for (const Special& each : cases) {
      // Alone, and amid a vector: the two take different code paths.
      for (const std::size_t count : {std::size_t{1}, std::size_t{37}}) {
        for (const float y : apply(*kernels, each.kind, std::vector<float>(count, each.x))) {
          if (std::isnan(each.y)) {
            ASSERT_TRUE(std::isnan(y)) << ir::op_info(each.kind).name << "(" << each.x << ") on " << kernels->level;
          } else {
            ASSERT_EQ(std::bit_cast<std::uint32_t>(y), std::bit_cast<std::uint32_t>(each.y))
                << ir::op_info(each.kind).name << "(" << each.x << ") = " << y << " on " << kernels->level;
          }
        }
      }
    }
  }
}

// What 1 - tanh(x)^2 is computed from.
TEST(CpuMath, TanhStaysWithinOne) {
  for (const Kernels* kernels : all_levels()) {
    for (const auto& values : {all_of_f32(), dense(2, 10)}) {
      const std::vector<float> got = apply(*kernels, OpKind::TANH, values);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const float least = std::fabs(values[i]) > 9.1f ? 1.0f : 0.0f, size = std::fabs(got[i]);
        ASSERT_TRUE(size >= least && size <= 1.0f) << values[i] << " on " << kernels->level;
      }
    }
  }
}

TEST(CpuMath, DenormalsAreKept) {
  for (const Kernels* kernels : all_levels()) {
    EXPECT_EQ(apply(*kernels, OpKind::ADD, {1e-42f}, {2e-42f})[0], 1e-42f + 2e-42f);
    EXPECT_NEAR(apply(*kernels, OpKind::LOG, {1e-42f})[0], std::log(static_cast<double>(1e-42f)), 1e-5);
    EXPECT_GT(apply(*kernels, OpKind::EXP, {-100.0f})[0], 0.0f);
    EXPECT_GT(apply(*kernels, OpKind::SIGMOID, {-100.0f})[0], 0.0f);
    EXPECT_EQ(apply(*kernels, OpKind::TANH, {1e-42f})[0], 1e-42f);
  }
}

TEST(CpuMath, PowAndRemAreThoseOfC) {
  const std::vector<float> values = {0.0f,  -0.0f,   1.0f, -1.0f, 0.5f,  -2.0f, 3.0f,
                                     1e30f, -1e-30f, 2.5f, kInf,  -kInf, kNaN};
  std::vector<float> x, y;
  for (const float a : values) {
    for (const float b : values) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  for (const Kernels* kernels : all_levels()) {
    const std::vector<float> powers = apply(*kernels, OpKind::POW, x, y), rests = apply(*kernels, OpKind::REM, x, y);
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_LE(ulps(powers[i], std::pow(static_cast<double>(x[i]), static_cast<double>(y[i]))), 16)
          << x[i] << " " << y[i];
      EXPECT_EQ(ulps(rests[i], std::fmod(static_cast<double>(x[i]), static_cast<double>(y[i]))), 0)
          << x[i] << " " << y[i];
    }
  }
}

TEST(CpuMath, NanGoesThroughMaxAndMin) {
  for (const Kernels* kernels : all_levels()) {
    for (const OpKind kind : {OpKind::MAX, OpKind::MIN}) {
      const std::vector<float> got = apply(*kernels, kind, {kNaN, 1.0f, kNaN, -kInf}, {1.0f, kNaN, kNaN, kInf});
      EXPECT_TRUE(std::isnan(got[0]) && std::isnan(got[1]) && std::isnan(got[2]));
      EXPECT_EQ(got[3], kind == OpKind::MAX ? kInf : -kInf);
    }
  }
}

TEST(CpuMath, SameBitsOnAllLevelsAndAtAllPositions) {
  const OpKind kinds[] = {OpKind::EXP, OpKind::LOG,  OpKind::LOG1P, OpKind::TANH, OpKind::SIGMOID,
                          OpKind::ERF, OpKind::SIN,  OpKind::COS,   OpKind::SQRT, OpKind::FLOOR,
                          OpKind::NEG, OpKind::SIGN, OpKind::ROUND, OpKind::ABS};
  const std::vector<float>& values = all_of_f32();
  for (const OpKind kind : kinds) {
    const std::vector<float> first = apply(*all_levels()[0], kind, values);
    for (const Kernels* kernels : all_levels()) {
      // Shifted by one element, so that every element meets another lane.
      const std::vector<float> shifted(values.begin() + 1, values.end());
      const std::vector<float> got = apply(*kernels, kind, shifted);
      for (std::size_t i = 0; i < got.size(); ++i) {
        if (std::isnan(first[i + 1])) continue;
        ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(first[i + 1]))
            << ir::op_info(kind).name << "(" << shifted[i] << ") on " << kernels->level;
      }
    }
  }
}

}  // namespace
}  // namespace thrt::cpu
