// DQN's hyper-parameters, under their usual names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thrt::rl {

// Defaults: CleanRL's dqn.py, with double Q-learning and a gradient clip (Stable-Baselines3's); dqn_defaults() has the
// tuned ones for an environment. Steps are environment steps over all environments.
struct DqnConfig {
  std::int64_t num_envs = 1;
  std::int64_t buffer_size = 10'000;      // transitions kept
  std::int64_t batch_size = 128;          // transitions of a gradient step
  std::int64_t learning_starts = 10'000;  // steps of random actions before the first update
  std::int64_t train_frequency = 10;      // steps from one update to the next
  std::int64_t gradient_steps = 1;        // of an update
  std::int64_t target_update = 500;       // steps from one update of the target network to the next
  double tau = 1.0;                       // target <- tau * online + (1 - tau) * target; 1: a copy
  double learning_rate = 2.5e-4;
  bool anneal_lr = false;  // linearly to 0 over the run
  double gamma = 0.99;
  double start_epsilon = 1.0;  // part of actions taken at random, falling linearly to
  double final_epsilon = 0.05;
  double exploration_fraction = 0.5;  // over this part of the run
  bool double_q = true;               // the online network chooses the next action, the target network values it
  double max_grad_norm = 10.0;        // of the global norm; 0: no clipping
  double adam_eps = 1e-8;
  std::vector<std::int64_t> hidden = {120, 84};
  std::string activation = "relu";  // tanh or relu
};

// The tuned settings for an environment, where there are any (dqn_algorithm.cpp has their source), or the defaults above.
DqnConfig dqn_defaults(std::string_view environment);

}  // namespace thrt::rl
