#include <thrt/rl/algo/sac.hpp>

#include <thrt/graph/autodiff.hpp>
#include <thrt/graph/tensor_ops.hpp>
#include <thrt/nn/layers.hpp>
#include <thrt/nn/losses.hpp>
#include <thrt/nn/optimisers.hpp>
#include <thrt/rl/algo/sac_policy.hpp>
#include <thrt/rl/buffer/replay.hpp>

#include "rl/algo/gradient_step.hpp"
#include "rl/algo/off_policy_graphs.hpp"

#include <cmath>
#include <string>
#include <vector>

namespace thrt::rl {
namespace {

constexpr DType kF32 = DType::kF32;
constexpr const char* kActor = "agent/actor";
constexpr const char* kLogAlpha = "temperature/log_alpha";

TanhGaussian policy(const SacConfig& config, const SacSpaces& spaces, Tensor observations) {
  const Tensor features = uniform_mlp(observations, kActor, config.hidden, nn::activation_from(config.activation));
  // One layer for both halves: mean and logarithm of the deviation.
  const std::int64_t size = spaces.action_size();
  const Tensor head = uniform_dense(features, std::string(kActor) + "/head", 2 * size);
  return {slice(head, 1, 0, size), slice(head, 1, size, size)};
}

Tensor critic(const SacConfig& config, Tensor input, const std::string& name) {  // [B, D + A] -> [B]
  const Tensor features = uniform_mlp(input, name, config.hidden, nn::activation_from(config.activation));
  return reshape(uniform_dense(features, name + "/head", 1), {input.dim(0)});
}

struct TwinValues {
  Tensor first, second;  // [B]

  Tensor least() const { return minimum(first, second); }
};

TwinValues critics(const SacConfig& config, Tensor observations, Tensor actions, const std::string& scope) {
  const Tensor input = concat(std::vector<Tensor>{observations, actions}, 1);
  return {critic(config, input, scope + "/critic1"), critic(config, input, scope + "/critic2")};
}

std::vector<std::string> critic_parameters(const Graph& graph, const std::string& scope) {
  std::vector<std::string> names = nn::parameters(graph, scope + "/critic1");
  for (const std::string& name : nn::parameters(graph, scope + "/critic2")) names.push_back(name);
  return names;
}

void move_targets(Graph& graph, double rate) {
  for (const char* which : {"/critic1", "/critic2"}) {
    move_towards(graph, std::string("target") + which, std::string("agent") + which, rate);
  }
}

ReplayShape replay_shape(const SacConfig& config, const SacSpaces& spaces) {
  return {config.buffer_size, spaces.observation_size, spaces.action_size()};
}

// Half the width and the middle of each action element's range.
struct Scaling {
  Tensor half, middle;  // [A]

