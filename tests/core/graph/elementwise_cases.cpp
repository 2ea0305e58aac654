#include "gradient_cases.hpp"

#include <thrt/graph/tensor_ops.hpp>

namespace thrt::test {
namespace {

using Operands = std::vector<Tensor>;

// Seven numbers away from the kinks and jumps of abs, sign, floor and round.
HostValue mixed() {
  return f64({7}, {-2.3, -1.1, -0.4, 0.3, 0.8, 1.2, 2.7});
}
HostValue positive() {
  return f64({5}, {0.2, 0.7, 1.0, 1.9, 4.5});
}

GradientCase unary(OpKind kind, const std::string& name, Tensor (*function)(Tensor), const HostValue& at = mixed()) {
  return {
      .kind = kind, .name = name, .inputs = {at}, .build = [function](const Operands& x) { return function(x[0]); }};
}

// Shapes that broadcast against each other, in both operands.
GradientCase binary(OpKind kind, const std::string& name, Tensor (*function)(Tensor, Tensor), double low = 0.3) {
  Numbers numbers(5);
  return {.kind = kind,
          .name = name,
          .inputs = {f64({3, 1, 2}, numbers.uniforms(6, low, 2.0)), f64({4, 1}, numbers.uniforms(4, 0.4, 2.5))},
          .build = [function](const Operands& x) { return function(x[0], x[1]); }};
}

std::vector<GradientCase> unary_cases() {
  return {
      unary(OpKind::NEG, "neg", [](Tensor x) { return -x; }),
      unary(OpKind::ABS, "abs", abs),
      unary(OpKind::SIGN, "sign", sign),
      unary(OpKind::FLOOR, "floor", floor),
      unary(OpKind::ROUND, "round", round),
      unary(OpKind::SQRT, "sqrt", sqrt, positive()),
      unary(OpKind::EXP, "exp", exp),
      unary(OpKind::LOG, "log", log, positive()),
      unary(OpKind::LOG1P, "log1p", log1p, f64({4}, {-0.7, -0.1, 0.2, 3.0})),
      unary(OpKind::SIN, "sin", sin),
      unary(OpKind::COS, "cos", cos),
      unary(OpKind::TANH, "tanh", tanh),
      unary(OpKind::SIGMOID, "sigmoid", sigmoid),
      unary(OpKind::ERF, "erf", erf),
      {.kind = OpKind::CAST,  // through f32, whose steps of 6e-8 need a wide difference; x^2 and w y^2 / 2 stay cubic
       .name = "cast to f32",
       .inputs = {f64({3}, {-0.75, 0.5, 1.25})},
       .build = [](const Operands& x) { return cast(cast(x[0], DType::kF32) * 0.5, DType::kF64); },
       .step = 0.0625,
       .tolerance = 1e-5},
  };
}

std::vector<GradientCase> binary_cases() {
  std::vector<GradientCase> cases = {
      binary(OpKind::ADD, "add", [](Tensor a, Tensor b) { return a + b; }),
      binary(OpKind::SUB, "sub", [](Tensor a, Tensor b) { return a - b; }),
      binary(OpKind::MUL, "mul", [](Tensor a, Tensor b) { return a * b; }),
      binary(OpKind::DIV, "div", [](Tensor a, Tensor b) { return a / b; }),
      binary(OpKind::POW, "pow", pow),
      binary(OpKind::MAX, "max", maximum, -2.0),
      binary(OpKind::MIN, "min", minimum, -2.0),
  };
  cases.push_back({.kind = OpKind::REM,
                   .name = "rem, all signs",
                   .inputs = {f64({4}, {5.3, -5.3, 7.1, -0.9}), f64({4}, {2.0, 1.5, -3.0, -4.0})},
                   .build = [](const Operands& x) { return rem(x[0], x[1]); }});
  for (const double exponent : {0.0, 1.0, 2.0, 3.0, -1.0}) {
    cases.push_back({.kind = OpKind::POW,
                     .name = "pow of negative numbers, exponent " + std::to_string(exponent),
                     .inputs = {f64({3}, {-1.7, -0.6, 2.0})},
                     .build = [exponent](const Operands& x) { return pow(x[0], like(x[0], exponent)); }});
  }
  for (const double exponent : {0.0, 1.0, 2.0, 3.0}) {
    cases.push_back({.kind = OpKind::POW,
                     .name = "pow at 0, exponent " + std::to_string(exponent),
                     .inputs = {f64({1}, {0.0})},
                     .build = [exponent](const Operands& x) { return pow(x[0], like(x[0], exponent)); }});
  }
  cases.push_back({.kind = OpKind::SELECT,
                   .name = "select, with a value that is also the condition's",
                   .inputs = {mixed(), f64({7}, {1.0, -2.0, 0.5, 0.7, -0.3, 2.0, 0.1})},
                   .build = [](const Operands& x) { return select(less(x[0], 0.5), x[0] * x[1], x[1]); }});
  cases.push_back({.kind = OpKind::SELECT,
                   .name = "select, broadcast on all three sides",
                   .inputs = {f64({2, 1}, {0.4, -0.8}), f64({3}, {1.0, 2.0, -1.0})},
                   .build = [](const Operands& x) {
                     return select(greater(iota(x[0].graph(), {DType::kI32, {3}}, 0), 0.0), x[0], x[1]);
                   }});
  return cases;
}

}  // namespace

std::vector<GradientCase> elementwise_cases() {
  std::vector<GradientCase> cases = unary_cases();
  for (GradientCase& c : binary_cases()) cases.push_back(std::move(c));
  return cases;
}

}  // namespace thrt::test
