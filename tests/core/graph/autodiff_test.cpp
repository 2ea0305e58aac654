#include "gradient_cases.hpp"

#include <thrt/error.hpp>
#include <thrt/graph/autodiff.hpp>
#include <thrt/graph/repeat.hpp>
#include <thrt/graph/tensor_ops.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace thrt::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void check_all(const std::vector<GradientCase>& cases) {
  for (const GradientCase& c : cases) expect_gradients_match(c);
}

TEST(Autodiff, ElementwiseGradientsMatchFiniteDifferences) {
  check_all(elementwise_cases());
}
TEST(Autodiff, MovementGradientsMatchFiniteDifferences) {
  check_all(movement_cases());
}
TEST(Autodiff, ContractionGradientsMatchFiniteDifferences) {
  check_all(contraction_cases());
}

// Ops whose results carry no gradient: they give no float, take none, or (repeat) are refused.
bool has_no_gradient(OpKind kind) {
  switch (kind) {
    case OpKind::CONSTANT:
    case OpKind::IOTA:
    case OpKind::NOT:
    case OpKind::AND:
    case OpKind::OR:
    case OpKind::XOR:
    case OpKind::SHIFT_LEFT:
    case OpKind::SHIFT_RIGHT:
    case OpKind::EQ:
    case OpKind::LT:
    case OpKind::LE:
    case OpKind::ARGMAX:
    case OpKind::ARGSORT:
    case OpKind::RANDOM_BITS:
    case OpKind::REPEAT:
      return true;
    default:
      return false;
  }
}

TEST(Autodiff, EveryOpWithAGradientHasACase) {
  std::set<OpKind> covered;
  for (const auto& cases : {elementwise_cases(), movement_cases(), contraction_cases()}) {
    for (const GradientCase& c : cases) covered.insert(c.kind);
  }
  for (const ir::OpInfo& op : ir::all_ops()) {
    EXPECT_NE(covered.contains(op.kind), has_no_gradient(op.kind)) << op.name;
  }
}

// The gradients of sum(f(x, y)) at numbers where f has a kink.
std::vector<std::vector<double>> slopes_at(const std::vector<HostValue>& at,
                                           const std::function<Tensor(const std::vector<Tensor>&)>& f) {
  Graph graph("kink");
  std::vector<Tensor> x;
  HostValues inputs;
  for (std::size_t i = 0; i < at.size(); ++i) {
    x.push_back(graph.input(fmt::format("x{}", i), at[i].type));
    inputs[fmt::format("x{}", i)] = at[i];
  }
  const std::vector<Tensor> slopes = gradients(sum(f(x)), x);
  for (std::size_t i = 0; i < slopes.size(); ++i) graph.output(fmt::format("d{}", i), slopes[i]);
  const HostValues results = run(graph, inputs);
  std::vector<std::vector<double>> numbers;
  for (std::size_t i = 0; i < slopes.size(); ++i) numbers.push_back(results.at(fmt::format("d{}", i)).numbers());
  return numbers;
}

TEST(Autodiff, TiesShareTheGradient) {
  const HostValue a = f64({3}, {1.0, 2.0, 3.0}), b = f64({3}, {1.0, 5.0, 0.0});
  const auto larger = slopes_at({a, b}, [](const auto& x) { return maximum(x[0], x[1]); });
  EXPECT_THAT(larger[0], ElementsAre(0.5, 0.0, 1.0));
  EXPECT_THAT(larger[1], ElementsAre(0.5, 1.0, 0.0));
  const auto smaller = slopes_at({a, b}, [](const auto& x) { return minimum(x[0], x[1]); });
  EXPECT_THAT(smaller[0], ElementsAre(0.5, 1.0, 0.0));
  EXPECT_THAT(smaller[1], ElementsAre(0.5, 0.0, 1.0));
  const auto most =
      slopes_at({f64({2, 4}, {7, 1, 7, 7, 0, 2, 2, 1})}, [](const auto& x) { return reduce_max(x[0], {1}) * 3.0; });
  EXPECT_THAT(most[0], ElementsAre(1, 0, 1, 1, 0, 1.5, 1.5, 0));
}

TEST(Autodiff, AbsIsFlatAtZero) {
  EXPECT_THAT(slopes_at({f64({3}, {-2, 0, 2})}, [](const auto& x) { return abs(x[0]); })[0], ElementsAre(-1, 0, 1));
}

TEST(Autodiff, WhatIsNotSelectedDoesNotLeak) {
  const auto slopes = slopes_at({f64({2}, {0.0, 4.0})}, [](const auto& x) {
    const Tensor positive = greater(x[0], 0.0);
    return select(positive, sqrt(select(positive, x[0], like(x[0], 1.0))), like(x[0], 0.0));
  });
  EXPECT_THAT(slopes[0], ElementsAre(0.0, 0.25));
}

