// The matmul kernels of every instruction-set level against f64, whole and cut into parts.
#include "kernel_levels.hpp"

#include "../../../plugins/cpu/matmul_cut.hpp"
#include "../../../plugins/cpu/precision.hpp"

#include <thrt/abi.h>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace thrt::cpu {
namespace {

// Numbers next to which nothing may be written, and which nothing may read.
constexpr std::size_t kGuard = 40;
constexpr float kGuardValue = 77.0f;

std::vector<float> guarded(std::size_t size) {
  return std::vector<float>(size + 2 * kGuard, kGuardValue);
}

bool guards_hold(const std::vector<float>& x) {
  for (std::size_t i = 0; i < kGuard; ++i) {
    if (x[i] != kGuardValue || x[x.size() - 1 - i] != kGuardValue) return false;
  }
  return true;
}

// The nearest bf16, the even one of two as near.
float as_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u);
}

struct Product {
  MatmulShape shape;
  std::vector<float> a, b;               // guarded
  std::vector<double> exact, magnitude;  // sum of terms, sum of their absolute values

  // `round`: what the kernel does to its operands first.
  Product(
      const MatmulShape& s, std::mt19937& random, float (*round)(float) = [](float x) { return x; })
      : shape(s) {
    std::uniform_real_distribution<float> uniform(-1, 1);
    a = guarded(static_cast<std::size_t>(s.m * s.k));
    b = guarded(static_cast<std::size_t>(s.k * s.n));
    for (std::size_t i = kGuard; i + kGuard < a.size(); ++i) a[i] = uniform(random);
    for (std::size_t i = kGuard; i + kGuard < b.size(); ++i) b[i] = uniform(random);
    for (std::int64_t i = 0; i < s.m; ++i) {
      for (std::int64_t j = 0; j < s.n; ++j) {
        double sum = 0, absolute = 0;
        for (std::int64_t p = 0; p < s.k; ++p) {
          const double term = static_cast<double>(round(a[at(s.transpose_a ? p * s.m + i : i * s.k + p)])) *
                              static_cast<double>(round(b[at(s.transpose_b ? j * s.k + p : p * s.n + j)]));
          sum += term;
          absolute += std::fabs(term);
        }
        exact.push_back(sum);
        magnitude.push_back(absolute);
      }
    }
  }

  static std::size_t at(std::int64_t i) { return kGuard + static_cast<std::size_t>(i); }
};

std::string name(const MatmulShape& s, const char* level) {
  return std::string(level) + " " + std::to_string(s.m) + "x" + std::to_string(s.k) + "x" + std::to_string(s.n) +
         (s.transpose_a ? " A stored [K, M]" : "") + (s.transpose_b ? " B stored [N, K]" : "");
}

std::vector<float> run(const Kernels& kernels, const Product& product, const MatmulCut& cut,
                       const MatmulEpilogue& epilogue = {}) {
  std::vector<float> c = guarded(product.exact.size());
  for (const MatmulBlock& block : cut.blocks) {
    std::vector<float> workspace = guarded(cut.plan.workspace / 4);
    cut.plan.run(cut.plan, block, product.a.data() + kGuard, product.b.data() + kGuard, c.data() + kGuard,
                 workspace.data() + kGuard, epilogue);
    EXPECT_TRUE(guards_hold(workspace)) << name(product.shape, kernels.level);
  }
  EXPECT_TRUE(guards_hold(c)) << name(product.shape, kernels.level);
  return c;
}

void expect_product(const Kernels& kernels, const Product& product, const MatmulPlan& plan) {
  const std::vector<float> c = run(kernels, product, cut_matmul(plan, 1));
  for (std::size_t i = 0; i < product.exact.size(); ++i) {
    const double error = std::fabs(static_cast<double>(c[kGuard + i]) - product.exact[i]);
    // K roundings of partial sums, none of which is greater than the sum of absolute values.
    ASSERT_LE(error, static_cast<double>(product.shape.k) * 0x1p-24 * product.magnitude[i] + 1e-30)
        << name(product.shape, kernels.level) << " element " << i;
  }
}

template <class Body>
void for_all_storages(std::int64_t m, std::int64_t k, std::int64_t n, const Body& body) {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) body(MatmulShape{1, m, k, n, ta, tb});
  }
}

