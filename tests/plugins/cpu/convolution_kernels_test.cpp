// The kernels of convolutions at every instruction-set level. Small integers, whose sums are exact in any order, so that
// every result has one right value.
#include "kernel_levels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace thrt::cpu {
namespace {

using Floats = std::vector<float>;

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

Floats integers(std::int64_t count, std::mt19937& random, int most = 8) {
  std::uniform_int_distribution<int> pick(-most, most);
  Floats list(at(count));
  for (float& x : list) x = static_cast<float>(pick(random));
  return list;
}

// Operands of a block of pseudo-random shape, the left side's unit being a row or a depth.
struct Case {
  ConvolutionBlock block;
  Floats a, b, c, bias;
  std::vector<std::int64_t> chunk;

  Case(std::int64_t lanes, bool unit_row, std::mt19937& random) {
    const auto pick = [&](std::int64_t low, std::int64_t high) {
      return std::uniform_int_distribution<std::int64_t>(low, high)(random);
    };
    block.rows = pick(1, 27);
    block.columns = lanes * pick(1, 9);
    block.depth = pick(1, 11);
    block.chunks = pick(1, 4);
    block.outer = pick(1, 3);
    block.a_row = unit_row ? 1 : pick(1, 9);
    block.a_depth = unit_row ? pick(2, 9) : 1;
    block.a_outer = pick(0, 20);
    block.b_row = block.columns + pick(0, 5);
    block.c_row = block.columns + pick(0, 5);
    block.c_outer = block.rows * block.c_row + pick(0, 5);
    block.accumulate = pick(0, 1) == 1;
    block.relu = pick(0, 1) == 1;
    std::int64_t last = 0;
    for (std::int64_t i = 0; i < block.chunks; ++i) {
      chunk.push_back(pick(0, 40));
      last = std::max(last, chunk.back());
    }
    a = integers(last + block.rows * block.a_row + block.depth * block.a_depth + block.outer * block.a_outer, random);
    b = integers(block.chunks * block.depth * block.b_row, random);
    c = integers(block.outer * block.c_outer, random);
    bias = integers(block.columns, random);
    block.a = a.data();
    block.b = b.data();
    block.c = c.data();
    block.chunk = chunk.data();
    if (pick(0, 1) == 1) block.bias = bias.data();
  }

  // As convolution_block.hpp says, `product` being that of an element of A and one of B.
  template <class Product>
  Floats expected(Product product) const {
    Floats result = c;
    for (std::int64_t o = 0; o < block.outer; ++o) {
      for (std::int64_t i = 0; i < block.rows; ++i) {
        for (std::int64_t j = 0; j < block.columns; ++j) {
          float& out = result[at(o * block.c_outer + i * block.c_row + j)];
          float sum = block.accumulate ? out : 0.0f;
          for (std::int64_t t = 0; t < block.chunks; ++t) {
            for (std::int64_t k = 0; k < block.depth; ++k) {
              const std::int64_t from = chunk[at(t)] + o * block.a_outer + i * block.a_row + k * block.a_depth;
              sum += product(a[at(from)], b[at((t * block.depth + k) * block.b_row + j)]);
            }
          }
          if (block.bias != nullptr) sum += bias[at(j)];
          out = block.relu && !(sum > 0.0f) ? 0.0f : sum;
        }
      }
    }
    return result;
  }
};

class ConvolutionKernelsTest : public ::testing::TestWithParam<const Kernels*> {};

TEST_P(ConvolutionKernelsTest, BlockSumsStridedProductsAndTouchesNothingElse) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    Case one(GetParam()->lanes, i % 2 == 0, random);
    const Floats expected = one.expected([](float a, float b) { return a * b; });
    GetParam()->convolution().block(one.block);
    ASSERT_EQ(one.c, expected) << "case " << i;
  }
}

// An integer up to 256 is a bf16: two of them, in the order in which they lie in memory.
float paired(float low, float high) {
  std::uint32_t bits[2];
  std::memcpy(&bits[0], &low, sizeof low);
  std::memcpy(&bits[1], &high, sizeof high);
  const std::uint32_t both = bits[0] >> 16 | (bits[1] & 0xffff0000u);
  float pair = 0.0f;
  std::memcpy(&pair, &both, sizeof pair);
  return pair;
}
float half_of(float pair, int which) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &pair, sizeof bits);
  bits = which == 0 ? bits << 16 : bits & 0xffff0000u;
  float value = 0.0f;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

