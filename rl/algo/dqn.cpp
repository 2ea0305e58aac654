#include <thrt/rl/algo/dqn.hpp>

#include <thrt/graph/autodiff.hpp>
#include <thrt/graph/repeat.hpp>
#include <thrt/graph/tensor_ops.hpp>
#include <thrt/nn/layers.hpp>
#include <thrt/nn/losses.hpp>
#include <thrt/nn/optimisers.hpp>
#include <thrt/rl/buffer/replay.hpp>

#include "rl/algo/gradient_step.hpp"
#include "rl/algo/off_policy_graphs.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace thrt::rl {
namespace {

constexpr DType kF32 = DType::kF32;
constexpr const char* kOnline = "agent/q";
constexpr const char* kTarget = "target/q";

// [B, D] -> [B, A]. Every layer starts as torch.nn.Linear does, as in the published results.
Tensor action_values(const DqnConfig& config, const PolicySpaces& spaces, Tensor observations,
                     const std::string& name) {
  const Tensor features = uniform_mlp(observations, name, config.hidden, nn::activation_from(config.activation));
  return uniform_dense(features, name + "/head", spaces.actions);
}

ReplayShape replay_shape(const DqnConfig& config, const PolicySpaces& spaces) {
  return {config.buffer_size, spaces.observation_size, 1};
}

// i32[N]: with probability epsilon any action, else the one of the largest value. State "rng/act".
Tensor explore(const DqnConfig& config, const PolicySpaces& spaces, Tensor observations, Tensor epsilon) {
  const std::int64_t count = observations.dim(0);
  nn::Random random(observations.graph(), "rng/act");
  const Tensor bits = random.bits({2, count});
  const Tensor chance = cast(shift_right(reshape(slice(bits, 0, 0, 1), {count}), 8), kF32) * 0x1p-24;
  const Tensor word = reshape(slice(bits, 0, 1, 1), {count});
  const Tensor any = cast(rem(word, like(word, static_cast<double>(spaces.actions))), DType::kI32);
  const Tensor best = argmax(action_values(config, spaces, observations, kOnline));
  return select(less(chance, broadcast_to(epsilon, {count})), any, best);
}

void act(const DqnConfig& config, const PolicySpaces& spaces, Tensor observations, Tensor epsilon) {
  Graph& graph = observations.graph();
  graph.state("act/observations", observations.type(), Init::zeros());
  graph.state("act/action", {DType::kI32, {observations.dim(0)}}, Init::zeros());
  graph.update("act/observations", observations);
  graph.update("act/action", explore(config, spaces, observations, epsilon));
}

// Appends one gradient step; returns its metrics [3].
Tensor gradient_step(Graph& graph, const DqnConfig& config, const PolicySpaces& spaces, const ReplayBatch& batch,
                     Tensor actions, Tensor learning_rate) {
  const Tensor taken = pick(action_values(config, spaces, batch.observations, kOnline), actions);
  const std::vector<std::string> weights = nn::parameters(graph, kOnline);

  const Tensor next = action_values(config, spaces, batch.next_observations, kTarget);
  const Tensor future = config.double_q
                            ? pick(next, argmax(action_values(config, spaces, batch.next_observations, kOnline)))
                            : reduce_max(next, {-1});
  const Tensor target = batch.rewards + config.gamma * (1.0 - batch.terminated) * future;
  const Tensor loss = nn::huber(taken, stop_gradient(target));

  const nn::ClippedGradients clipped = clipped_gradients(loss, nn::values(graph, weights), config.max_grad_norm);
  nn::adam(graph, weights, clipped.gradients, learning_rate, {.eps = config.adam_eps});
  return stacked({loss, mean(taken), clipped.norm});
}

Tensor rate_input(Graph& graph) {
  return graph.input("learning_rate", {kF32, {}});
}

}  // namespace

Graph dqn_policy_graph(const DqnConfig& config, const PolicySpaces& spaces, std::int64_t batch, bool explores) {
  Graph graph(explores ? "dqn_explore" : "dqn_greedy");
  const Tensor observations = graph.input("observations", {kF32, {batch, spaces.observation_size}});
  graph.output("action", explores ? explore(config, spaces, observations, scalar(graph, config.final_epsilon))
                                  : argmax(action_values(config, spaces, observations, kOnline)));
  return graph;
}

Graph dqn_minibatch_graph(const DqnConfig& config, const PolicySpaces& spaces) {
  Graph graph("dqn_train_step");
  const Type matrix{kF32, {config.batch_size, spaces.observation_size}}, column{kF32, {config.batch_size}};
  ReplayBatch batch;
  batch.observations = graph.input("observations", matrix);
  const Tensor actions = graph.input("actions", {DType::kI32, {config.batch_size}});
  batch.rewards = graph.input("rewards", column);
  batch.terminated = graph.input("terminated", column);
  batch.next_observations = graph.input("next_observations", matrix);
  graph.output("metrics", gradient_step(graph, config, spaces, batch, actions, rate_input(graph)));
  return graph;
}

Graph dqn_update_graph(const DqnConfig& config, const PolicySpaces& spaces) {
  Graph graph("dqn_update");
  nn::Random random(graph, "rng/update");
  const ReplayBatch batch = replay_sample(graph, replay_shape(config, spaces), config.batch_size, random);
  const Tensor actions = cast(reshape(batch.actions, {config.batch_size}), DType::kI32);
  graph.output("metrics", gradient_step(graph, config, spaces, batch, actions, rate_input(graph)));
  return graph;
}

Graph dqn_step_graph(const DqnConfig& config, const PolicySpaces& spaces, std::int64_t gradient_steps) {
  Graph graph(gradient_steps > 0 ? "dqn_step_and_update" : "dqn_step");
  const Experience experience = experience_input(graph, config.num_envs, spaces.observation_size);
  const Tensor epsilon = graph.input("epsilon", {kF32, {}});
  const Tensor acted_on = graph.state("act/observations", experience.observations.type(), Init::zeros());
  const Tensor action = graph.state("act/action", {DType::kI32, {config.num_envs}}, Init::zeros());
  replay_store(graph, replay_shape(config, spaces),
               {acted_on, experience.next_observations, expand_dims(cast(action, kF32), 1), experience.rewards,
                experience.terminated});
  append_updates(graph, gradient_steps, [&] { return dqn_update_graph(config, spaces); });
  act(config, spaces, experience.observations, epsilon);
  return graph;
}

Graph dqn_start_graph(const DqnConfig& config, const PolicySpaces& spaces) {
  Graph graph("dqn_start");
  const Tensor observations = graph.input("observations", {kF32, {config.num_envs, spaces.observation_size}});
  const Tensor epsilon = graph.input("epsilon", {kF32, {}});
  act(config, spaces, observations, epsilon);
  // The whole network at once: a target that starts as another random network teaches noise until the first copy.
  static_cast<void>(action_values(config, spaces, observations, kTarget));
  move_towards(graph, kTarget, kOnline, 1.0);
  return graph;
}

Graph dqn_target_graph(const DqnConfig& config, const PolicySpaces& spaces) {
  Graph graph("dqn_target");
  const Tensor observations = full(graph, {kF32, {1, spaces.observation_size}}, 0.0);
  for (const char* name : {kOnline, kTarget}) static_cast<void>(action_values(config, spaces, observations, name));
  move_towards(graph, kTarget, kOnline, config.tau);
  return graph;
}

}  // namespace thrt::rl
