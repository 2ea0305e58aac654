#include "near_all.hpp"
#include "recording.hpp"
#include "reference_device.hpp"

#include <thrt/error.hpp>
#include <thrt/graph/autodiff.hpp>
#include <thrt/nn/layers.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace thrt::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kTight = 1e-14;

class ActivationTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ActivationTest, HasTorchsValuesAndGradients) {
  Graph graph("g");
  const Tensor x = graph.input("x", {DType::kF64, {6}});
  const Tensor y = nn::activate(x, nn::activation_from(GetParam()));
  graph.output("y", y);
  graph.output("slope", gradients(sum(y), {x})[0]);
  const HostValues results = run(graph, {{"x", f64({6}, recorded("x"))}});
  const std::string line = std::string("activation/") + GetParam();
  expect_near_all(results.at("y").numbers(), recorded(line, 0, 6), kTight);
  expect_near_all(results.at("slope").numbers(), recorded(line, 6, 6), kTight);
}

INSTANTIATE_TEST_SUITE_P(All, ActivationTest,
                         ::testing::Values("relu", "leaky_relu", "tanh", "sigmoid", "gelu", "silu", "softplus", "elu"));

TEST(Activation, NamesGoThereAndBack) {
  for (const char* name : {"identity", "relu", "leaky_relu", "tanh", "sigmoid", "gelu", "silu", "softplus", "elu"}) {
    EXPECT_EQ(nn::activation_name(nn::activation_from(name)), name);
  }
  try {
    nn::activation_from("rleu");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("'rleu'"));
    EXPECT_THAT(error.next(), HasSubstr("identity, relu, leaky_relu, tanh"));
  }
}

TEST(Activation, StayFiniteFarOut) {
  for (const char* name : {"softplus", "elu", "silu", "gelu"}) {
    Graph graph("g");
    const Tensor x = graph.input("x", {DType::kF32, {2}});
    const Tensor y = nn::activate(x, nn::activation_from(name));
    graph.output("y", y);
    graph.output("slope", gradients(sum(y), {x})[0]);
    const HostValues results = run(graph, {{"x", f32({2}, {-500, 500})}});
    const double low = std::string(name) == "elu" ? -1.0 : 0.0;
    EXPECT_THAT(results.at("y").numbers(), ElementsAre(low, 500)) << name;
    EXPECT_THAT(results.at("slope").numbers(), ElementsAre(0, 1)) << name;
  }
}

TEST(Activation, ReluIsFlatAtZero) {
  Graph graph("g");
  const Tensor x = graph.input("x", {DType::kF32, {2}});
  graph.output("slope", gradients(sum(nn::relu(x)), {x})[0]);
  EXPECT_THAT(run(graph, {{"x", f32({2}, {0, 1})}}).at("slope").numbers(), ElementsAre(0, 1));
}

TEST(Expm1, IsAccurateNearZero) {
  Graph graph("g");
  graph.output("y", nn::expm1(graph.input("x", {DType::kF32, {4}})));
  const std::vector<double> at = {-1e-6, -1e-3, -0.5, -20.0};
  const std::vector<double> y = run(graph, {{"x", f32({4}, at)}}).at("y").numbers();
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double expected = std::expm1(static_cast<double>(static_cast<float>(at[i])));
    EXPECT_NEAR(y[i] / expected, 1.0, 1e-6) << at[i];
  }
}

TEST(Dense, IsAnAffineMapOfTheLastAxis) {
  Graph graph("g");
  const Tensor x = graph.input("x", {DType::kF32, {2, 1, 2}});
  graph.output("y", nn::dense(x, "fc", 3));
  EXPECT_EQ(graph.find_slot("fc/weight")->type.str(), "f32[2, 3]");
  EXPECT_EQ(graph.find_slot("fc/bias")->type.str(), "f32[3]");
  const HostValues results = run(graph, {{"x", f32({2, 1, 2}, {1, 2, -1, 3})},
                                         {"fc/weight", f32({2, 3}, {1, 2, 3, 10, 20, 30})},
                                         {"fc/bias", f32({3}, {0.5, 0, -1})}});
  EXPECT_EQ(results.at("y").type.str(), "f32[2, 1, 3]");
  EXPECT_THAT(results.at("y").numbers(), ElementsAre(21.5, 42, 62, 29.5, 58, 86));
}

TEST(Dense, MarksItsOps) {
  Graph graph("g");
  const Tensor x = graph.input("x", {DType::kF32, {2, 2}});
  nn::dense(nn::dense(x, "a", 3, {.activation = nn::Activation::kTanh}), "b", 1, {.use_bias = false});
  EXPECT_EQ(graph.find_slot("b/bias"), nullptr);
  ASSERT_EQ(graph.groups().size(), 2u);
  EXPECT_EQ(graph.groups()[0].name, "linear_tanh/1");
  EXPECT_EQ(graph.groups()[1].name, "linear/1");
  EXPECT_EQ(graph.ops().front().location, "a");
  EXPECT_EQ(graph.ops().back().location, "b");
}

