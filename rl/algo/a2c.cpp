#include <thrt/rl/algo/a2c.hpp>

#include <thrt/error.hpp>
#include <thrt/graph/tensor_ops.hpp>
#include <thrt/nn/layers.hpp>
#include <thrt/nn/optimisers.hpp>

#include "rl/algo/gradient_step.hpp"
#include "rl/algo/on_policy_learner.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace thrt::rl {
namespace {

constexpr DType kF32 = DType::kF32;

void update_weights(Graph& graph, const A2cConfig& config, std::span<const std::string> weights,
                    std::span<const Tensor> slopes, Tensor learning_rate) {
  if (config.optimiser == "adam") {
    nn::adam(graph, weights, slopes, learning_rate, {.eps = config.optimiser_eps});
    return;
  }
  const bool tensorflow = config.optimiser == "rmsprop_tf";
  if (!tensorflow && config.optimiser != "rmsprop") {
    throw Error(fmt::format("unknown optimiser '{}'", config.optimiser), {}, "rmsprop, rmsprop_tf or adam");
  }
  using Variant = nn::RmspropOptions::Variant;
  nn::rmsprop(graph, weights, slopes, learning_rate,
              {.decay = config.rms_decay,
               .eps = config.optimiser_eps,
               .variant = tensorflow ? Variant::kTensorFlow : Variant::kPyTorch});
}

void add_gradient_step(Graph& graph, const A2cConfig& config, const PolicySpaces& spaces, const std::string& prefix,
                       std::int64_t batch) {
  const Type column{kF32, {batch}};
  const Tensor observations = graph.input(prefix + "observations", {kF32, {batch, spaces.observation_size}});
  const Tensor actions = graph.input(prefix + "actions", spaces.action_type(batch));
  const Tensor given = graph.input(prefix + "advantages", column);
  const Tensor returns = graph.input(prefix + "returns", column);
  const Tensor learning_rate = graph.input("learning_rate", {kF32, {}});

  const auto [policy, value] = actor_critic(shape_of(config), spaces, observations);
  const Tensor advantages = config.norm_adv ? normalised(given) : given;
  const Tensor policy_loss = -mean(advantages * policy.log_prob(actions));
  const Tensor value_loss = mean(square(returns - value));
  const Tensor entropy = mean(policy.entropy());
  Tensor loss = policy_loss + config.vf_coef * value_loss;
  if (config.ent_coef != 0.0) loss = loss - config.ent_coef * entropy;  // else its gradient need not be computed

  const std::vector<std::string> weights = nn::parameters(graph, "agent");
  const nn::ClippedGradients clipped = clipped_gradients(loss, nn::values(graph, weights), config.max_grad_norm);
  update_weights(graph, config, weights, clipped.gradients, learning_rate);
  graph.output("metrics", stacked({policy_loss, value_loss, entropy, loss, clipped.norm}));
}

}  // namespace

ActorCriticShape shape_of(const A2cConfig& config) {
  return {config.hidden, config.activation, config.shared_trunk};
}

Graph a2c_minibatch_graph(const A2cConfig& config, const PolicySpaces& spaces, std::int64_t batch) {
  Graph graph("a2c_train_step");
  add_gradient_step(graph, config, spaces, "", batch);
  return graph;
}

Graph a2c_update_graph(const A2cConfig& config, const PolicySpaces& spaces) {
  Graph graph("a2c_update");
  add_gradient_step(graph, config, spaces, "rollout/", config.batch_size());
  return graph;
}

}  // namespace thrt::rl
