// The loop that A2C and PPO share: rollouts of T steps in N environments, advantages, one update program.
#pragma once

#include <thrt/graph/program.hpp>
#include <thrt/rl/algo/a2c_config.hpp>
#include <thrt/rl/algo/actor_critic.hpp>
#include <thrt/rl/algo/learner.hpp>
#include <thrt/rl/algo/ppo_config.hpp>

#include <cstdint>
#include <memory>
#include <span>

namespace thrt::rl {

ActorCriticShape shape_of(const PpoConfig& config);
ActorCriticShape shape_of(const A2cConfig& config);

// What is an algorithm's own about it.
struct OnPolicy {
  std::int64_t num_envs = 0;   // N
  std::int64_t num_steps = 0;  // T
  double gamma = 0.0;
  double gae_lambda = 0.0;
  double learning_rate = 0.0;
  bool anneal_lr = false;
  double clip = 0.0;  // of the input "clip", where the update has one
  bool anneal_clip = false;
  std::int64_t gradient_steps = 0;            // of an update
  std::span<const char* const> metric_names;  // of a gradient step
  // "observations" [N, D] -> "action", "log_prob", "value"; "observations" [N, D] -> "value";
  // "rollout/..." of what it reads of a rollout, "learning_rate" -> "metrics" [gradient_steps, metrics]
  Graph act, value, update;
};

std::unique_ptr<Learner> make_on_policy_learner(const Context& context, const RunConfig& config,
                                                std::unique_ptr<VectorEnv> env, const OnPolicy& algorithm);

}  // namespace thrt::rl
