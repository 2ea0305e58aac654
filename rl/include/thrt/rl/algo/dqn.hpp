// Deep Q-learning (Mnih et al. 2015) with double Q-learning (van Hasselt et al. 2016) and the Huber loss, as programs.
// Between two steps of the environments there is one launch: it stores what the last actions led to, does the gradient
// steps that are due, and chooses the next actions.
//
// Shapes: N environments, D observation elements, A actions, B transitions of a minibatch. Slots of the same name in
// different programs are the same buffers: the online network is "agent/q/...", the target network "target/q/...", the
// replay "replay/..." (buffer/replay.hpp).
#pragma once

#include <thrt/graph/graph.hpp>
#include <thrt/rl/algo/actor_critic.hpp>
#include <thrt/rl/algo/dqn_config.hpp>

#include <array>
#include <cstdint>

namespace thrt::rl {

// "observations" f32[N, D] -> "action" i32[N], of the largest value; `explores`: any one with probability final_epsilon
// (state "rng/act").
Graph dqn_policy_graph(const DqnConfig& config, const PolicySpaces& spaces, std::int64_t batch, bool explores);

// What a gradient step reports, in the order of its output "metrics" f32[3]: the loss, the mean value of the actions
// taken, the length of the gradient before clipping.
enum class DqnMetric { kLoss, kMeanQ, kGradNorm };
inline constexpr std::size_t kDqnMetrics = 3;
inline constexpr std::array<const char*, kDqnMetrics> kDqnMetricNames = {"td_loss", "q_values", "grad_norm"};

// One gradient step on a minibatch: "observations" f32[B, D], "actions" i32[B], "rewards", "terminated" f32[B],
// "next_observations" f32[B, D], "learning_rate" f32[] -> "metrics". State: online network and Adam's moments, updated;
// target network, read. B is config.batch_size.
Graph dqn_minibatch_graph(const DqnConfig& config, const PolicySpaces& spaces);

// The same on a minibatch drawn from the replay; state "rng/update".
Graph dqn_update_graph(const DqnConfig& config, const PolicySpaces& spaces);

// One launch between two environment steps of N = config.num_envs environments:
//   in     "experience" f32[N, 2D + 2]: reward, terminated (0 or 1), the observation it ended in, the observation to act
//          on (the next episode's first, where one ended); "epsilon" f32[]; "learning_rate" f32[]
//   state  "act/observations" f32[N, D], "act/action" i32[N]: what the environments do now, the launch's result;
//          "rng/act"; the replay; of the gradient steps, when there are any
//   out    "metrics" f32[gradient_steps, 3], when gradient_steps > 0
Graph dqn_step_graph(const DqnConfig& config, const PolicySpaces& spaces, std::int64_t gradient_steps);

// What a run begins with: "observations" f32[N, D], "epsilon" f32[] -> "act/...", and target := online.
Graph dqn_start_graph(const DqnConfig& config, const PolicySpaces& spaces);

// target := tau * online + (1 - tau) * target.
Graph dqn_target_graph(const DqnConfig& config, const PolicySpaces& spaces);

}  // namespace thrt::rl