  Scaling(Graph& graph, const SacSpaces& spaces) {
    std::vector<float> halves, middles;
    for (std::size_t i = 0; i < spaces.action_low.size(); ++i) {
      halves.push_back((spaces.action_high[i] - spaces.action_low[i]) * 0.5F);
      middles.push_back((spaces.action_high[i] + spaces.action_low[i]) * 0.5F);
    }
    half = constant_f32(graph, {spaces.action_size()}, halves);
    middle = constant_f32(graph, {spaces.action_size()}, middles);
  }
  Tensor to_environment(Tensor action) const { return action * half + middle; }
  Tensor to_network(Tensor action) const { return (action - middle) / half; }
};

// [N, A], in [-1, 1]: with probability epsilon uniform, else from the policy. State "rng/act".
Tensor explore(const SacConfig& config, const SacSpaces& spaces, Tensor observations, Tensor epsilon) {
  const std::int64_t count = observations.dim(0), size = spaces.action_size();
  nn::Random random(observations.graph(), "rng/act");
  const Tensor drawn = random.uniform({count, size + 1});
  const Tensor uniform = 2.0 * slice(drawn, 1, 1, size) - 1.0;
  const Tensor chosen = policy(config, spaces, observations).action(random.normal({count, size}));
  const Tensor explores = less(slice(drawn, 1, 0, 1), broadcast_to(epsilon, {count, 1}));
  return select(broadcast_to(explores, {count, size}), uniform, chosen);
}

void act(const SacConfig& config, const SacSpaces& spaces, Tensor observations, Tensor epsilon) {
  Graph& graph = observations.graph();
  graph.state("act/observations", observations.type(), Init::zeros());
  graph.state("act/action", {kF32, {observations.dim(0), spaces.action_size()}}, Init::zeros());
  graph.update("act/observations", observations);
  graph.update("act/action", Scaling(graph, spaces).to_environment(explore(config, spaces, observations, epsilon)));
}

// The temperature's step: the gradient of -log_alpha * mean(log_prob + target entropy).
void step_temperature(Graph& graph, const SacConfig& config, const SacSpaces& spaces, Tensor mean_log_prob,
                      Tensor learning_rate) {
  const double wanted =
      config.target_entropy != 0.0 ? config.target_entropy : -static_cast<double>(spaces.action_size());
  const std::vector<std::string> names = {kLogAlpha};
  const std::vector<Tensor> slopes = {stop_gradient(-(mean_log_prob + wanted))};
  nn::adam(graph, names, slopes, learning_rate, {.eps = config.adam_eps, .name = "adam_temperature"});
}

// Appends one gradient step; returns its metrics [6]. noise: [2, B, A].
Tensor gradient_step(Graph& graph, const SacConfig& config, const SacSpaces& spaces, const ReplayBatch& batch,
                     Tensor noise, Tensor learning_rate) {
  const Shape actions_shape = batch.actions.shape();
  const auto noise_of = [&](std::int64_t which) { return reshape(slice(noise, 0, which, 1), actions_shape); };
  const Tensor alpha = exp(graph.state(kLogAlpha, {kF32, {}}, Init::constant(std::log(config.alpha))));

  const TanhGaussian::Sample next = policy(config, spaces, batch.next_observations).sample(noise_of(0));
  const TanhGaussian::Sample now = policy(config, spaces, batch.observations).sample(noise_of(1));
  const std::vector<std::string> actor_weights = nn::parameters(graph, kActor);
  const Tensor mean_log_prob = mean(now.log_prob);
  if (config.learn_alpha) step_temperature(graph, config, spaces, mean_log_prob, learning_rate);

  // The critics, towards the reward and the targets' least value with its entropy.
  const Tensor future = critics(config, batch.next_observations, next.action, "target").least() - alpha * next.log_prob;
  const Tensor target = stop_gradient(batch.rewards + config.gamma * (1.0 - batch.terminated) * future);
  const TwinValues values = critics(config, batch.observations, batch.actions, "agent");
  const Tensor critic_loss = 0.5 * (nn::mse(values.first, target) + nn::mse(values.second, target));
  const std::vector<std::string> critic_weights = critic_parameters(graph, "agent");
  const nn::ClippedGradients critic_step =
      clipped_gradients(critic_loss, nn::values(graph, critic_weights), config.max_grad_norm);
  nn::adam(graph, critic_weights, critic_step.gradients, learning_rate,
           {.eps = config.adam_eps, .name = "adam_critic"});

  // The actor, up the new critics.
  const Tensor worth = critics(config, batch.observations, now.action, "agent").least();
  const Tensor actor_loss = mean(alpha * now.log_prob - worth);
  const nn::ClippedGradients actor_step =
      clipped_gradients(actor_loss, nn::values(graph, actor_weights), config.max_grad_norm);
  nn::adam(graph, actor_weights, actor_step.gradients, learning_rate, {.eps = config.adam_eps, .name = "adam_actor"});

  move_targets(graph, config.tau);
  return stacked({critic_loss, actor_loss, alpha, -mean_log_prob, mean(values.least()), critic_step.norm});
}

}  // namespace

Graph sac_policy_graph(const SacConfig& config, const SacSpaces& spaces, std::int64_t batch, bool stochastic) {
  Graph graph(stochastic ? "sac_sample" : "sac_greedy");
  const Tensor observations = graph.input("observations", {kF32, {batch, spaces.observation_size}});
  const TanhGaussian actions = policy(config, spaces, observations);
  Tensor action;
  if (stochastic) {
    nn::Random random(graph, "rng/act");
    action = actions.action(random.normal({batch, spaces.action_size()}));
  } else {
    action = actions.mode();
  }
  graph.output("action", Scaling(graph, spaces).to_environment(action));
  return graph;
}

Graph sac_minibatch_graph(const SacConfig& config, const SacSpaces& spaces) {
  Graph graph("sac_train_step");
  const std::int64_t count = config.batch_size;
  const Type observations{kF32, {count, spaces.observation_size}}, column{kF32, {count}};
  ReplayBatch batch;
  batch.observations = graph.input("observations", observations);
  batch.actions = graph.input("actions", {kF32, {count, spaces.action_size()}});
  batch.rewards = graph.input("rewards", column);
  batch.terminated = graph.input("terminated", column);
  batch.next_observations = graph.input("next_observations", observations);
  const Tensor noise = graph.input("noise", {kF32, {2, count, spaces.action_size()}});
  const Tensor learning_rate = graph.input("learning_rate", {kF32, {}});
  graph.output("metrics", gradient_step(graph, config, spaces, batch, noise, learning_rate));
  return graph;
}

Graph sac_update_graph(const SacConfig& config, const SacSpaces& spaces) {
  Graph graph("sac_update");
  nn::Random random(graph, "rng/update");
  const ReplayBatch batch = replay_sample(graph, replay_shape(config, spaces), config.batch_size, random);
  const Tensor noise = random.normal({2, config.batch_size, spaces.action_size()});
  const Tensor learning_rate = graph.input("learning_rate", {kF32, {}});
  graph.output("metrics", gradient_step(graph, config, spaces, batch, noise, learning_rate));
  return graph;
}

Graph sac_step_graph(const SacConfig& config, const SacSpaces& spaces, std::int64_t gradient_steps) {
  Graph graph(gradient_steps > 0 ? "sac_step_and_update" : "sac_step");
  const Experience experience = experience_input(graph, config.num_envs, spaces.observation_size);
  const Tensor epsilon = graph.input("epsilon", {kF32, {}});
  const Tensor acted_on = graph.state("act/observations", experience.observations.type(), Init::zeros());
  const Tensor action = graph.state("act/action", {kF32, {config.num_envs, spaces.action_size()}}, Init::zeros());
  replay_store(graph, replay_shape(config, spaces),
               {acted_on, experience.next_observations, Scaling(graph, spaces).to_network(action), experience.rewards,
                experience.terminated});
  append_updates(graph, gradient_steps, [&] { return sac_update_graph(config, spaces); });
  act(config, spaces, experience.observations, epsilon);
  return graph;
}

Graph sac_start_graph(const SacConfig& config, const SacSpaces& spaces) {
  Graph graph("sac_start");
  const Tensor observations = graph.input("observations", {kF32, {config.num_envs, spaces.observation_size}});
  act(config, spaces, observations, graph.input("epsilon", {kF32, {}}));
  const Tensor actions = full(graph, {kF32, {config.num_envs, spaces.action_size()}}, 0.0);
  for (const char* scope : {"agent", "target"}) static_cast<void>(critics(config, observations, actions, scope));
  move_targets(graph, 1.0);
  return graph;
}

}  // namespace thrt::rl
