// f16 and bf16 in kernels: conversions bit for bit as thrt/ir/float16.hpp, and one rounding per op.
#include "host_kernels.hpp"

#include <thrt/ir/float16.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <numeric>

namespace thrt::testing {
namespace {

using Halves = std::vector<std::uint16_t>;

float to_f32(DType dtype, std::uint16_t half) {
  return dtype == DType::kF16 ? ir::f16_to_f32(half) : ir::bf16_to_f32(half);
}
std::uint16_t from_f64(DType dtype, double x) {
  return dtype == DType::kF16 ? ir::f64_to_f16(x) : ir::f64_to_bf16(x);
}
bool is_nan(DType dtype, std::uint16_t half) {
  return std::isnan(to_f32(dtype, half));
}

Halves all_halves() {
  Halves all(65536);
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  return all;
}

// The program's result "y" for the input "x".
template <class To, class From>
std::vector<To> run(Builder& builder, const std::vector<From>& x) {
  HostKernels kernels;
  const HostKernels::Program program = kernels.add(builder.built(), {});
  kernels.compile();
  if (::testing::Test::HasFatalFailure()) return {};
  return elements_of<To>(kernels.run(program, {{"x", bytes_of(x)}}).at("y"));
}

template <class To, class From>
std::vector<To> run_cast(const std::vector<From>& x, DType from, DType to) {
  Builder builder;
  const ir::Shape shape{static_cast<std::int64_t>(x.size())};
  builder.output("y", builder.op(OpKind::CAST, {builder.input("x", {from, shape})}, {}, ir::Type{to, shape}));
  return run<To>(builder, x);
}

void expect_halves(DType dtype, const Halves& actual, std::size_t count,
                   const std::function<std::uint16_t(std::size_t)>& expected) {
  ASSERT_EQ(actual.size(), count);
  int wrong = 0;
  for (std::size_t i = 0; i < count && wrong < 5; ++i) {
    const std::uint16_t wanted = expected(i);
    const bool same = is_nan(dtype, wanted) ? is_nan(dtype, actual[i]) : actual[i] == wanted;
    EXPECT_TRUE(same) << "element " << i << ": " << actual[i] << ", not " << wanted;
    wrong += same ? 0 : 1;
  }
}

class EmitHalf : public ::testing::TestWithParam<DType> {};

TEST_P(EmitHalf, EveryNumberBecomesItsF32) {
  const Halves x = all_halves();
  const std::vector<float> y = run_cast<float>(x, GetParam(), DType::kF32);
  ASSERT_EQ(y.size(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float wanted = to_f32(GetParam(), x[i]);
    if (std::isnan(wanted)) {
      ASSERT_TRUE(std::isnan(y[i])) << x[i];
    } else {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(y[i]), std::bit_cast<std::uint32_t>(wanted)) << x[i];
    }
  }
}

// Between each two neighbours: the middle, and what is next to it on either side; also far below and above all of them.
TEST_P(EmitHalf, F32IsRoundedToTheNearest) {
  std::vector<float> x = {HUGE_VALF, -HUGE_VALF, NAN, 3.4e38f, -3.4e38f, 1e-45f, -1e-45f, 65519.996f, 65520.0f, 1e6f};
  for (std::uint32_t h = 0; h < 65535; ++h) {
    const float low = to_f32(GetParam(), static_cast<std::uint16_t>(h));
    const float high = to_f32(GetParam(), static_cast<std::uint16_t>(h + 1));
    if (!std::isfinite(low) || !std::isfinite(high)) continue;
    const auto middle = static_cast<float>((static_cast<double>(low) + static_cast<double>(high)) / 2);
    x.insert(x.end(), {low, middle, std::nextafter(middle, -HUGE_VALF), std::nextafter(middle, HUGE_VALF)});
  }
  const Halves y = run_cast<std::uint16_t>(x, DType::kF32, GetParam());
  expect_halves(GetParam(), y, x.size(),
                [&](std::size_t i) { return from_f64(GetParam(), static_cast<double>(x[i])); });
}

TEST_P(EmitHalf, IntegersAreRoundedOnce) {
  std::vector<std::int32_t> x = {0, 1, -1, INT32_MAX, INT32_MIN, 65504, 65519, 65520, -65520};
  for (int top = 8; top < 31; ++top) {  // near the middle between two numbers of 8 and of 11 bits
    for (int below = 8; below <= 12; ++below) {
      if (top < below) continue;
      for (const std::int32_t away : {-1, 0, 1}) {
        x.push_back((1 << top) + (1 << (top - below)) + away);
        x.push_back(-x.back());
        x.push_back((1 << top) + (3 << (top - below)) + away);
      }
    }
  }
  const Halves y = run_cast<std::uint16_t>(x, DType::kI32, GetParam());
  expect_halves(GetParam(), y, x.size(), [&](std::size_t i) { return from_f64(GetParam(), x[i]); });
  const std::vector<std::uint32_t> u(x.begin(), x.end());
  const Halves z = run_cast<std::uint16_t>(u, DType::kU32, GetParam());
  expect_halves(GetParam(), z, u.size(), [&](std::size_t i) { return from_f64(GetParam(), u[i]); });
}

// x * x + x in one kernel: the product is rounded before it is added to.
TEST_P(EmitHalf, EachOpIsRounded) {
  const Halves x = all_halves();
  Builder builder;
  const std::uint32_t in = builder.input("x", {GetParam(), {65536}});
  builder.output("y", builder.op(OpKind::ADD, {builder.op(OpKind::MUL, {in, in}), in}));
  const Halves y = run<std::uint16_t>(builder, x);
  expect_halves(GetParam(), y, x.size(), [&](std::size_t i) {
    const double number = static_cast<double>(to_f32(GetParam(), x[i]));  // f64 holds the products and these sums
    const double product = static_cast<double>(to_f32(GetParam(), from_f64(GetParam(), number * number)));
    return from_f64(GetParam(), product + number);
  });
}

// 1 + 2^-12 + ... + 2^-12: in f32 the small ones add up, rounded after each they would all be lost.
TEST_P(EmitHalf, SumsAreRoundedAtTheEnd) {
  std::vector<float> numbers(4097, 0x1p-12f);
  numbers[0] = 1;
  Halves x;
  for (const float number : numbers) x.push_back(from_f64(GetParam(), static_cast<double>(number)));
  Builder builder;
  const std::uint32_t in = builder.input("x", {GetParam(), {4097}});
  builder.output("y", builder.op(OpKind::REDUCE_SUM, {in}, {0}));
  EXPECT_EQ(run<std::uint16_t>(builder, x), Halves{from_f64(GetParam(), 2.0)});
  Builder products;
  const std::uint32_t row =
      products.op(OpKind::RESHAPE, {products.input("x", {GetParam(), {4097}})}, {}, ir::Type{GetParam(), {1, 4097}});
  const std::uint32_t ones = products.constant<std::uint16_t>({GetParam(), {}}, {from_f64(GetParam(), 1.0)});
  const std::uint32_t column = products.op(OpKind::BROADCAST, {ones}, {}, ir::Type{GetParam(), {4097, 1}});
  products.output("y", products.op(OpKind::MATMUL, {row, column}, {0, 0}));
  EXPECT_EQ(run<std::uint16_t>(products, x), Halves{from_f64(GetParam(), 2.0)});
}

INSTANTIATE_TEST_SUITE_P(Both, EmitHalf, ::testing::Values(DType::kF16, DType::kBF16),
                         [](const auto& p) { return std::string(ir::dtype_name(p.param)); });

}  // namespace
}  // namespace thrt::testing
