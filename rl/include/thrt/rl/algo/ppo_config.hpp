// PPO's hyper-parameters, under their usual names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thrt::rl {

// Defaults: Schulman et al. 2017 as in CleanRL's ppo.py; ppo_defaults() has the tuned ones for an environment.
struct PpoConfig {
  std::int64_t num_envs = 4;
  std::int64_t num_steps = 128;  // per environment and rollout
  std::int64_t num_minibatches = 4;
  std::int64_t update_epochs = 4;
  double learning_rate = 2.5e-4;
  bool anneal_lr = true;  // linearly to 0 over the run
  double gamma = 0.99;
  double gae_lambda = 0.95;
  double clip_coef = 0.2;
  bool anneal_clip = false;  // linearly to 0 over the run
  bool clip_vloss = true;    // clips the change of the value by clip_coef too
  bool norm_adv = true;      // to mean 0, standard deviation 1 in each minibatch
  double ent_coef = 0.01;
  double vf_coef = 0.5;
  double max_grad_norm = 0.5;  // of the global norm; 0: no clipping
  double adam_eps = 1e-5;
  std::vector<std::int64_t> hidden = {64, 64};
  std::string activation = "tanh";  // tanh or relu
  bool shared_trunk = false;        // one network with two heads instead of two networks

  std::int64_t batch_size() const { return num_envs * num_steps; }
  std::int64_t minibatch_size() const { return batch_size() / num_minibatches; }
};

// The tuned settings for an environment, where there are any (ppo_config.cpp has their sources), or the defaults above.
PpoConfig ppo_defaults(std::string_view environment);

// Throws Error naming the hyper-parameter, its value and what it may be.
void validate(const PpoConfig& config);

}  // namespace thrt::rl
