// Casts, integer arithmetic, sums and random words on every instruction-set level, against plain loops.
#include "kernel_levels.hpp"

#include <thrt/philox.h>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace thrt::cpu {
namespace {

using ir::DType;
using ir::OpKind;

template <class To, class From>
std::vector<To> cast(const Kernels& kernels, DType from, DType to, const std::vector<From>& x) {
  std::vector<To> y(x.size());
  kernels.elementwise(OpKind::CAST, from, to, ScalarOperand::kNone)(y.data(), x.data(), nullptr, nullptr,
                                                                    static_cast<std::int64_t>(x.size()));
  return y;
}

template <class T>
std::vector<T> repeated(std::vector<T> x) {
  const std::vector<T> once = x;
  for (int i = 0; i < 4; ++i) x.insert(x.end(), once.begin(), once.end());
  return x;
}

template <class T>
void expect_repeated(const std::vector<T>& got, const std::vector<T>& once, const char* level) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i], once[i % once.size()]) << "element " << i % once.size() << " on " << level;
  }
}

TEST(CpuCast, FloatsToIntegersTruncateAndClamp) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x = {0.0f,  -0.0f,         1.9f, -1.9f,         255.5f,         256.0f,
                                -1.0f, 2147483520.0f, 3e9f, 2147483648.0f, -2147483648.0f, -3e9f,
                                5e9f,  inf,           -inf, nan,           1e-42f,         4294967040.0f};
  const std::vector<std::int32_t> i32 = {0,
                                         0,
                                         1,
                                         -1,
                                         255,
                                         256,
                                         -1,
                                         2147483520,
                                         2147483647,
                                         2147483647,
                                         -2147483647 - 1,
                                         -2147483647 - 1,
                                         2147483647,
                                         2147483647,
                                         -2147483647 - 1,
                                         0,
                                         0,
                                         2147483647};
  const std::vector<std::uint32_t> u32 = {0,           0,           1,           0,           255, 256,
                                          0,           2147483520u, 3000000000u, 2147483648u, 0,   0,
                                          4294967295u, 4294967295u, 0,           0,           0,   4294967040u};
  const std::vector<std::uint8_t> u8 = {0, 0, 1, 0, 255, 255, 0, 255, 255, 255, 0, 0, 255, 255, 0, 0, 0, 255};
  const std::vector<std::uint8_t> boolean = {0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  for (const Kernels* k : all_levels()) {
    expect_repeated(cast<std::int32_t>(*k, DType::kF32, DType::kI32, repeated(x)), i32, k->level);
    expect_repeated(cast<std::uint32_t>(*k, DType::kF32, DType::kU32, repeated(x)), u32, k->level);
    expect_repeated(cast<std::uint8_t>(*k, DType::kF32, DType::kU8, repeated(x)), u8, k->level);
    expect_repeated(cast<std::uint8_t>(*k, DType::kF32, DType::kBool, repeated(x)), boolean, k->level);
  }
}

TEST(CpuCast, IntegersTakeTheLowBits) {
  const std::vector<std::int32_t> x = {0, 1, -1, 255, 256, 257, -257, 2147483647, -2147483647 - 1, 16777217};
  for (const Kernels* k : all_levels()) {
    expect_repeated(cast<std::uint8_t>(*k, DType::kI32, DType::kU8, repeated(x)),
                    std::vector<std::uint8_t>{0, 1, 255, 255, 0, 1, 255, 255, 0, 1}, k->level);
    expect_repeated(
        cast<std::uint32_t>(*k, DType::kI32, DType::kU32, repeated(x)),
        std::vector<std::uint32_t>{0, 1, 4294967295u, 255, 256, 257, 4294967039u, 2147483647u, 2147483648u, 16777217u},
        k->level);
    expect_repeated(cast<float>(*k, DType::kI32, DType::kF32, repeated(x)),
                    std::vector<float>{0, 1, -1, 255, 256, 257, -257, 2147483648.0f, -2147483648.0f, 16777216.0f},
                    k->level);
    expect_repeated(cast<std::uint8_t>(*k, DType::kI32, DType::kBool, repeated(x)),
                    std::vector<std::uint8_t>{0, 1, 1, 1, 1, 1, 1, 1, 1, 1}, k->level);
    expect_repeated(
        cast<float>(*k, DType::kU32, DType::kF32, repeated(std::vector<std::uint32_t>{0, 4294967295u, 3000000000u})),
        std::vector<float>{0, 4294967296.0f, 3000000000.0f}, k->level);
    expect_repeated(cast<float>(*k, DType::kBool, DType::kF32, repeated(std::vector<std::uint8_t>{0, 1})),
                    std::vector<float>{0, 1}, k->level);
    expect_repeated(cast<std::int32_t>(*k, DType::kU8, DType::kI32, repeated(std::vector<std::uint8_t>{0, 200, 255})),
                    std::vector<std::int32_t>{0, 200, 255}, k->level);
  }
}

