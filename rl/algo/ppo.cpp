#include <thrt/rl/algo/ppo.hpp>

#include <thrt/graph/autodiff.hpp>
#include <thrt/graph/repeat.hpp>
#include <thrt/graph/tensor_ops.hpp>
#include <thrt/nn/distributions.hpp>
#include <thrt/nn/layers.hpp>
#include <thrt/nn/optimisers.hpp>
#include <thrt/nn/random.hpp>

#include <algorithm>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

namespace thrt::rl {
namespace {

constexpr DType kF32 = DType::kF32;

// The two networks, separate as in CleanRL and SB3; their parameters are the scope "agent". Orthogonal weights: gain
// sqrt(2) inside, 0.01 for the policy's head (a nearly uniform first policy), 1 for the value's.
constexpr const char* kAgent = "agent";

Tensor trunk(const PpoConfig& config, Tensor observations, const std::string& name) {
  return nn::mlp(observations, name, config.hidden, nn::activation_from(config.activation), std::numbers::sqrt2);
}

Tensor policy_logits(const PpoConfig& config, const PolicySpaces& spaces, Tensor observations) {  // [B, D] -> [B, A]
  const Tensor features = trunk(config, observations, "agent/policy");
  return nn::dense(features, "agent/policy/head", spaces.actions, {.weight = Init::orthogonal(0.01)});
}

Tensor state_value(const PpoConfig& config, Tensor observations) {  // [B, D] -> [B]
  const Tensor features = trunk(config, observations, "agent/value");
  return flatten(nn::dense(features, "agent/value/head", 1, {.weight = Init::orthogonal(1.0)}), 0);
}

Tensor observations_input(Graph& graph, std::int64_t batch, const PolicySpaces& spaces) {
  return graph.input("observations", {kF32, {batch, spaces.observation_size}});
}

// The transitions of a rollout or of a minibatch of it.
struct Transitions {
  Tensor observations, actions, log_probs, advantages, returns, values;