TEST(Dense, RefusesWhatCannotBe) {
  Graph graph("g");
  EXPECT_THROW(nn::dense(graph.input("x", {DType::kF32, {2, 2}}), "fc", 0), Error);
  EXPECT_THROW(nn::dense(graph.input("v", {DType::kF32, {2}}), "fc", 1), Error);
  EXPECT_THROW(nn::conv2d(graph.input("m", {DType::kF32, {2, 2}}), "conv", 1, 3), Error);
}

TEST(Layers, ActingAndTrainingDeclareTheSameSlots) {
  Graph act("act"), train("train");
  for (Graph* graph : {&act, &train}) {
    const std::int64_t batch = graph == &act ? 1 : 64;
    const Tensor x = graph->input("x", {DType::kF32, {batch, 4}});
    nn::dense(nn::mlp(x, "agent/pi", {64, 32}, nn::Activation::kTanh, std::sqrt(2.0)), "agent/pi/head", 2,
              {.weight = Init::orthogonal(0.01)});
  }
  const std::vector<std::string> names = nn::parameters(act, "agent");
  EXPECT_THAT(names, ElementsAre("agent/pi/1/weight", "agent/pi/1/bias", "agent/pi/2/weight", "agent/pi/2/bias",
                                 "agent/pi/head/weight", "agent/pi/head/bias"));
  EXPECT_EQ(nn::parameters(train, "agent"), names);
  for (const std::string& name : names) {
    EXPECT_EQ(act.find_slot(name)->type, train.find_slot(name)->type);
    EXPECT_EQ(act.find_slot(name)->init, train.find_slot(name)->init);
  }
  EXPECT_EQ(train.find_slot("agent/pi/2/weight")->type.str(), "f32[64, 32]");
}

TEST(Parameters, AreTheFloatStatesOfAScope) {
  Graph graph("g");
  graph.state("net/a", {DType::kF32, {}}, Init::zeros());
  graph.state("network/b", {DType::kF32, {}}, Init::zeros());
  graph.state("net/count", {DType::kI32, {}}, Init::zeros());
  graph.input("net/x", {DType::kF32, {}});
  graph.state("net", {DType::kF32, {}}, Init::zeros());
  EXPECT_THAT(nn::parameters(graph, "net"), ElementsAre("net/a", "net"));
  EXPECT_THROW(nn::parameters(graph, "nowhere"), Error);
  graph.update("net/a", graph.current("net/a") + 1.0);
  const std::vector<std::string> names = {"net/a"};
  EXPECT_EQ(nn::values(graph, names)[0], graph.current("net/a"));
}

TEST(Conv2d, AddsOneBiasPerChannel) {
  Graph graph("g");
  const Tensor x = graph.input("x", {DType::kF32, {1, 1, 3, 3}});
  graph.output("y", nn::conv2d(x, "conv", 2, 2, {.geometry = {.stride_h = 1, .stride_w = 1}}));
  EXPECT_EQ(graph.find_slot("conv/filter")->type.str(), "f32[2, 1, 2, 2]");
  const HostValues results = run(graph, {{"x", f32({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})},
                                         {"conv/filter", f32({2, 1, 2, 2}, {1, 0, 0, 0, 0, 0, 0, -1})},
                                         {"conv/bias", f32({2}, {100, 1})}});
  EXPECT_THAT(results.at("y").numbers(), ElementsAre(101, 102, 104, 105, -4, -5, -7, -8));
}

TEST(LayerNorm, HasTorchsValuesAndGradients) {
  Graph graph("g");
  const Tensor x = graph.input("x", {DType::kF64, {4, 5}}), upstream = graph.input("upstream", {DType::kF64, {4, 5}});
  const Tensor y = nn::layer_norm(x, "norm");
  const std::vector<std::string> names = nn::parameters(graph, "norm");
  EXPECT_THAT(names, ElementsAre("norm/weight", "norm/bias"));
  const std::vector<Tensor> slopes =
      gradients(sum(y * upstream), {x, graph.current("norm/weight"), graph.current("norm/bias")});
  graph.output("y", y);
  graph.output("dx", slopes[0]);
  graph.output("dw", slopes[1]);
  graph.output("db", slopes[2]);
  const HostValues results = run(graph, {{"x", f64({4, 5}, recorded("rows"))},
                                         {"norm/weight", f64({5}, recorded("layer_norm/inputs", 0, 5))},
                                         {"norm/bias", f64({5}, recorded("layer_norm/inputs", 5, 5))},
                                         {"upstream", f64({4, 5}, recorded("layer_norm/inputs", 10, 20))}});
  expect_near_all(results.at("y").numbers(), recorded("layer_norm/outputs", 0, 20), 1e-13);
  expect_near_all(results.at("dx").numbers(), recorded("layer_norm/outputs", 20, 20), 1e-13);
  expect_near_all(results.at("dw").numbers(), recorded("layer_norm/outputs", 40, 5), 1e-13);
  expect_near_all(results.at("db").numbers(), recorded("layer_norm/outputs", 45, 5), 1e-13);
}

}  // namespace
}  // namespace thrt::test
