#include "near_all.hpp"
#include "recording.hpp"
#include "reference_device.hpp"

#include <thrt/graph/autodiff.hpp>
#include <thrt/nn/distributions.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thrt::test {
namespace {

using ::testing::ElementsAre;

TEST(Categorical, HasTorchsLogProbabilitiesEntropyAndGradients) {
  Graph graph("g");
  const Tensor x = graph.input("x", {DType::kF64, {4, 5}});
  const nn::Categorical policy(x);
  const Tensor log_prob = policy.log_prob(graph.input("action", {DType::kI32, {4}})), entropy = policy.entropy();
  graph.output("log_prob", log_prob);
  graph.output("log_prob slope", gradients(sum(log_prob), {x})[0]);
  graph.output("entropy", entropy);
  graph.output("entropy slope", gradients(sum(entropy), {x})[0]);
  const HostValues results = run(graph, {{"x", f64({4, 5}, recorded("rows"))}, {"action", i32({4}, {3, 0, 4, 1})}});
  expect_near_all(results.at("log_prob").numbers(), recorded("categorical/log_prob", 0, 4), 1e-13);
  expect_near_all(results.at("log_prob slope").numbers(), recorded("categorical/log_prob", 4, 20), 1e-13);
  expect_near_all(results.at("entropy").numbers(), recorded("categorical/entropy", 0, 4), 1e-13);
  expect_near_all(results.at("entropy slope").numbers(), recorded("categorical/entropy", 4, 20), 1e-13);
}

TEST(Categorical, ModeIsTheFirstOfTheMostLikely) {
  Graph graph("g");
  graph.output("mode", nn::Categorical(graph.input("x", {DType::kF32, {3, 3}})).mode());
  const HostValues results = run(graph, {{"x", f32({3, 3}, {1, 5, 2, 7, 7, 7, -3, -2, -2})}});
  EXPECT_THAT(results.at("mode").numbers(), ElementsAre(1, 0, 1));
}

// Counts of 40 000 draws against the probabilities: within 5 standard deviations of the binomial distribution.
TEST(Categorical, SamplesInProportion) {
  constexpr std::int64_t kDraws = 40000;
  const std::vector<double> probabilities = {0.5, 0.3, 0.15, 0.05};
  std::vector<double> logits;
  for (const double p : probabilities) logits.push_back(std::log(p) + 3.0);
  Graph graph("g");
  nn::Random random(graph);
  const Tensor x = broadcast_to(graph.input("x", {DType::kF32, {4}}), {kDraws, 4});
  graph.output("action", nn::Categorical(x).sample(random));
  std::vector<double> counts(4, 0.0);
  for (const double action : run(graph, {{"x", f32({4}, logits)}}).at("action").numbers()) {
    counts.at(static_cast<std::size_t>(action)) += 1.0;
  }
  for (std::size_t i = 0; i < 4; ++i) {
    const double p = probabilities[i], n = static_cast<double>(kDraws);
    EXPECT_NEAR(counts[i], n * p, 5.0 * std::sqrt(n * p * (1.0 - p))) << i;
  }
}

}  // namespace
}  // namespace thrt::test