TEST(Autodiff, PowersOfZeroHaveFiniteGradients) {
  const auto slopes =
      slopes_at({f64({4}, {0, 0, 0, 0}), f64({4}, {0, 1, 2, 0.5})}, [](const auto& x) { return pow(x[0], x[1]); });
  EXPECT_THAT(slopes[0], ElementsAre(0.0, 1.0, 0.0, std::numeric_limits<double>::infinity()));
  EXPECT_THAT(slopes[1], ElementsAre(0.0, 0.0, 0.0, 0.0));
}

TEST(Autodiff, AValueUsedTwiceCollectsBothGradients) {
  const auto slopes = slopes_at({f64({2}, {3.0, -1.0})}, [](const auto& x) { return x[0] * x[0] + 2.0 * x[0]; });
  EXPECT_THAT(slopes[0], ElementsAre(8.0, 0.0));
}

TEST(Autodiff, SourcesMayBeInsideOrUnrelatedOrTheTargetItself) {
  Graph graph("sources");
  const Tensor x = graph.input("x", {DType::kF64, {2}}), other = graph.input("other", {DType::kF64, {3}});
  const Tensor inside = x * x;
  const Tensor target = sum(3.0 * inside);
  const std::vector<Tensor> slopes = gradients(target, {inside, other, target});
  graph.output("inside", slopes[0]);
  graph.output("unrelated", slopes[1]);
  graph.output("target", slopes[2]);
  const HostValues results = run(graph, {{"x", f64({2}, {5, 7})}});
  EXPECT_THAT(results.at("inside").numbers(), ElementsAre(3, 3));
  EXPECT_THAT(results.at("unrelated").numbers(), ElementsAre(0, 0, 0));
  EXPECT_THAT(results.at("target").numbers(), ElementsAre(1));
}

TEST(Autodiff, StopGradientStops) {
  const auto slopes = slopes_at({f64({2}, {3.0, -1.0})}, [](const auto& x) { return x[0] * stop_gradient(x[0]); });
  EXPECT_THAT(slopes[0], ElementsAre(3.0, -1.0));
}

TEST(Autodiff, IntegersCarryNoGradient) {
  const auto slopes = slopes_at({f64({2}, {3.5, -1.5})},
                                [](const auto& x) { return x[0] * cast(cast(x[0], DType::kI32), DType::kF64); });
  EXPECT_THAT(slopes[0], ElementsAre(3.0, -1.0));
}

TEST(Autodiff, VectorJacobianProductWeighsTheTarget) {
  Graph graph("vjp");
  const Tensor x = graph.input("x", {DType::kF64, {3}}), seed = graph.input("seed", {DType::kF64, {3}});
  graph.output("product", vector_jacobian_product(square(x), seed, std::vector<Tensor>{x})[0]);
  const HostValues results = run(graph, {{"x", f64({3}, {1, 2, 3})}, {"seed", f64({3}, {1, 10, -1})}});
  EXPECT_THAT(results.at("product").numbers(), ElementsAre(2, 40, -6));
}

template <typename F>
std::string error_of(F&& action) {
  try {
    action();
  } catch (const Error& error) {
    return std::string(error.what()) + ": " + error.why();
  }
  return "no error";
}

TEST(Autodiff, RefusesATargetThatIsNotOneFloat) {
  Graph graph("g");
  const Tensor x = graph.input("x", {DType::kF64, {2}}), n = graph.input("n", {DType::kI32, {}});
  EXPECT_THAT(error_of([&] { gradients(x, {x}); }), HasSubstr("must be one float element"));
  EXPECT_THAT(error_of([&] { gradients(n, {x}); }), HasSubstr("must be one float element"));
  EXPECT_THAT(error_of([&] { vector_jacobian_product(x, sum(x), std::vector<Tensor>{x}); }), HasSubstr("with a seed"));
}

TEST(Autodiff, RefusesToPassThroughARepeat) {
  Graph body("body");
  body.update("x", body.state("x", {DType::kF64, {}}, Init::zeros()) * 2.0);
  Graph graph("outer");
  const Tensor x = graph.state("x", {DType::kF64, {}}, Init::zeros());
  const Tensor apart = x * 3.0;
  repeat(graph, 3, body, {});
  EXPECT_THAT(error_of([&] { gradients(graph.current("x"), {x}); }), HasSubstr("passes through a repeat"));
  EXPECT_NO_THROW(gradients(apart, {x}));  // a repeat that does not lie between is no obstacle
}

TEST(Autodiff, GradientOpsSayWhereTheyComeFrom) {
  Graph graph("g");
  const Tensor x = graph.input("x", {DType::kF32, {2}});
  Tensor y;
  {
    const Graph::Mark mark(graph, "thing/1", "net/layer");
    y = sum(square(x));
  }
  const std::size_t before = graph.ops().size();
  gradients(y, {x});
  EXPECT_EQ(graph.ops().back().location, "grad:net/layer");
  EXPECT_GT(graph.ops().size(), before);
}

}  // namespace
}  // namespace thrt::test
