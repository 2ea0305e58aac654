// Soft actor-critic (Haarnoja et al. 2018, "Soft Actor-Critic Algorithms and Applications"): twin critics, a
// tanh-squashed Gaussian policy, a learned temperature, as programs. Between two steps of the environments there is one
// launch: it stores what the last actions led to, does the gradient steps that are due, and draws the next actions.
//
// Shapes: N environments, D observation elements, A action elements, B transitions of a minibatch. Slots of the same
// name in different programs are the same buffers: actor "agent/actor/...", critics "agent/critic1/...",
// "agent/critic2/...", their targets "target/critic1/...", "target/critic2/...", the logarithm of the temperature
// "temperature/log_alpha", the replay "replay/..." (buffer/replay.hpp). Networks and replay see actions in [-1, 1].
#pragma once

#include <thrt/graph/graph.hpp>
#include <thrt/rl/algo/sac_config.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace thrt::rl {

struct SacSpaces {
  std::int64_t observation_size = 0;                     // D
  std::vector<float> action_low = {}, action_high = {};  // [A] each, finite

  std::int64_t action_size() const { return static_cast<std::int64_t>(action_low.size()); }
};

// "observations" f32[N, D] -> "action" f32[N, A] in the environment's units: the squashed mean, or, `stochastic`, drawn
// (state "rng/act").
Graph sac_policy_graph(const SacConfig& config, const SacSpaces& spaces, std::int64_t batch, bool stochastic);

// What a gradient step reports, in the order of its output "metrics" f32[6]; the entropy is estimated as
// -mean(log_prob).
enum class SacMetric { kCriticLoss, kActorLoss, kAlpha, kEntropy, kMeanQ, kCriticGradNorm };
inline constexpr std::size_t kSacMetrics = 6;
inline constexpr std::array<const char*, kSacMetrics> kSacMetricNames = {
    "critic_loss", "actor_loss", "alpha", "entropy", "q_values", "critic_grad_norm"};

// One gradient step of critics, actor and temperature, and one step of the targets, on a minibatch: "observations"
// f32[B, D], "actions" f32[B, A], "rewards", "terminated" f32[B], "next_observations" f32[B, D], "noise" f32[2, B, A]
// (standard normal: of the next actions, of the present ones), "learning_rate" f32[] -> "metrics". B is
// config.batch_size.
//
// In this order, as Stable-Baselines3: the temperature's step and the actor's sample before anything changes, the
// critics' step, the actor's step against the new critics, the targets' step.
Graph sac_minibatch_graph(const SacConfig& config, const SacSpaces& spaces);

// The same on a minibatch drawn from the replay, with noise drawn too; state "rng/update".
Graph sac_update_graph(const SacConfig& config, const SacSpaces& spaces);

// One launch between two environment steps of N = config.num_envs environments:
//   in     "experience" f32[N, 2D + 2]: reward, terminated (0 or 1), the observation it ended in, the observation to act
//          on (the next episode's first, where one ended); "epsilon" f32[]: the part of actions drawn uniformly instead;
//          "learning_rate" f32[]
//   state  "act/observations" f32[N, D], "act/action" f32[N, A]: what the environments do now, in their units, the
//          launch's result; "rng/act"; the replay; of the gradient steps, when there are any
//   out    "metrics" f32[gradient_steps, 6], when gradient_steps > 0
Graph sac_step_graph(const SacConfig& config, const SacSpaces& spaces, std::int64_t gradient_steps);

// What a run begins with: "observations" f32[N, D], "epsilon" f32[] -> "act/...", and targets := critics.
Graph sac_start_graph(const SacConfig& config, const SacSpaces& spaces);

}  // namespace thrt::rl