TEST(CpuMatmul, SmallSizesAgainstF64) {
  std::mt19937 random(3);
  for (const std::int64_t m : {1, 2, 3, 5, 8, 13, 16, 17, 33}) {
    for (const std::int64_t k : {1, 2, 3, 7, 16, 31, 32, 65}) {
      for (const std::int64_t n : {1, 2, 3, 4, 5, 6, 7, 9, 15, 16, 18, 31, 48, 63, 64, 67}) {
        for_all_storages(m, k, n, [&](const MatmulShape& shape) {
          const Product product(shape, random);
          for (const Kernels* kernels : all_levels()) expect_product(*kernels, product, kernels->plan_matmul(shape));
        });
      }
    }
  }
}

TEST(CpuMatmul, SizesBeyondOnePassAgainstF64) {
  std::mt19937 random(4);
  const std::int64_t sizes[][3] = {{2, 300, 65},  {5, 600, 7},  {31, 17, 530},  {9, 257, 20},
                                   {1, 1000, 3},  {200, 3, 5},  {64, 256, 256}, {32, 520, 200},
                                   {97, 40, 131}, {48, 259, 1}, {300, 33, 130}, {1, 70, 1100}};
  for (const auto& size : sizes) {
    for_all_storages(size[0], size[1], size[2], [&](const MatmulShape& shape) {
      const Product product(shape, random);
      for (const Kernels* kernels : all_levels()) expect_product(*kernels, product, kernels->plan_matmul(shape));
    });
  }
}

// So that results do not depend on the number of threads.
TEST(CpuMatmul, PartsMakeTheSameBits) {
  std::mt19937 random(5);
  const std::int64_t sizes[][3] = {{256, 64, 64},  {64, 64, 256}, {130, 300, 70}, {1, 300, 520},
                                   {3, 300, 530},  {96, 64, 2},   {49, 64, 16},   {2, 520, 300},
                                   {64, 520, 257}, {520, 20, 3},  {8, 400, 300}};
  for (const auto& size : sizes) {
    for_all_storages(size[0], size[1], size[2], [&](const MatmulShape& shape) {
      const Product product(shape, random);
      for (const Kernels* kernels : all_levels()) {
        MatmulPlan plan = kernels->plan_matmul(shape);
        const std::vector<float> whole = run(*kernels, product, cut_matmul(plan, 1));
        plan.nanoseconds = 1e9;  // worth any number of parts
        for (const int threads : {2, 3, 7}) {
          for (const bool columns : {false, true}) {
            MatmulPlan other = plan;
            other.cut_columns = plan.cut_columns || columns;
            const MatmulCut cut = cut_matmul(other, threads);
            EXPECT_EQ(run(*kernels, product, cut), whole) << name(shape, kernels->level) << " in " << cut.blocks.size();
          }
        }
      }
    });
  }
}

TEST(CpuMatmul, LargeProductsComeInParts) {
  for (const Kernels* kernels : all_levels()) {
    EXPECT_EQ(cut_matmul(kernels->plan_matmul({1, 256, 512, 512, false, false}), 2).blocks.size(), 2u);
    EXPECT_EQ(cut_matmul(kernels->plan_matmul({1, 32, 512, 3136, false, true}), 2).blocks.size(), 2u);
    EXPECT_EQ(cut_matmul(kernels->plan_matmul({1, 3136, 32, 512, true, false}), 2).blocks.size(), 2u);
    EXPECT_EQ(cut_matmul(kernels->plan_matmul({1, 4, 4, 64, false, false}), 2).blocks.size(), 1u);
  }
}

