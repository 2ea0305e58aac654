#include <thrt/rl/algo/ppo.hpp>

#include <thrt/graph/repeat.hpp>
#include <thrt/graph/tensor_ops.hpp>
#include <thrt/nn/layers.hpp>
#include <thrt/nn/optimisers.hpp>
#include <thrt/nn/random.hpp>

#include "rl/algo/gradient_step.hpp"
#include "rl/algo/on_policy_learner.hpp"

#include <string>
#include <vector>

namespace thrt::rl {
namespace {

constexpr DType kF32 = DType::kF32;

constexpr const char* kAgent = "agent";  // the scope of all parameters

// Of a rollout or of a minibatch of it.
struct Transitions {
  Tensor observations, actions, log_probs, advantages, returns, values;
};

Transitions inputs(Graph& graph, const std::string& prefix, std::int64_t count, const PolicySpaces& spaces) {
  const Type column{kF32, {count}};
  return {graph.input(prefix + "observations", {kF32, {count, spaces.observation_size}}),
          graph.input(prefix + "actions", spaces.action_type(count)),
          graph.input(prefix + "log_probs", column),
          graph.input(prefix + "advantages", column),
          graph.input(prefix + "returns", column),
          graph.input(prefix + "values", column)};
}

NamedTensors named(const Transitions& batch, const std::string& prefix) {
  return {{prefix + "observations", batch.observations}, {prefix + "actions", batch.actions},
          {prefix + "log_probs", batch.log_probs},       {prefix + "advantages", batch.advantages},
          {prefix + "returns", batch.returns},           {prefix + "values", batch.values}};
}

Transitions rows(const Transitions& batch, Tensor indices) {
  return {gather(batch.observations, indices), gather(batch.actions, indices), gather(batch.log_probs, indices),
          gather(batch.advantages, indices),   gather(batch.returns, indices), gather(batch.values, indices)};
}

Tensor value_loss(const PpoConfig& config, Tensor value, const Transitions& batch, Tensor clip) {
  const Tensor unclipped = square(value - batch.returns);
  if (!config.clip_vloss) return 0.5 * mean(unclipped);
  const Tensor moved = batch.values + clamp(value - batch.values, -clip, clip);
  return 0.5 * mean(maximum(unclipped, square(moved - batch.returns)));
}

// Appends one gradient step to the graph; returns its metrics [7].
Tensor gradient_step(Graph& graph, const PpoConfig& config, const PolicySpaces& spaces, const Transitions& batch,
                     Tensor learning_rate, Tensor clip) {
  const auto [policy, value] = actor_critic(shape_of(config), spaces, batch.observations);

  const Tensor log_ratio = policy.log_prob(batch.actions) - batch.log_probs;
  const Tensor ratio = exp(log_ratio);
  const Tensor advantages = config.norm_adv ? normalised(batch.advantages) : batch.advantages;
  const Tensor surrogate = minimum(advantages * ratio, advantages * clamp(ratio, 1.0 - clip, 1.0 + clip));
  const Tensor policy_loss = -mean(surrogate);
  const Tensor critic_loss = value_loss(config, value, batch, clip);
  const Tensor entropy = mean(policy.entropy());
  Tensor loss = policy_loss + config.vf_coef * critic_loss;
  if (config.ent_coef != 0.0) loss = loss - config.ent_coef * entropy;  // else its gradient need not be computed

  // J. Schulman, "Approximating KL divergence" (2020): the low-variance estimator k3.
  const Tensor approx_kl = mean((ratio - 1.0) - log_ratio);
  const Tensor clip_fraction = mean(cast(less(broadcast_to(clip, ratio.shape()), abs(ratio - 1.0)), kF32));

  const std::vector<std::string> weights = nn::parameters(graph, kAgent);
  const nn::ClippedGradients clipped = clipped_gradients(loss, nn::values(graph, weights), config.max_grad_norm);
  nn::adam(graph, weights, clipped.gradients, learning_rate, {.eps = config.adam_eps});

  return stacked({policy_loss, critic_loss, entropy, loss, approx_kl, clip_fraction, clipped.norm});
}

// One epoch of the update as a graph of its own: a permutation, then a gradient step on each minibatch -> "metrics"
// [minibatches, 7].
Graph epoch_graph(const PpoConfig& config, const PolicySpaces& spaces) {
  if (config.num_minibatches == 1) {  // the order within one minibatch does not matter
    Graph whole("ppo_gradient_step");
    const Transitions all = inputs(whole, "rollout/", config.batch_size(), spaces);
    const Tensor learning_rate = whole.input("learning_rate", {kF32, {}});
    const Tensor clip = whole.input("clip", {kF32, {}});
    whole.output("metrics", expand_dims(gradient_step(whole, config, spaces, all, learning_rate, clip), 0));
    return whole;
  }
  const std::int64_t size = config.minibatch_size();

  Graph step("ppo_gradient_step");
  const Transitions all = inputs(step, "rollout/", config.batch_size(), spaces);
  const Tensor permutation = step.input("permutation", {DType::kI32, {config.batch_size()}});
  const Tensor first = step.input("iteration", {DType::kI32, {}}) * static_cast<double>(size);
  const Tensor chosen = dynamic_slice(permutation, reshape(first, {1}), {size});
  const Tensor learning_rate = step.input("learning_rate", {kF32, {}});
  const Tensor clip = step.input("clip", {kF32, {}});
  step.output("metrics", gradient_step(step, config, spaces, rows(all, chosen), learning_rate, clip));

  Graph epoch("ppo_epoch");
  NamedTensors values = named(inputs(epoch, "rollout/", config.batch_size(), spaces), "rollout/");
  values["learning_rate"] = epoch.input("learning_rate", {kF32, {}});
  values["clip"] = epoch.input("clip", {kF32, {}});
  nn::Random random(epoch, "rng/update");
  values["permutation"] = random.permutation(config.batch_size());
  epoch.output("metrics", repeat(epoch, config.num_minibatches, step, values).at("metrics"));
  return epoch;
}

}  // namespace

ActorCriticShape shape_of(const PpoConfig& config) {
  return {config.hidden, config.activation, config.shared_trunk};
}

Graph ppo_act_graph(const PpoConfig& config, const PolicySpaces& spaces, std::int64_t batch) {
  return actor_critic_act_graph("ppo_act", shape_of(config), spaces, batch);
}

Graph ppo_greedy_graph(const PpoConfig& config, const PolicySpaces& spaces, std::int64_t batch) {
  return actor_critic_greedy_graph("ppo_greedy", shape_of(config), spaces, batch);
}

Graph ppo_value_graph(const PpoConfig& config, const PolicySpaces& spaces, std::int64_t batch) {
  return actor_critic_value_graph("ppo_value", shape_of(config), spaces, batch);
}

Graph ppo_minibatch_graph(const PpoConfig& config, const PolicySpaces& spaces, std::int64_t minibatch) {
  Graph graph("ppo_train_step");
  const Transitions batch = inputs(graph, "", minibatch, spaces);
  const Tensor learning_rate = graph.input("learning_rate", {kF32, {}});
  const Tensor clip = graph.input("clip", {kF32, {}});
  graph.output("metrics", gradient_step(graph, config, spaces, batch, learning_rate, clip));
  return graph;
}

Graph ppo_update_graph(const PpoConfig& config, const PolicySpaces& spaces) {
  Graph graph("ppo_update");
  NamedTensors values = named(inputs(graph, "rollout/", config.batch_size(), spaces), "rollout/");
  values["learning_rate"] = graph.input("learning_rate", {kF32, {}});
  values["clip"] = graph.input("clip", {kF32, {}});
  graph.output("metrics", repeat(graph, config.update_epochs, epoch_graph(config, spaces), values).at("metrics"));
  return graph;
}

}  // namespace thrt::rl