// The value of an IEEE half, by its definition.
double half_value(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 31) return mantissa != 0 ? std::nan("") : sign * HUGE_VAL;
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

TEST(CpuCast, HalvesBothWays) {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  for (const Kernels* k : all_levels()) {
    const std::vector<float> wide = cast<float>(*k, DType::kF16, DType::kF32, all);
    const std::vector<std::uint16_t> back = cast<std::uint16_t>(*k, DType::kF32, DType::kF16, wide);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double exact = half_value(all[i]);
      if (std::isnan(exact)) {
        ASSERT_TRUE(std::isnan(wide[i]) && std::isnan(half_value(back[i]))) << i;
      } else {
        ASSERT_EQ(static_cast<double>(wide[i]), exact) << i;
        ASSERT_EQ(back[i], all[i]) << i;
      }
    }
    // Between two neighbours: the nearer one, the even one when both are as near.
    std::vector<float> middles, above, below;
    std::vector<std::uint16_t> even, upper, lower;
    for (std::uint16_t bits = 0; bits < 0x7bff; ++bits) {
      const auto middle = static_cast<float>((half_value(bits) + half_value(static_cast<std::uint16_t>(bits + 1))) / 2);
      middles.push_back(middle);
      above.push_back(std::nextafter(middle, 1e9f));
      below.push_back(std::nextafter(middle, 0.0f));
      even.push_back(static_cast<std::uint16_t>(bits + (bits & 1)));
      upper.push_back(static_cast<std::uint16_t>(bits + 1));
      lower.push_back(bits);
    }
    EXPECT_EQ(cast<std::uint16_t>(*k, DType::kF32, DType::kF16, middles), even) << k->level;
    EXPECT_EQ(cast<std::uint16_t>(*k, DType::kF32, DType::kF16, above), upper) << k->level;
    EXPECT_EQ(cast<std::uint16_t>(*k, DType::kF32, DType::kF16, below), lower) << k->level;
    EXPECT_EQ(
        (cast<std::uint16_t>(*k, DType::kF32, DType::kF16, std::vector<float>{65519.0f, 65520.0f, -1e30f, 2.0e-8f})),
        (std::vector<std::uint16_t>{0x7bff, 0x7c00, 0xfc00, 0}));
  }
}

TEST(CpuCast, BfloatsBothWays) {
  for (const Kernels* k : all_levels()) {
    const std::vector<std::uint16_t> x = {0x0000, 0x8000, 0x3f80, 0xc049, 0x7f80, 0xff80, 0x0001, 0x7f7f};
    std::vector<std::uint32_t> bits;
    for (const float f : cast<float>(*k, DType::kBF16, DType::kF32, x)) bits.push_back(std::bit_cast<std::uint32_t>(f));
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(bits[i], static_cast<std::uint32_t>(x[i]) << 16);
    std::vector<float> y;
    for (const std::uint32_t b : {0x3f808000u, 0x3f818000u, 0x3f808001u, 0x3f807fffu, 0x7f7fffffu, 0x7fc00001u}) {
      y.push_back(std::bit_cast<float>(b));
    }
    const std::vector<std::uint16_t> got = cast<std::uint16_t>(*k, DType::kF32, DType::kBF16, y);
    EXPECT_EQ(std::vector<std::uint16_t>(got.begin(), got.begin() + 5),
              (std::vector<std::uint16_t>{0x3f80, 0x3f82, 0x3f81, 0x3f80, 0x7f80}));
    EXPECT_TRUE((got[5] & 0x7f80) == 0x7f80 && (got[5] & 0x7f) != 0);
    // 2^24 + 2^16 + 1 lies above the middle of two bfloats; through f32 it would round to that middle and then to even.
    EXPECT_EQ((cast<std::uint16_t>(*k, DType::kI32, DType::kBF16,
                                   std::vector<std::int32_t>{16777216 + 65536 + 1, -16842753})),
              (std::vector<std::uint16_t>{0x4b81, 0xcb81}));
  }
}

