#include <thrt/rl/algo/actor_critic.hpp>

#include <thrt/graph/tensor_ops.hpp>
#include <thrt/nn/layers.hpp>
#include <thrt/nn/random.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numbers>

namespace thrt::rl {
namespace {

constexpr DType kF32 = DType::kF32;

Tensor trunk(const ActorCriticShape& shape, Tensor observations, const std::string& name) {
  return nn::mlp(observations, name, shape.hidden, nn::activation_from(shape.activation), std::numbers::sqrt2);
}

Tensor policy_trunk(const ActorCriticShape& shape, Tensor observations) {
  return trunk(shape, observations, shape.shared_trunk ? "agent/trunk" : "agent/policy");
}

Policy policy_of(const PolicySpaces& spaces, Tensor features) {
  const Tensor output = nn::dense(features, "agent/policy/head", spaces.actions, {.weight = Init::orthogonal(0.01)});
  if (!spaces.continuous) return Policy(nn::Categorical(output));
  const Tensor log_std = output.graph().state("agent/policy/log_std", {kF32, {spaces.actions}}, Init::zeros());
  return Policy(nn::DiagonalGaussian(output, log_std));
}

Tensor value_of(Tensor features) {  // -> [B]
  return flatten(nn::dense(features, "agent/value/head", 1, {.weight = Init::orthogonal(1.0)}), 0);
}

Tensor observations_input(Graph& graph, std::int64_t batch, const PolicySpaces& spaces) {
  return graph.input("observations", {kF32, {batch, spaces.observation_size}});
}

}  // namespace

Type PolicySpaces::action_type(std::int64_t batch) const {
  return continuous ? Type{kF32, {batch, actions}} : Type{DType::kI32, {batch}};
}

PolicySpaces policy_spaces(const VectorEnv& env) {
  const auto observation_size = static_cast<std::int64_t>(env.observation_space().size());
  if (const auto* discrete = std::get_if<DiscreteSpace>(&env.action_space())) {
    return {observation_size, discrete->n, false};
  }
  return {observation_size, static_cast<std::int64_t>(std::get<BoxSpace>(env.action_space()).size()), true};
}

std::string ActorCriticShape::text() const {
  return fmt::format("hidden {}, activation {}{}", fmt::join(hidden, ","), activation,
                     shared_trunk ? ", shared trunk" : "");
}

Tensor Policy::log_prob(Tensor action) const {
  return std::visit([&](const auto& distribution) { return distribution.log_prob(action); }, distribution_);
}

Tensor Policy::entropy() const {
  return std::visit([](const auto& distribution) { return distribution.entropy(); }, distribution_);
}

Tensor Policy::mode() const {
  return std::visit([](const auto& distribution) { return distribution.mode(); }, distribution_);
}

Tensor Policy::sample(nn::Random& random) const {
  return std::visit([&](const auto& distribution) { return distribution.sample(random); }, distribution_);
}

Policy policy_network(const ActorCriticShape& shape, const PolicySpaces& spaces, Tensor observations) {
  return policy_of(spaces, policy_trunk(shape, observations));
}

ActorCritic actor_critic(const ActorCriticShape& shape, const PolicySpaces& spaces, Tensor observations) {
  const Tensor features = policy_trunk(shape, observations);
  const Policy policy = policy_of(spaces, features);
  return {policy, value_of(shape.shared_trunk ? features : trunk(shape, observations, "agent/value"))};
}

Graph actor_critic_act_graph(const std::string& name, const ActorCriticShape& shape, const PolicySpaces& spaces,
                             std::int64_t batch) {
  Graph graph(name);
  const ActorCritic networks = actor_critic(shape, spaces, observations_input(graph, batch, spaces));
  nn::Random random(graph, "rng/act");
  const Tensor action = networks.policy.sample(random);
  graph.output("action", action);
  graph.output("log_prob", networks.policy.log_prob(action));
  graph.output("value", networks.value);
  return graph;
}

Graph actor_critic_greedy_graph(const std::string& name, const ActorCriticShape& shape, const PolicySpaces& spaces,
                                std::int64_t batch) {
  Graph graph(name);
  graph.output("action", policy_network(shape, spaces, observations_input(graph, batch, spaces)).mode());
  return graph;
}

Graph actor_critic_value_graph(const std::string& name, const ActorCriticShape& shape, const PolicySpaces& spaces,
                               std::int64_t batch) {
  Graph graph(name);
  const Tensor observations = observations_input(graph, batch, spaces);
  graph.output("value", value_of(trunk(shape, observations, shape.shared_trunk ? "agent/trunk" : "agent/value")));
  return graph;
}

Tensor normalised(Tensor x) {
  const Tensor centred = x - mean(x);
  const double count = static_cast<double>(x.type().elements());
  const Tensor deviation = sqrt(sum(square(centred)) * (1.0 / std::max(count - 1.0, 1.0)));
  return centred / (deviation + 1e-8);
}

}  // namespace thrt::rl