// What an epilogue sees, it sees once and when it is final.
TEST(CpuMatmul, EpiloguesSeeFinalElementsOnce) {
  std::mt19937 random(6);
  const std::int64_t sizes[][3] = {{64, 64, 64}, {130, 600, 70}, {1, 300, 520},
                                   {100, 64, 2}, {4, 64, 33},    {48, 520, 700}};
  for (const auto& size : sizes) {
    for_all_storages(size[0], size[1], size[2], [&](const MatmulShape& shape) {
      const Product product(shape, random);
      for (const Kernels* kernels : all_levels()) {
        const MatmulPlan plan = kernels->plan_matmul(shape);
        const std::vector<float> whole = run(*kernels, product, cut_matmul(plan, 1));
        std::vector<float> c = guarded(product.exact.size()), workspace = guarded(plan.workspace / 4);
        struct Seen {
          const float* c;
          std::int64_t n;
          std::vector<float> values;
          std::vector<int> times;
        } seen{c.data() + kGuard, shape.n, std::vector<float>(product.exact.size()),
               std::vector<int>(product.exact.size())};
        const MatmulEpilogue epilogue{[](const void* self, const MatmulBlock& block) {
                                        auto& s = *static_cast<Seen*>(const_cast<void*>(self));
                                        for (std::int64_t i = block.i0; i < block.i1; ++i) {
                                          for (std::int64_t j = block.j0; j < block.j1; ++j) {
                                            const auto at = static_cast<std::size_t>(i * s.n + j);
                                            s.values[at] = s.c[at];
                                            ++s.times[at];
                                          }
                                        }
                                      },
                                      &seen};
        plan.run(plan, {0, shape.m, 0, shape.n}, product.a.data() + kGuard, product.b.data() + kGuard,
                 c.data() + kGuard, workspace.data() + kGuard, epilogue);
        EXPECT_EQ(seen.values, std::vector<float>(whole.begin() + kGuard, whole.end() - kGuard))
            << name(shape, kernels->level);
        EXPECT_EQ(seen.times, std::vector<int>(product.exact.size(), 1)) << name(shape, kernels->level);
      }
    });
  }
}

TEST(CpuMatmulBf16, RoundedOperandsAgainstF64) {
  std::mt19937 random(8);
  const std::int64_t sizes[][3] = {{1, 1, 1},      {1, 7, 1},      {3, 5, 2},    {13, 2, 17},    {64, 64, 64},
                                   {64, 4, 64},    {64, 65, 2},    {7, 128, 3},  {1, 66, 64},    {4, 64, 33},
                                   {16, 31, 18},   {33, 97, 70},   {256, 64, 1}, {32, 520, 200}, {9, 1030, 20},
                                   {100, 33, 600}, {32, 600, 300}, {2, 17, 3}};
  for (const Kernels* kernels : all_levels()) {
    if (!has_bf16(*kernels)) continue;
    for (const auto& size : sizes) {
      for_all_storages(size[0], size[1], size[2], [&](const MatmulShape& shape) {
        expect_product(*kernels, Product(shape, random, as_bf16), kernels->plan_matmul_bf16(shape));
      });
    }
  }
}

TEST(CpuMatmulBf16, PartsMakeTheSameBits) {
  std::mt19937 random(9);
  const std::int64_t sizes[][3] = {{256, 64, 64},  {130, 301, 70}, {1, 300, 520}, {3, 300, 530}, {96, 65, 2},
                                   {64, 520, 257}, {520, 20, 3},   {8, 401, 300}, {49, 64, 16}};
  for (const Kernels* kernels : all_levels()) {
    if (!has_bf16(*kernels)) continue;
    for (const auto& size : sizes) {
      for_all_storages(size[0], size[1], size[2], [&](const MatmulShape& shape) {
        const Product product(shape, random, as_bf16);
        MatmulPlan plan = kernels->plan_matmul_bf16(shape);
        const std::vector<float> whole = run(*kernels, product, cut_matmul(plan, 1));
        plan.nanoseconds = 1e9;  // worth any number of parts
        for (const int threads : {2, 3, 7}) {
          EXPECT_EQ(run(*kernels, product, cut_matmul(plan, threads)), whole) << name(shape, kernels->level);
        }
      });
    }
  }
}

TEST(CpuPrecision, RefusalsNameTheReason) {
  const Kernels& best = best_kernels();
  EXPECT_FALSE(refuse_precision(THRT_PRECISION_F32, best).has_value());
  EXPECT_EQ(refuse_precision(THRT_PRECISION_BF16, best).has_value(), !has_bf16(best));
  // A processor without the instructions: the level that it would run has no such kernels.
  Kernels older = *all_levels()[0];
  EXPECT_FALSE(has_bf16(older));
  older.level = "x86-64 avx2";
  const std::string reason = refuse_precision(THRT_PRECISION_BF16, older).value_or("");
  EXPECT_NE(reason.find("avx512_bf16"), std::string::npos) << reason;
  EXPECT_NE(reason.find("x86-64 avx2"), std::string::npos) << reason;
  EXPECT_NE(refuse_precision(THRT_PRECISION_F16, best).value_or("").find("f16"), std::string::npos);
  EXPECT_NE(refuse_precision(THRT_PRECISION_TF32, best).value_or("").find("tf32"), std::string::npos);
  EXPECT_TRUE(refuse_precision(17, best).has_value());
}

}  // namespace
}  // namespace thrt::cpu
