// The functions of thrt/emit/math.hpp against f64 ones, over all of f32, on devices as exact and as inexact as Vulkan
// allows. THRUST_TEST_EVERY_FLOAT=1 takes every number where the functions are not trivial, for an hour.
#include "math_functions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace thrt::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr double kNormalMin = 0x1p-126;

const MathFunctions& functions() {
  static const MathFunctions compiled(THRT_TEST_CXX, THRT_TEST_FOLDER);
  return compiled;
}

constexpr GlslDevice kDevices[] = {{0, 0, false}, {2, 2, false}, {-2, -2, false}, {2, -2, true}};

// How far off a result is, in units in the last place of the exact one, and which numbers it was off for.
struct Error {
  double ulps = 0;
  float x = 0, y = 0;
};

bool is_denormal(double value) {
  return value != 0.0 && std::fabs(value) < kNormalMin;
}

// For infinity stands 2^128, which is where f32 would go on.
double ulps(float got, double exact) {
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0.0 : 1e30;
  const auto same_sign = std::signbit(got) == std::signbit(exact);
  if (!same_sign || std::isinf(exact) || exact == 0.0)
    return same_sign && static_cast<double>(got) == exact ? 0.0 : 1e30;
  if (got == 0.0f && is_denormal(exact) && functions().device().flushes) return 0.0;
  const double wide = std::isinf(got) ? 0x1p128 : std::fabs(static_cast<double>(got));
  const double size = std::min(std::fabs(exact), 0x1p128);
  const auto exponent = static_cast<int>(std::bit_cast<std::uint64_t>(size) >> 52) - 1023;
  const auto unit = static_cast<std::uint64_t>(std::clamp(exponent, -126, 127) - 23 + 1023) << 52;
  return std::fabs(wide - size) / std::bit_cast<double>(unit);
}

double sigmoid(double x) {
  return x < 0 ? std::exp(x) / (1.0 + std::exp(x)) : 1.0 / (1.0 + std::exp(-x));
}

struct Function {
  const char* name;
  double (*exact)(double);
  double bound;  // ops.def's, or less
  float from,
      to;  // the magnitudes for which neither is the function its argument or a constant, nor does it repeat itself
};
constexpr Function kFunctions[] = {
    {"exp", std::exp, 8, 0x1p-26f, 105},
    {"sigmoid", sigmoid, 8, 0x1p-26f, 105},
    {"tanh", std::tanh, 8, 0x1p-14f, 9.5f},
    {"erf", std::erf, 16, 0x1p-14f, 4.5f},
    {"log", std::log, 8, 0x1p-4f, 16},
    {"log1p", std::log1p, 8, 0x1p-26f, 0x1p27f},
    {"sqrt", std::sqrt, 3, 1, 4},
    {"floor", std::floor, 0, 0x1p-1f, 4},
    {"round", std::nearbyint, 0, 0x1p-2f, 4},
};

bool every_float() {
  return std::getenv("THRUST_TEST_EVERY_FLOAT") != nullptr;
}

