#include "near_all.hpp"
#include "recording.hpp"
#include "reference_device.hpp"

#include <thrt/graph/autodiff.hpp>
#include <thrt/graph/tensor_ops.hpp>
#include <thrt/nn/losses.hpp>

#include <gtest/gtest.h>

#include <functional>

namespace thrt::test {
namespace {

using nn::Reduction;
using Loss = std::function<Tensor(Tensor, Tensor, Reduction)>;

// Against a recorded line: the mean, each element's loss, the gradient of the mean.
void expect_recorded(const std::string& line, const std::string& target, const Loss& loss) {
  SCOPED_TRACE(line);
  Graph graph("g");
  const Tensor x = graph.input("x", {DType::kF64, {6}}), t = graph.input("t", {DType::kF64, {6}});
  const Tensor mean_loss = loss(x, t, Reduction::kMean);
  graph.output("mean", mean_loss);
  graph.output("each", loss(x, t, Reduction::kNone));
  graph.output("sum", loss(x, t, Reduction::kSum));
  graph.output("slope", gradients(mean_loss, {x})[0]);
  const HostValues results = run(graph, {{"x", f64({6}, recorded("x"))}, {"t", f64({6}, recorded(target))}});
  expect_near_all(results.at("mean").numbers(), recorded(line, 0, 1), 1e-14);
  expect_near_all(results.at("each").numbers(), recorded(line, 1, 6), 1e-14);
  expect_near_all(results.at("sum").numbers(), {6.0 * recorded(line).at(0)}, 1e-13);
  expect_near_all(results.at("slope").numbers(), recorded(line, 7, 6), 1e-14);
}

TEST(Losses, HaveTorchsValuesAndGradients) {
  expect_recorded("loss/mse", "z", nn::mse);
  expect_recorded("loss/mae", "z", nn::mae);
  expect_recorded("loss/huber", "z", [](Tensor x, Tensor z, Reduction r) { return nn::huber(x, z, 0.7, r); });
  expect_recorded("loss/smooth_l1", "z", [](Tensor x, Tensor z, Reduction r) { return nn::huber(x, z, 1.0, r); });
  expect_recorded("loss/bce", "y", nn::bce_with_logits);
}

TEST(Losses, BceIsStableForLargeLogits) {
  Graph graph("g");
  const Tensor x = graph.input("x", {DType::kF64, {6}});
  const Tensor loss = nn::bce_with_logits(x * 40.0, graph.input("y", {DType::kF64, {6}}));
  graph.output("loss", loss);
  graph.output("slope", gradients(loss, {x})[0] / 40.0);
  const HostValues results = run(graph, {{"x", f64({6}, recorded("x"))}, {"y", f64({6}, recorded("y"))}});
  expect_near_all(results.at("loss").numbers(), recorded("loss/bce_wide", 0, 1), 1e-14);
  expect_near_all(results.at("slope").numbers(), recorded("loss/bce_wide", 1, 6), 1e-14);
}

TEST(Losses, CrossEntropyHasTorchsValueAndGradient) {
  Graph graph("g");
  const Tensor x = graph.input("x", {DType::kF64, {4, 5}});
  const Tensor labels = graph.input("labels", {DType::kI32, {4}});
  const Tensor loss = nn::softmax_cross_entropy(x, labels);
  graph.output("loss", loss);
  graph.output("each", nn::softmax_cross_entropy(x, labels, Reduction::kNone));
  graph.output("slope", gradients(loss, {x})[0]);
  const HostValues results = run(graph, {{"x", f64({4, 5}, recorded("rows"))}, {"labels", i32({4}, {3, 0, 4, 1})}});
  expect_near_all(results.at("loss").numbers(), recorded("cross_entropy", 0, 1), 1e-14);
  expect_near_all(results.at("slope").numbers(), recorded("cross_entropy", 1, 20), 1e-14);
  std::vector<double> each = recorded("categorical/log_prob", 0, 4);
  for (double& value : each) value = -value;
  expect_near_all(results.at("each").numbers(), each, 1e-14);
}

TEST(Losses, DoNotBroadcast) {
  Graph graph("g");
  const Tensor column = graph.input("column", {DType::kF32, {4, 1}}), row = graph.input("row", {DType::kF32, {4}});
  EXPECT_THROW(nn::mse(column, row), ir::RuleError);
  EXPECT_THROW(nn::mae(column, row), ir::RuleError);
  EXPECT_THROW(nn::huber(column, row), ir::RuleError);
  EXPECT_THROW(nn::bce_with_logits(column, row), ir::RuleError);
}

// log_softmax far from 0, where exp of the logits overflows or vanishes: shifting all logits of a row changes nothing.
TEST(Softmax, IsStable) {
  Graph graph("g");
  const Tensor x = graph.input("x", {DType::kF32, {2, 3}});
  graph.output("log_softmax", log_softmax(x));
  graph.output("softmax", softmax(x));
  graph.output("logsumexp", logsumexp(x));
  const HostValues results = run(graph, {{"x", f32({2, 3}, {1000, 1001, 1002, -1000, -999, -998})}});
  const double total = std::log(1.0 + std::exp(1.0) + std::exp(2.0));
  for (std::size_t row = 0; row < 2; ++row) {
    for (std::size_t i = 0; i < 3; ++i) {
      const double expected = static_cast<double>(i) - total;
      EXPECT_NEAR(results.at("log_softmax").numbers()[3 * row + i], expected, 1e-6);
      EXPECT_NEAR(results.at("softmax").numbers()[3 * row + i], std::exp(expected), 1e-6);
    }
  }
  EXPECT_NEAR(results.at("logsumexp").numbers()[0], 1000 + total, 1e-4);
  EXPECT_NEAR(results.at("logsumexp").numbers()[1], -1000 + total, 1e-4);
}

}  // namespace
}  // namespace thrt::test
