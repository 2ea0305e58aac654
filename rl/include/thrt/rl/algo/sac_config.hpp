// SAC's hyper-parameters, under their usual names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thrt::rl {

// Defaults: Haarnoja et al. 2018 ("Soft Actor-Critic Algorithms and Applications") as in Stable-Baselines3, with a
// smaller ring; sac_defaults() has the ones for an environment. Steps are environment steps over all environments.
struct SacConfig {
  std::int64_t num_envs = 1;
  std::int64_t buffer_size = 100'000;  // transitions kept
  std::int64_t batch_size = 256;       // transitions of a gradient step
  std::int64_t learning_starts = 100;  // steps of random actions before the first update
  std::int64_t train_frequency = 1;    // steps from one update to the next
  std::int64_t gradient_steps = 1;     // of an update
  double tau = 0.005;                  // target <- tau * online + (1 - tau) * target, after each gradient step
  double learning_rate = 3e-4;         // of the actor, the critics and the temperature
  double gamma = 0.99;
  double alpha = 1.0;           // the temperature: weight of the entropy, at first
  bool learn_alpha = true;      // until the policy's entropy is
  double target_entropy = 0.0;  // this, in nats; 0: minus the number of action elements
  double max_grad_norm = 0.0;   // of the actor's and of the critics' global norm; 0: no clipping
  double adam_eps = 1e-8;
  std::vector<std::int64_t> hidden = {256, 256};  // of the actor and of each critic
  std::string activation = "relu";                // tanh or relu
};

// The settings for an environment, or the defaults above.
SacConfig sac_defaults(std::string_view environment);

}  // namespace thrt::rl