  static Transitions inputs(Graph& graph, const std::string& prefix, std::int64_t count, const PolicySpaces& spaces) {
    const Type column{kF32, {count}};
    return {graph.input(prefix + "observations", {kF32, {count, spaces.observation_size}}),
            graph.input(prefix + "actions", {DType::kI32, {count}}),
            graph.input(prefix + "log_probs", column),
            graph.input(prefix + "advantages", column),
            graph.input(prefix + "returns", column),
            graph.input(prefix + "values", column)};
  }
  NamedTensors named(const std::string& prefix) const {
    return {{prefix + "observations", observations}, {prefix + "actions", actions}, {prefix + "log_probs", log_probs},
            {prefix + "advantages", advantages},     {prefix + "returns", returns}, {prefix + "values", values}};
  }
  Transitions rows(Tensor indices) const {
    return {gather(observations, indices), gather(actions, indices), gather(log_probs, indices),
            gather(advantages, indices),   gather(returns, indices), gather(values, indices)};
  }
};

// To mean 0 and (sample) standard deviation 1, as CleanRL and SB3 do in each minibatch.
Tensor normalised(Tensor x) {
  const Tensor centred = x - mean(x);
  const double count = static_cast<double>(x.type().elements());
  const Tensor deviation = sqrt(sum(square(centred)) * (1.0 / std::max(count - 1.0, 1.0)));
  return centred / (deviation + 1e-8);
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
  const nn::Categorical policy(policy_logits(config, spaces, batch.observations));
  const Tensor value = state_value(config, batch.observations);

  const Tensor log_ratio = policy.log_prob(batch.actions) - batch.log_probs;
  const Tensor ratio = exp(log_ratio);
  const Tensor advantages = config.norm_adv ? normalised(batch.advantages) : batch.advantages;
  const Tensor surrogate = minimum(advantages * ratio, advantages * clamp(ratio, 1.0 - clip, 1.0 + clip));
  const Tensor policy_loss = -mean(surrogate);
  const Tensor critic_loss = value_loss(config, value, batch, clip);
  const Tensor entropy = mean(policy.entropy());
  const Tensor loss = policy_loss - config.ent_coef * entropy + config.vf_coef * critic_loss;

  // J. Schulman, "Approximating KL divergence" (2020): the low-variance estimator k3.
  const Tensor approx_kl = mean((ratio - 1.0) - log_ratio);
  const Tensor clip_fraction = mean(cast(less(broadcast_to(clip, ratio.shape()), abs(ratio - 1.0)), kF32));

  const std::vector<std::string> weights = nn::parameters(graph, kAgent);
  const std::vector<Tensor> slopes = gradients(loss, nn::values(graph, weights));
  const nn::ClippedGradients clipped = nn::clip_by_global_norm(
      slopes, config.max_grad_norm > 0.0 ? config.max_grad_norm : std::numeric_limits<double>::infinity());
  nn::adam(graph, weights, clipped.gradients, learning_rate, {.eps = config.adam_eps});

  const std::vector<Tensor> metrics = {policy_loss, critic_loss, entropy, loss, approx_kl, clip_fraction, clipped.norm};
  std::vector<Tensor> rows;
  rows.reserve(metrics.size());
  for (const Tensor metric : metrics) rows.push_back(reshape(metric, {1}));
  return concat(rows, 0);
}

// One epoch of the update as a graph of its own: a permutation, then a gradient step on each minibatch -> "metrics"
// [minibatches, 7].
Graph epoch_graph(const PpoConfig& config, const PolicySpaces& spaces) {
  if (config.num_minibatches == 1) {  // the order within one minibatch does not matter
    Graph whole("ppo_gradient_step");
    const Transitions all = Transitions::inputs(whole, "rollout/", config.batch_size(), spaces);
    const Tensor learning_rate = whole.input("learning_rate", {kF32, {}});
    const Tensor clip = whole.input("clip", {kF32, {}});
    whole.output("metrics", expand_dims(gradient_step(whole, config, spaces, all, learning_rate, clip), 0));
    return whole;
  }
  const std::int64_t size = config.minibatch_size();

  Graph step("ppo_gradient_step");
  const Transitions all = Transitions::inputs(step, "rollout/", config.batch_size(), spaces);
  const Tensor permutation = step.input("permutation", {DType::kI32, {config.batch_size()}});
  const Tensor first = step.input("iteration", {DType::kI32, {}}) * static_cast<double>(size);
  const Tensor rows = dynamic_slice(permutation, reshape(first, {1}), {size});
  const Tensor learning_rate = step.input("learning_rate", {kF32, {}});
  const Tensor clip = step.input("clip", {kF32, {}});
  step.output("metrics", gradient_step(step, config, spaces, all.rows(rows), learning_rate, clip));

  Graph epoch("ppo_epoch");
  NamedTensors inputs = Transitions::inputs(epoch, "rollout/", config.batch_size(), spaces).named("rollout/");
  inputs["learning_rate"] = epoch.input("learning_rate", {kF32, {}});
  inputs["clip"] = epoch.input("clip", {kF32, {}});
  nn::Random random(epoch, "rng/update");
  inputs["permutation"] = random.permutation(config.batch_size());
  epoch.output("metrics", repeat(epoch, config.num_minibatches, step, inputs).at("metrics"));
  return epoch;
}

}  // namespace

Graph ppo_act_graph(const PpoConfig& config, const PolicySpaces& spaces, std::int64_t batch) {
  Graph graph("ppo_act");
  const Tensor observations = observations_input(graph, batch, spaces);
  const nn::Categorical policy(policy_logits(config, spaces, observations));
  nn::Random random(graph, "rng/act");
  const Tensor action = policy.sample(random);
  graph.output("action", action);
  graph.output("log_prob", policy.log_prob(action));
  graph.output("value", state_value(config, observations));
  return graph;
}

Graph ppo_greedy_graph(const PpoConfig& config, const PolicySpaces& spaces, std::int64_t batch) {
  Graph graph("ppo_greedy");
  const Tensor observations = observations_input(graph, batch, spaces);
  graph.output("action", nn::Categorical(policy_logits(config, spaces, observations)).mode());
  return graph;
}

Graph ppo_value_graph(const PpoConfig& config, const PolicySpaces& spaces, std::int64_t batch) {
  Graph graph("ppo_value");
  graph.output("value", state_value(config, observations_input(graph, batch, spaces)));
  return graph;
}

Graph ppo_minibatch_graph(const PpoConfig& config, const PolicySpaces& spaces, std::int64_t minibatch) {
  Graph graph("ppo_train_step");
  const Transitions batch = Transitions::inputs(graph, "", minibatch, spaces);
  const Tensor learning_rate = graph.input("learning_rate", {kF32, {}});
  const Tensor clip = graph.input("clip", {kF32, {}});
  graph.output("metrics", gradient_step(graph, config, spaces, batch, learning_rate, clip));
  return graph;
}

Graph ppo_update_graph(const PpoConfig& config, const PolicySpaces& spaces) {
  Graph graph("ppo_update");
  NamedTensors inputs = Transitions::inputs(graph, "rollout/", config.batch_size(), spaces).named("rollout/");
  inputs["learning_rate"] = graph.input("learning_rate", {kF32, {}});
  inputs["clip"] = graph.input("clip", {kF32, {}});
  graph.output("metrics", repeat(graph, config.update_epochs, epoch_graph(config, spaces), inputs).at("metrics"));
  return graph;
}

}  // namespace thrt::rl