// Calls visit(x, result) for numbers all over f32, NaN and infinities too, and for many of magnitudes in [from, to].
template <typename Visit>
void for_floats(MathFunctions::Unary run, float from, float to, Visit&& visit) {
  std::vector<float> x, y;
  const auto flush = [&] {
    y.resize(x.size());
    run(x.data(), y.data(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) visit(x[i], y[i]);
    x.clear();
  };
  const auto add = [&](std::uint32_t bits) {
    x.push_back(std::bit_cast<float>(bits));
    if (x.size() == 65536) flush();
  };
  for (std::uint64_t bits = 0; bits <= 0xffffffffu; bits += 10007) add(static_cast<std::uint32_t>(bits));
  const auto first = std::bit_cast<std::uint32_t>(from), last = std::bit_cast<std::uint32_t>(to);
  const std::uint32_t step = every_float() ? 1 : (last - first) / 200000 | 1;
  for (std::uint32_t bits = first; bits <= last; bits += step) {
    add(bits);
    add(bits | 0x80000000u);
  }
  // Around every power of two, and what the functions change at.
  for (std::uint32_t exponent = 0; exponent <= 255; ++exponent) {
    for (int d = -40; d <= 40; ++d) {
      for (const std::uint32_t sign : {0u, 0x80000000u})
        add((((exponent << 23) + static_cast<std::uint32_t>(d)) & 0x7fffffffu) | sign);
    }
  }
  for (const float center : {88.722835f, 89.0f, 87.33654f, 0.70710678f, 1.41421356f, 8.8f, 3.92f, 0.34657359f}) {
    for (int d = -2000; d <= 2000; ++d) {
      for (const std::uint32_t sign : {0u, 0x80000000u})
        add((std::bit_cast<std::uint32_t>(center) + static_cast<std::uint32_t>(d)) | sign);
    }
  }
  flush();
}

std::string shown(const GlslDevice& device) {
  return std::string("division ") + std::to_string(device.division_ulps) + ", inversesqrt " +
         std::to_string(device.inversesqrt_ulps) + (device.flushes ? ", flushes" : "");
}

TEST(EmitMath, ErrorsStayWithinTheContract) {
  for (const GlslDevice& device : kDevices) {
    functions().device() = device;
    for (const Function& f : kFunctions) {
      Error worst;
      for_floats(functions().unary(f.name), f.from, f.to, [&](float x, float y) {
        double error = ulps(y, f.exact(static_cast<double>(x)));
        if (error > worst.ulps && device.flushes && is_denormal(static_cast<double>(x)))
          error = std::min(error, ulps(y, f.exact(std::copysign(0.0, static_cast<double>(x)))));
        if (error > worst.ulps) worst = {error, x, 0};
      });
      EXPECT_LE(worst.ulps, f.bound) << f.name << "(" << worst.x << "), " << shown(device);
      std::printf("%-8s %6.3f ulps at %.9g; %s\n", f.name, worst.ulps, static_cast<double>(worst.x),
                  shown(device).c_str());
    }
  }
}

TEST(EmitMath, SineAndCosine) {
  for (const GlslDevice& device : {kDevices[0], kDevices[3]}) {
    functions().device() = device;
    for (const std::string name : {"sin", "cos"}) {
      double worst = 0, worst_to_1e5 = 0, worst_small = 0;
      for_floats(functions().unary(name), 0x1p-13f, 1e5f, [&](float x, float y) {
        if (!std::isfinite(x)) {
          ASSERT_TRUE(std::isnan(y)) << name << x;
          return;
        }
        ASSERT_TRUE(std::fabs(y) <= 1.0f) << name << "(" << x << ") = " << y;
        const double wide = static_cast<double>(x), exact = name == "sin" ? std::sin(wide) : std::cos(wide);
        const double error = std::fabs(static_cast<double>(y) - exact);
        if (std::fabs(x) <= 1e5f) worst_to_1e5 = std::max(worst_to_1e5, error);
        if (std::fabs(x) > 1e4f) return;
        worst = std::max(worst, error);
        if (std::fabs(x) > 0.7f) return;
        const bool flushed = device.flushes && is_denormal(wide) && y == (name == "sin" ? 0.0f : 1.0f);
        if (!flushed) worst_small = std::max(worst_small, ulps(y, exact));
      });
      EXPECT_LE(worst, 0x1p-22) << name;
      EXPECT_LE(worst_to_1e5, 0x1p-22) << name;
      EXPECT_LE(worst_small, 2) << name;
      std::printf("%-8s 2^%.2f to 1e4, 2^%.2f to 1e5, %.3f ulps to 0.7; %s\n", name.c_str(), std::log2(worst),
                  std::log2(worst_to_1e5), worst_small, shown(device).c_str());
    }
  }
}

// Pairs of all magnitudes, of few, near 1, whole numbers, and of special values.
std::vector<std::pair<float, float>> pairs(std::size_t count) {
  std::mt19937 random(11);
  std::vector<std::pair<float, float>> list;
  const auto any = [&] { return std::bit_cast<float>(static_cast<std::uint32_t>(random())); };
  const auto between = [&](double low, double high) {
    return static_cast<float>(low + (high - low) * (static_cast<double>(random()) / 4294967295.0));
  };
  for (std::size_t i = 0; i < count; ++i) {
    list.emplace_back(any(), any());
    list.emplace_back(between(0, 10), between(-40, 40));
    const float near_one =
        std::bit_cast<float>(0x3f800000u + static_cast<std::uint32_t>(static_cast<int>(between(-3000, 3000))));
    list.emplace_back(near_one, std::ldexp(between(-1, 1), static_cast<int>(between(10, 34))));
    list.emplace_back(between(-50, 50), static_cast<float>(static_cast<int>(between(-30, 30))));
    // Powers all over the range of results, where the logarithm must be most exact.
    const float base = std::fabs(any()), goal = between(-127, 129);
    list.emplace_back(base, static_cast<float>(static_cast<double>(goal) / std::log2(static_cast<double>(base))));
    // Quotients near whole numbers, and exponents far apart.
    const float divisor = any();
    list.emplace_back(divisor * static_cast<float>(static_cast<int>(between(-1000, 1000))), divisor);
    list.emplace_back(std::ldexp(between(1, 2), 127), std::ldexp(between(1, 2), static_cast<int>(between(-149, 127))));
  }
  const float special[] = {0.0f,
                           1.0f,
                           0.5f,
                           2.0f,
                           3.0f,
                           0x1.fffffep-1f,
                           0x1.000002p0f,
                           1.5f,
                           1e-40f,
                           1e-45f,
                           1e30f,
                           0x1p126f,
                           0x1.8p126f,
                           0x1p-126f,
                           16777216.0f,
                           16777215.0f,
                           0x1p23f,
                           8388609.0f,
                           0x1p32f,
                           0x1p31f,
                           std::numeric_limits<float>::max(),
                           kInf,
                           kNaN,
                           4194304.5f,
                           0x1.fffffcp-127f};
  for (const float x : special) {
    for (const float y : special) {
      for (const float a : {x, -x}) {
        for (const float b : {y, -y}) list.emplace_back(a, b);
      }
    }
  }
  return list;
}

struct BinaryFunction {
  const char* name;
  double (*exact)(double, double);
  double bound;
};
double quotient(double x, double y) {
  return x / y;
}
constexpr BinaryFunction kBinaryFunctions[] = {{"div", quotient, 3}, {"pow", std::pow, 16}, {"fmod", std::fmod, 0}};

TEST(EmitMath, FunctionsOfTwoValues) {
  const auto list = pairs(every_float() ? 5000000 : 60000);
  std::vector<float> x, y, got(list.size());
  for (const auto& [a, b] : list) {
    x.push_back(a);
    y.push_back(b);
  }
  for (const GlslDevice& device : kDevices) {
    functions().device() = device;
    for (const BinaryFunction& f : kBinaryFunctions) {
      functions().binary(f.name)(x.data(), y.data(), got.data(), x.size());
      Error worst;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double a = static_cast<double>(x[i]), b = static_cast<double>(y[i]);
        double error = ulps(got[i], f.exact(a, b));
        if (error > worst.ulps && device.flushes) {
          const double a0 = is_denormal(a) ? std::copysign(0.0, a) : a, b0 = is_denormal(b) ? std::copysign(0.0, b) : b;
          for (const double to : {f.exact(a0, b), f.exact(a, b0), f.exact(a0, b0)})
            error = std::min(error, ulps(got[i], to));
        }
        if (error > worst.ulps) worst = {error, x[i], y[i]};
      }
      EXPECT_LE(worst.ulps, f.bound) << f.name << "(" << worst.x << ", " << worst.y << "), " << shown(device);
      std::printf("%-8s %6.3f ulps at %.9g, %.9g; %s\n", f.name, worst.ulps, static_cast<double>(worst.x),
                  static_cast<double>(worst.y), shown(device).c_str());
    }
  }
}

}  // namespace
}  // namespace thrt::testing
