// Proximal policy optimisation (Schulman et al. 2017) as programs: acting is one, a whole update phase (all epochs and
// minibatches, permutations drawn on the device) is another.
//
// Shapes: N environments, T steps, B = N*T transitions, M transitions of a minibatch, D observation elements, A discrete
// actions or elements of a continuous one. Actions are i32[..] or f32[.., A]. Slots of the same name in different
// programs are the same buffers; actor_critic.hpp has the names of the weights.
#pragma once

#include <thrt/graph/graph.hpp>
#include <thrt/rl/algo/actor_critic.hpp>
#include <thrt/rl/algo/ppo_config.hpp>

#include <array>
#include <cstdint>

namespace thrt::rl {

// "observations" f32[N, D] -> "action" [N], sampled; "log_prob" f32[N]; "value" f32[N]. State "rng/act".
Graph ppo_act_graph(const PpoConfig& config, const PolicySpaces& spaces, std::int64_t batch);

// "observations" f32[N, D] -> "action" [N], the most probable.
Graph ppo_greedy_graph(const PpoConfig& config, const PolicySpaces& spaces, std::int64_t batch);

// "observations" f32[N, D] -> "value" f32[N].
Graph ppo_value_graph(const PpoConfig& config, const PolicySpaces& spaces, std::int64_t batch);

// What a gradient step reports, in the order of its output "metrics" f32[7].
enum class PpoMetric { kPolicyLoss, kValueLoss, kEntropy, kLoss, kApproxKl, kClipFraction, kGradNorm };
inline constexpr std::size_t kPpoMetrics = 7;
inline constexpr std::array<const char*, kPpoMetrics> kPpoMetricNames = {
    "policy_loss", "value_loss", "entropy", "loss", "approx_kl", "clipfrac", "grad_norm"};

// One gradient step on a minibatch: "observations" f32[M, D], "actions" [M], "log_probs", "advantages", "returns",
// "values" f32[M], "learning_rate" f32[], "clip" f32[] -> "metrics" f32[7]. State: weights and Adam's moments.
Graph ppo_minibatch_graph(const PpoConfig& config, const PolicySpaces& spaces, std::int64_t minibatch);

// The update phase: "rollout/observations" f32[B, D], "rollout/actions" [B], "rollout/log_probs",
// "rollout/advantages", "rollout/returns", "rollout/values" f32[B], "learning_rate" f32[], "clip" f32[] -> "metrics"
// f32[epochs, minibatches, 7]. State: as of the gradient step, and "rng/update".
Graph ppo_update_graph(const PpoConfig& config, const PolicySpaces& spaces);

}  // namespace thrt::rl
