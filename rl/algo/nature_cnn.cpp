#include <thrt/rl/algo/nature_cnn.hpp>

#include <thrt/error.hpp>
#include <thrt/graph/autodiff.hpp>
#include <thrt/graph/tensor_ops.hpp>
#include <thrt/nn/distributions.hpp>
#include <thrt/nn/layers.hpp>
#include <thrt/nn/optimisers.hpp>

#include <numbers>
#include <string>
#include <vector>

namespace thrt::rl {
namespace {

constexpr DType kF32 = DType::kF32;
constexpr const char* kAgent = "agent";

Tensor frames(Graph& graph, const NatureCnn& net, std::int64_t batch) {
  const Tensor observations = graph.input("observations", {net.observations, {batch, 4, 84, 84}});
  if (net.observations == kF32) return observations;
  if (net.observations == DType::kU8) return cast(observations, kF32) * (1.0 / 255.0);
  throw Error("the network's frames are f32 or u8", {}, "ask for one of the two");
}

Tensor features(Tensor images) {  // [B, 4, 84, 84] -> [B, 512]
  struct Layer {
    std::int64_t channels, kernel, stride;
  };
  int number = 0;
  for (const Layer& layer : {Layer{32, 8, 4}, Layer{64, 4, 2}, Layer{64, 3, 1}}) {
    images = nn::conv2d(images, "agent/conv/" + std::to_string(++number), layer.channels, layer.kernel,
                        {.geometry = {.stride_h = layer.stride, .stride_w = layer.stride},
                         .filter = Init::orthogonal(std::numbers::sqrt2),
                         .activation = nn::Activation::kRelu});
  }
  return nn::dense(flatten(images), "agent/dense", 512,
                   {.weight = Init::orthogonal(std::numbers::sqrt2), .activation = nn::Activation::kRelu});
}

struct Heads {
  Tensor actions;  // Q-values or logits [B, A]
  Tensor value;    // [B], of a policy
};

Heads heads(Tensor features, const NatureCnn& net) {
  const bool is_policy = net.heads == NatureHeads::kPolicy;
  Heads result;
  result.actions = nn::dense(features, "agent/head", net.actions, {.weight = Init::orthogonal(is_policy ? 0.01 : 1.0)});
  if (is_policy) {
    result.value = flatten(nn::dense(features, "agent/value_head", 1, {.weight = Init::orthogonal(1.0)}), 0);
  }
  return result;
}

Tensor loss_of(const Heads& heads) {
  if (!heads.value) return mean(square(heads.actions));
  const nn::Categorical policy(heads.actions);
  return -mean(policy.log_probabilities()) + mean(square(heads.value)) - 0.01 * mean(policy.entropy());
}

}  // namespace

Graph nature_forward_graph(const NatureCnn& net, std::int64_t batch) {
  Graph graph("nature_forward");
  const Heads outputs = heads(features(frames(graph, net, batch)), net);
  graph.output(outputs.value ? "logits" : "q", outputs.actions);
  if (outputs.value) graph.output("value", outputs.value);
  return graph;
}

Graph nature_train_step_graph(const NatureCnn& net, std::int64_t batch) {
  Graph graph("nature_train_step");
  const Tensor loss = loss_of(heads(features(frames(graph, net, batch)), net));
  const Tensor learning_rate = graph.input("learning_rate", {kF32, {}});
  const std::vector<std::string> weights = nn::parameters(graph, kAgent);
  const std::vector<Tensor> slopes = gradients(loss, nn::values(graph, weights));
  nn::adam(graph, weights, slopes, learning_rate);
  graph.output("loss", loss);
  return graph;
}

}  // namespace thrt::rl
