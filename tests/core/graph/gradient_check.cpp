#include "gradient_check.hpp"

#include <thrt/graph/autodiff.hpp>
#include <thrt/graph/tensor_ops.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace thrt::test {
namespace {

std::string input_name(std::size_t index) {
  return fmt::format("x{}", index);
}

Tensor weights_like(Tensor x, Numbers& numbers) {
  const HostValue value(x.type(), numbers.uniforms(x.type().elements(), -1.0, 1.0));
  return x.graph().constant(value.type, value.bytes);
}

Tensor weighted_sum(Tensor y, Numbers& numbers) {
  return sum(weights_like(y, numbers) * (y + 0.5 * square(y)));
}

// Outputs "loss" and "gradient/xI"; for order 2 those of the sum of weighted first derivatives.
void build(Graph& graph, const GradientCase& c, int order, std::vector<std::size_t>& varied) {
  Numbers numbers(77);
  std::vector<Tensor> x, sources;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    x.push_back(graph.input(input_name(i), c.inputs[i].type));
    if (c.inputs[i].type.dtype != DType::kF64) continue;
    sources.push_back(x.back());
    varied.push_back(i);
  }
  const Tensor y = c.build(x);
  EXPECT_TRUE(std::any_of(graph.ops().begin(), graph.ops().end(), [&](const auto& op) { return op.kind == c.kind; }));
  Tensor loss = weighted_sum(cast(y, DType::kF64), numbers);
  std::vector<Tensor> slopes = gradients(loss, sources);
  if (order == 2) {
    Tensor total = scalar(graph, 0.0, DType::kF64);
    for (const Tensor slope : slopes) total = total + sum(weights_like(slope, numbers) * slope);
    loss = total;
    slopes = gradients(loss, sources);
  }
  graph.output("loss", loss);
  for (std::size_t i = 0; i < slopes.size(); ++i) graph.output("gradient/" + input_name(varied[i]), slopes[i]);
}

void check_order(const GradientCase& c, int order) {
  SCOPED_TRACE(fmt::format("{}, derivative {}", c.name, order));
  Graph graph("gradient_check");
  std::vector<std::size_t> varied;
  build(graph, c, order, varied);
  Session session(eliminate_dead_code(graph));
  for (std::size_t i = 0; i < c.inputs.size(); ++i) session.set(input_name(i), c.inputs[i]);
  session.run();
  const HostValues at_point = session.all();

  const auto loss_with = [&](std::size_t input, std::size_t element, double delta) {
    std::vector<double> moved = c.inputs[input].numbers();
    moved[element] += delta;
    session.set(input_name(input), HostValue(c.inputs[input].type, moved));
    session.run();
    return session.get("loss").number();
  };
  for (const std::size_t input : varied) {
    const HostValue& gradient = at_point.at("gradient/" + input_name(input));
    ASSERT_EQ(gradient.type, c.inputs[input].type);
    const std::vector<double> computed = gradient.numbers();
    for (std::size_t element = 0; element < computed.size(); ++element) {
      const double measured = (loss_with(input, element, c.step) - loss_with(input, element, -c.step)) / (2.0 * c.step);
      EXPECT_NEAR(computed[element], measured, c.tolerance * std::max(1.0, std::abs(measured)))
          << "by element " << element << " of operand " << input;
    }
    session.set(input_name(input), c.inputs[input]);
  }
}

}  // namespace

void expect_gradients_match(const GradientCase& c) {
  check_order(c, 1);
  check_order(c, 2);
}

}  // namespace thrt::test
