#include <thrt/ir/float16.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>

namespace thrt::ir {
namespace {

// The value of f16 bits, by the formula of IEEE 754: independent of the code's bit tricks.
double f16_value(std::uint32_t bits) {
  const double sign = (bits & 0x8000u) != 0 ? -1 : 1;
  const int exponent = static_cast<int>(bits >> 10 & 31u);
  const double fraction = bits & 1023u;
  if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

TEST(Float16, EveryHalfWidensExactly) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float wide = f16_to_f32(static_cast<std::uint16_t>(bits));
    if (std::isnan(f16_value(bits))) {
      EXPECT_TRUE(std::isnan(wide)) << bits;
    } else {
      ASSERT_EQ(wide, f16_value(bits)) << bits;
      ASSERT_EQ(std::signbit(wide), (bits & 0x8000u) != 0) << bits;
    }
  }
}

TEST(Float16, EveryHalfSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if (std::isnan(f16_value(bits))) {
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(f16_to_f32(half))))) << bits;
    } else {
      ASSERT_EQ(f32_to_f16(f16_to_f32(half)), half);
      ASSERT_EQ(f64_to_f16(f16_to_f32(half)), half);
    }
    const float brain = bf16_to_f32(half);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(brain), bits << 16);
    if (!std::isnan(brain)) {
      ASSERT_EQ(f32_to_bf16(brain), half);
      ASSERT_EQ(f64_to_bf16(brain), half);
    } else {
      ASSERT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(brain))));
    }
  }
}

// Between neighbours a and b of the target format: below the middle goes to a, above to b, the middle to the even one.
TEST(Float16, MiddlesGoToEven) {
  for (std::uint32_t bits = 0; bits < 0x7BFFu; ++bits) {
    const double a = f16_value(bits), b = f16_value(bits + 1), middle = (a + b) / 2;
    const auto even = static_cast<std::uint16_t>(bits + (bits & 1u));
    ASSERT_EQ(f32_to_f16(static_cast<float>(middle)), even) << bits;  // 12 bits: exact in f32
    ASSERT_EQ(f64_to_f16(middle), even) << bits;
    ASSERT_EQ(f64_to_f16(std::nextafter(middle, 0.0)), bits) << bits;
    ASSERT_EQ(f64_to_f16(std::nextafter(middle, INFINITY)), bits + 1) << bits;
    ASSERT_EQ(f64_to_f16(std::nextafter(-middle, -INFINITY)), (bits + 1) | 0x8000u) << bits;
  }
  for (std::uint32_t bits = 0; bits < 0x7F7Fu; ++bits) {
    const double a = bf16_to_f32(static_cast<std::uint16_t>(bits)),
                 b = bf16_to_f32(static_cast<std::uint16_t>(bits + 1));
    const double middle = (a + b) / 2;
    const auto even = static_cast<std::uint16_t>(bits + (bits & 1u));
    ASSERT_EQ(f32_to_bf16(static_cast<float>(middle)), even) << bits;
    ASSERT_EQ(f64_to_bf16(middle), even) << bits;
    ASSERT_EQ(f64_to_bf16(std::nextafter(middle, 0.0)), bits) << bits;
    ASSERT_EQ(f64_to_bf16(std::nextafter(middle, INFINITY)), bits + 1) << bits;
  }
}

TEST(Float16, LimitsAndSpecialValues) {
  EXPECT_EQ(f32_to_f16(65504.0f), 0x7BFF);
  EXPECT_EQ(f32_to_f16(65519.996f), 0x7BFF);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7C00);  // the middle to 65536, which f16 lacks
  EXPECT_EQ(f32_to_f16(-INFINITY), 0xFC00);
  EXPECT_EQ(f32_to_f16(0x1p-25f), 0);  // ties to zero, which is even
  EXPECT_EQ(f32_to_f16(std::nextafter(0x1p-25f, 1.0f)), 1);
  EXPECT_EQ(f32_to_f16(-0.0f), 0x8000);
  EXPECT_EQ(f32_to_bf16(INFINITY), 0x7F80);
  EXPECT_EQ(f32_to_bf16(3.4028234e38f), 0x7F80);
  EXPECT_EQ(f64_to_bf16(1e300), 0x7F80);
  EXPECT_EQ(f64_to_f16(-1e300), 0xFC00);
  EXPECT_EQ(f64_to_f16(1e-300), 0);
  EXPECT_TRUE(std::isnan(f16_to_f32(f64_to_f16(NAN))));
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::bit_cast<float>(0x7F800001u)))));
}

#if defined(__FLT16_MANT_DIG__) && defined(__GNUC__) && !defined(__clang__)
__extension__ typedef _Float16 CompilersHalf;

TEST(Float16, EqualsTheCompilersConversion) {
  std::mt19937 random(1);
  for (int i = 0; i < 2'000'000; ++i) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isnan(value)) continue;
    const auto half = static_cast<CompilersHalf>(value);
    std::uint16_t bits = 0;
    std::memcpy(&bits, &half, sizeof bits);
    ASSERT_EQ(f32_to_f16(value), bits) << value;
  }
}
#endif

}  // namespace
}  // namespace thrt::ir