template <class T>
std::vector<T> binary(const Kernels& kernels, OpKind kind, DType dtype, const std::vector<T>& x,
                      const std::vector<T>& y) {
  std::vector<T> z(x.size());
  kernels.elementwise(kind, dtype, dtype, ScalarOperand::kNone)(z.data(), x.data(), y.data(), nullptr,
                                                                static_cast<std::int64_t>(x.size()));
  return z;
}

TEST(CpuIntegers, WrapAndDivideAsTheContractSays) {
  constexpr std::int32_t kLow = std::numeric_limits<std::int32_t>::min(),
                         kHigh = std::numeric_limits<std::int32_t>::max();
  using Ints = std::vector<std::int32_t>;
  using Words = std::vector<std::uint32_t>;
  for (const Kernels* k : all_levels()) {
    const DType i = DType::kI32, u = DType::kU32;
    EXPECT_EQ(binary(*k, OpKind::ADD, i, Ints{kHigh, 5}, Ints{1, -7}), (Ints{kLow, -2}));
    EXPECT_EQ(binary(*k, OpKind::MUL, i, Ints{kLow, 65536}, Ints{-1, 65536}), (Ints{kLow, 0}));
    EXPECT_EQ(binary(*k, OpKind::DIV, i, Ints{7, -7, 7, kLow, 3}, Ints{2, 2, -2, -1, 0}), (Ints{3, -3, -3, kLow, 0}));
    EXPECT_EQ(binary(*k, OpKind::REM, i, Ints{7, -7, 7, kLow, 3}, Ints{2, 2, -2, -1, 0}), (Ints{1, -1, 1, 0, 0}));
    EXPECT_EQ(binary(*k, OpKind::DIV, u, Words{7, 4294967295u, 3}, Words{2, 2, 0}), (Words{3, 2147483647u, 0}));
    EXPECT_EQ(binary(*k, OpKind::REM, u, Words{7, 4294967295u, 3}, Words{2, 10, 0}), (Words{1, 5, 0}));
    EXPECT_EQ(binary(*k, OpKind::SHIFT_LEFT, u, Words{1, 1, 3}, Words{31, 32, 33}), (Words{2147483648u, 1, 6}));
    EXPECT_EQ(binary(*k, OpKind::SHIFT_RIGHT, i, Ints{-8, -8, 8}, Ints{1, 33, 31}), (Ints{-4, -4, 0}));
    EXPECT_EQ(binary(*k, OpKind::SHIFT_RIGHT, u, Words{4294967288u}, Words{1}), (Words{2147483644u}));
    EXPECT_EQ(binary(*k, OpKind::MAX, i, Ints{-1, 2}, Ints{1, -2}), (Ints{1, 2}));
    EXPECT_EQ(binary(*k, OpKind::MAX, u, Words{4294967295u}, Words{1}), (Words{4294967295u}));
    EXPECT_EQ(binary(*k, OpKind::XOR, u, Words{12}, Words{10}), (Words{6}));
  }
}

