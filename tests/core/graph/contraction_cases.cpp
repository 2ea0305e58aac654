#include "gradient_cases.hpp"

#include <thrt/graph/tensor_ops.hpp>

#include <fmt/format.h>

namespace thrt::test {
namespace {

using Operands = std::vector<Tensor>;

HostValue random(const Shape& shape, std::uint64_t seed) {
  Numbers numbers(seed);
  return f64(shape, numbers.uniforms(shape.elements(), -1.0, 1.0));
}

std::vector<GradientCase> reduce_cases() {
  return {
      {.kind = OpKind::REDUCE_SUM,
       .name = "reduce_sum over the outer axes",
       .inputs = {random({2, 3, 2}, 31)},
       .build =
           [](const Operands& x) {
             return sum(x[0], {0, 2});
           }},
      {.kind = OpKind::REDUCE_SUM,
       .name = "reduce_sum over all",
       .inputs = {random({2, 3}, 32)},
       .build = [](const Operands& x) { return sum(x[0]); }},
      {.kind = OpKind::REDUCE_MAX,
       .name = "reduce_max over the middle axis",
       .inputs = {random({2, 4, 3}, 33)},
       .build = [](const Operands& x) { return reduce_max(x[0], {1}); }},
      {.kind = OpKind::REDUCE_MAX,
       .name = "reduce_max over two axes",
       .inputs = {random({2, 4, 3}, 34)},
       .build =
           [](const Operands& x) {
             return reduce_max(x[0], {0, 2});
           }},
      {.kind = OpKind::REDUCE_MAX,
       .name = "reduce_max over no axis",
       .inputs = {random({3}, 35)},
       .build = [](const Operands& x) { return x[0].graph().append(OpKind::REDUCE_MAX, {x[0]}); }},
  };
}

std::vector<GradientCase> matmul_cases() {
  std::vector<GradientCase> cases;
  for (const bool batched : {false, true}) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        Shape a, b;  // [2, 3] by [3, 4]
        if (batched) a = b = {2};
        for (const std::int64_t dim : {ta ? 3 : 2, ta ? 2 : 3}) a.push_back(dim);
        for (const std::int64_t dim : {tb ? 4 : 3, tb ? 3 : 4}) b.push_back(dim);
        cases.push_back({.kind = OpKind::MATMUL,
                         .name = fmt::format("matmul, batched {}, transpose_a {}, transpose_b {}", batched, ta, tb),
                         .inputs = {random(a, 41), random(b, 42)},
                         .build = [ta, tb](const Operands& x) { return matmul(x[0], x[1], ta, tb); }});
      }
    }
  }
  return cases;
}

// x [2, 2, 6, 5] by a filter [3, 2, 3, 2]: strides that leave a remainder, and padding that differs on all four sides.
constexpr Conv2dGeometry kPlain{};
constexpr Conv2dGeometry kUneven{
    .stride_h = 2, .stride_w = 3, .pad_top = 1, .pad_bottom = 0, .pad_left = 2, .pad_right = 1};

std::vector<GradientCase> convolution_cases() {
  std::vector<GradientCase> cases;
  for (const Conv2dGeometry& g : {kPlain, kUneven}) {
    const std::string how = g.stride_h == 1 ? "" : ", strides and padding";
    const Shape x_shape = {2, 2, 6, 5}, filter_shape = {3, 2, 3, 2};
    const Shape y_shape = {2, 3, (6 + g.pad_top + g.pad_bottom - 3) / g.stride_h + 1,
                           (5 + g.pad_left + g.pad_right - 2) / g.stride_w + 1};
    const std::vector<std::int64_t> attributes = {g.stride_h,   g.stride_w, g.pad_top,
                                                  g.pad_bottom, g.pad_left, g.pad_right};
    cases.push_back({.kind = OpKind::CONV2D,
                     .name = "conv2d" + how,
                     .inputs = {random(x_shape, 51), random(filter_shape, 52)},
                     .build = [g](const Operands& x) { return conv2d(x[0], x[1], g); },
                     .tolerance = 1e-6});
    cases.push_back(
        {.kind = OpKind::CONV2D_GRAD_INPUT,
         .name = "conv2d_grad_input" + how,
         .inputs = {random(y_shape, 53), random(filter_shape, 54)},
         .build =
             [=](const Operands& x) {
               return x[0].graph().append(OpKind::CONV2D_GRAD_INPUT, x, attributes, Type{DType::kF64, x_shape});
             },
         .tolerance = 1e-6});
    cases.push_back(
        {.kind = OpKind::CONV2D_GRAD_FILTER,
         .name = "conv2d_grad_filter" + how,
         .inputs = {random(y_shape, 55), random(x_shape, 56)},
         .build =
             [=](const Operands& x) {
               return x[0].graph().append(OpKind::CONV2D_GRAD_FILTER, x, attributes, Type{DType::kF64, filter_shape});
             },
         .tolerance = 1e-6});
  }
  return cases;
}

}  // namespace

std::vector<GradientCase> contraction_cases() {
  std::vector<GradientCase> cases = reduce_cases();
  for (GradientCase& c : matmul_cases()) cases.push_back(std::move(c));
  for (GradientCase& c : convolution_cases()) cases.push_back(std::move(c));
  return cases;
}

}  // namespace thrt::test