float value(std::uint16_t half) {
  const std::uint32_t bits = static_cast<std::uint32_t>(half) << 16;
  float number = 0.0f;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

TEST_P(ConvolutionKernelsTest, BlockOfPairsOfBf16) {
  const ConvolutionKernels& kernels = GetParam()->convolution();
  if (kernels.block_bf16 == nullptr) GTEST_SKIP() << "no instruction for it at this level, or in this processor";
  std::mt19937 random(2);
  const auto pair_up = [&](Floats& list) {
    const Floats second = integers(static_cast<std::int64_t>(list.size()), random);
    for (std::size_t i = 0; i < list.size(); ++i) list[i] = paired(list[i], second[i]);
  };
  for (int i = 0; i < 300; ++i) {
    Case one(GetParam()->lanes, i % 2 == 0, random);
    pair_up(one.a);
    pair_up(one.b);
    const Floats expected =
        one.expected([](float a, float b) { return half_of(a, 0) * half_of(b, 0) + half_of(a, 1) * half_of(b, 1); });
    kernels.block_bf16(one.block);
    ASSERT_EQ(one.c, expected) << "case " << i;
  }
}

TEST_P(ConvolutionKernelsTest, TransposeOfAnySize) {
  std::mt19937 random(3);
  for (const std::int64_t rows : {1, 3, 4, 7, 16, 33}) {
    for (const std::int64_t columns : {1, 2, 4, 9, 21, 64}) {
      const std::int64_t from_row = columns + 3, to_row = rows + 5;
      const Floats from = integers(rows * from_row, random, 1000);
      Floats to(at(columns * to_row), 0.5f), expected = to;
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) expected[at(j * to_row + i)] = from[at(i * from_row + j)];
      }
      GetParam()->convolution().transpose(to.data(), to_row, from.data(), from_row, rows, columns);
      ASSERT_EQ(to, expected) << rows << " x " << columns;
    }
  }
}

TEST_P(ConvolutionKernelsTest, WhatIsNotPositiveIsDroppedNanIncluded) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), tiny = std::numeric_limits<float>::denorm_min();
  const Floats condition = {1.0f, 0.0f, -0.0f, -1.0f, nan, tiny, -tiny};
  for (std::size_t shift = 0; shift < 40; ++shift) {
    Floats x(47, 2.0f), where(47);
    for (std::size_t i = 0; i < where.size(); ++i) where[i] = condition[(i + shift) % condition.size()];
    GetParam()->convolution().keep_positive(x.data(), where.data(), 47);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], where[i] > 0.0f ? 2.0f : 0.0f) << i;
  }
}

TEST_P(ConvolutionKernelsTest, PixelsAreAddedToWhatIsThere) {
  std::mt19937 random(4);
  for (const std::int64_t pixels : {1, 4, 7, 49}) {
    for (const std::int64_t columns : {1, 16, 37}) {
      const std::int64_t row = columns + 2;
      const Floats x = integers(pixels * row, random);
      Floats sum = integers(columns, random), expected = sum;
      for (std::int64_t p = 0; p < pixels; ++p) {
        for (std::int64_t j = 0; j < columns; ++j) expected[at(j)] += x[at(p * row + j)];
      }
      GetParam()->convolution().add_pixels(sum.data(), x.data(), row, pixels, columns);
      ASSERT_EQ(sum, expected);
    }
  }
}

TEST_P(ConvolutionKernelsTest, BytesAreScaledWithOneRounding) {
  std::vector<std::uint8_t> bytes(256 + 5);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i);
  Floats to(bytes.size());
  const float scale = 1.0f / 255.0f;
  GetParam()->convolution().scale_u8(to.data(), bytes.data(), scale, static_cast<std::int64_t>(bytes.size()));
  for (std::size_t i = 0; i < to.size(); ++i) {
    ASSERT_EQ(to[i], static_cast<float>(static_cast<double>(bytes[i]) * static_cast<double>(scale)));
  }
}

TEST_P(ConvolutionKernelsTest, RoundsToTheNearestBf16AndPairsUp) {
  const ConvolutionKernels& kernels = GetParam()->convolution();
  if (kernels.block_bf16 == nullptr) GTEST_SKIP() << "no instruction for it at this level, or in this processor";
  // 1 + 2^-8 is halfway between two bf16 and goes to the even one, 1; a little more goes up.
  const Floats exact = {1.0f, 1.00390625f, 1.005859375f, -1.01171875f, 3.0e38f, 0.0f, -2.5f};
  const Floats rounded = {1.0f, 1.0f, 1.0078125f, -1.015625f, 3.00405527e38f, 0.0f, -2.5f};
  for (std::int64_t n = 1; n < 40; ++n) {
    Floats x(at(n)), y(at(n));
    for (std::int64_t i = 0; i < n; ++i) {
      x[at(i)] = exact[at(i) % exact.size()];
      y[at(i)] = exact[at(i + 3) % exact.size()];
    }
    std::vector<std::uint16_t> halves(at(n) + 1, 7);
    kernels.round_bf16(halves.data(), x.data(), n);
    EXPECT_EQ(halves.back(), 7);
    std::vector<std::uint16_t> pairs(at(2 * n) + 1, 7), alone(at(2 * n), 7);
    kernels.pair_bf16(pairs.data(), x.data(), y.data(), n);
    kernels.pair_bf16(alone.data(), x.data(), nullptr, n);
    EXPECT_EQ(pairs.back(), 7);
    for (std::int64_t i = 0; i < n; ++i) {
      const float first = rounded[at(i) % rounded.size()], second = rounded[at(i + 3) % rounded.size()];
      ASSERT_FLOAT_EQ(value(halves[at(i)]), first);
      ASSERT_FLOAT_EQ(value(pairs[at(2 * i)]), first);
      ASSERT_FLOAT_EQ(value(pairs[at(2 * i + 1)]), second);
      ASSERT_FLOAT_EQ(value(alone[at(2 * i)]), first);
      ASSERT_EQ(alone[at(2 * i + 1)], 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, ConvolutionKernelsTest, ::testing::ValuesIn(all_levels()), [](const auto& level) {
  std::string name = level.param->level;
  for (char& c : name) c = c == ' ' || c == '-' ? '_' : c;
  return name;
});

}  // namespace
}  // namespace thrt::cpu