TEST(CpuReduce, RunsOfAllLengths) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (const std::int64_t n : {0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 100, 1000}) {
    std::vector<float> x(static_cast<std::size_t>(n));
    for (float& each : x) each = uniform(random);
    double exact = 0.25, magnitude = 0.25;
    float largest = -2.0f;
    for (const float each : x) {
      exact += static_cast<double>(each);
      magnitude += std::fabs(static_cast<double>(each));
      largest = std::fmax(largest, each);
    }
    std::uint32_t first = 0;
    for (const Kernels* k : all_levels()) {
      float sum = 0.25f, best = -2.0f;
      k->sum_run(DType::kF32, &sum, x.data(), n);
      k->max_run(DType::kF32, &best, x.data(), n);
      EXPECT_LE(std::fabs(static_cast<double>(sum) - exact), static_cast<double>(n) * 0x1p-24 * magnitude) << n;
      EXPECT_EQ(best, largest) << n;
      if (k == all_levels()[0]) first = std::bit_cast<std::uint32_t>(sum);
      EXPECT_EQ(std::bit_cast<std::uint32_t>(sum), first) << "levels add in different orders at n = " << n;
    }
    for (std::int64_t bad = 0; bad < n; bad += 7) {
      std::vector<float> y = x;
      y[static_cast<std::size_t>(bad)] = std::numeric_limits<float>::quiet_NaN();
      for (const Kernels* k : all_levels()) {
        float best = -2.0f;
        k->max_run(DType::kF32, &best, y.data(), n);
        EXPECT_TRUE(std::isnan(best)) << n << " " << bad;
      }
    }
  }
}

TEST(CpuFused, KeepTheBitsOfTheirOps) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 2);
  for (const std::int64_t n : {1, 15, 16, 17, 33, 100}) {
    const auto size = static_cast<std::size_t>(n);
    std::vector<float> a(size), b(size), between(size), apart(size), fused(size);
    for (float& x : a) x = normal(random);
    for (float& x : b) x = normal(random);
    std::vector<std::uint8_t> condition(size);
    for (std::uint8_t& c : condition) c = static_cast<std::uint8_t>(random() % 2);
    const float one = 1.0f;
    for (const Kernels* k : all_levels()) {
      const auto op = [&](OpKind kind, ScalarOperand scalar = ScalarOperand::kNone) {
        return k->elementwise(kind, DType::kF32, DType::kF32, scalar);
      };
      op(OpKind::ADD)(between.data(), a.data(), b.data(), nullptr, n);
      op(OpKind::TANH)(apart.data(), between.data(), nullptr, nullptr, n);
      k->fused(FusedOps::kAddTanh)(fused.data(), a.data(), b.data(), nullptr, n);
      EXPECT_EQ(fused, apart) << k->level << " " << n;
      op(OpKind::MUL)(between.data(), b.data(), b.data(), nullptr, n);
      op(OpKind::SUB, ScalarOperand::kLeft)(between.data(), &one, between.data(), nullptr, n);
      op(OpKind::MUL)(apart.data(), a.data(), between.data(), nullptr, n);
      k->fused(FusedOps::kTanhGradient)(fused.data(), a.data(), b.data(), &one, n);
      EXPECT_EQ(fused, apart) << k->level << " " << n;
      op(OpKind::SELECT, ScalarOperand::kRight)(fused.data(), condition.data(), a.data(), &one, n);
      for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(fused[i], condition[i] != 0 ? a[i] : one);
    }
  }
}

TEST(CpuRandom, WordsAreThoseOfPhilox) {
  const std::uint32_t state[4] = {0xdeadbeefu, 7u, 0xffffffffu, 3u};
  for (const std::int64_t n : {1, 2, 3, 4, 5, 63, 64, 65, 200}) {
    for (const Kernels* kernels : all_levels()) {
      std::vector<std::uint32_t> words(static_cast<std::size_t>(n) + 1, 99u);
      kernels->random_words(state, words.data(), n);
      for (std::int64_t i = 0; i < n; ++i) {
        ASSERT_EQ(words[static_cast<std::size_t>(i)], thrt_random_word(state, static_cast<std::uint64_t>(i)));
      }
      EXPECT_EQ(words.back(), 99u);
    }
  }
}

}  // namespace
}  // namespace thrt::cpu
