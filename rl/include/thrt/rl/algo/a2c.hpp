// Advantage actor-critic (Mnih et al. 2016, synchronous) as programs: acting is one, an update another.
//
// Shapes and names as in ppo.hpp; an update takes all B = N*T transitions of a rollout at once.
#pragma once

#include <thrt/graph/graph.hpp>
#include <thrt/rl/algo/a2c_config.hpp>
#include <thrt/rl/algo/actor_critic.hpp>

#include <array>
#include <cstdint>

namespace thrt::rl {

// What an update reports, in the order of its output "metrics" f32[5].
enum class A2cMetric { kPolicyLoss, kValueLoss, kEntropy, kLoss, kGradNorm };
inline constexpr std::size_t kA2cMetrics = 5;
inline constexpr std::array<const char*, kA2cMetrics> kA2cMetricNames = {"policy_loss", "value_loss", "entropy", "loss",
                                                                         "grad_norm"};

// One gradient step: "observations" f32[B, D], "actions" [B], "advantages", "returns" f32[B], "learning_rate" f32[] ->
// "metrics" f32[5]. State: weights and the optimiser's. The loss is Stable-Baselines3's:
//   -mean(advantage * log pi(action)) + vf_coef * mean((return - value)^2) - ent_coef * mean(entropy)
Graph a2c_minibatch_graph(const A2cConfig& config, const PolicySpaces& spaces, std::int64_t batch);

// The same with the inputs' names under "rollout/" (but for the learning rate's), as the training binds it.
Graph a2c_update_graph(const A2cConfig& config, const PolicySpaces& spaces);

}  // namespace thrt::rl
