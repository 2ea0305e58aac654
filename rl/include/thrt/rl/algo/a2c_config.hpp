// A2C's hyper-parameters, under their usual names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thrt::rl {

// Defaults: Mnih et al. 2016 made synchronous, as in Stable-Baselines3's a2c.py.
struct A2cConfig {
  std::int64_t num_envs = 8;
  std::int64_t num_steps = 5;  // per environment and update
  double learning_rate = 7e-4;
  bool anneal_lr = false;  // linearly to 0 over the run
  double gamma = 0.99;
  double gae_lambda = 1.0;  // 1: the n-step return
  bool norm_adv = false;    // to mean 0, standard deviation 1 in each update
  double ent_coef = 0.0;
  double vf_coef = 0.5;
  double max_grad_norm = 0.5;         // of the global norm; 0: no clipping
  std::string optimiser = "rmsprop";  // rmsprop (PyTorch's), rmsprop_tf (TensorFlow 1's) or adam
  double optimiser_eps = 1e-5;        // of whichever it is
  double rms_decay = 0.99;            // of rmsprop's mean square
  std::vector<std::int64_t> hidden = {64, 64};
  std::string activation = "tanh";  // tanh or relu
  bool shared_trunk = false;        // one network with two heads instead of two networks

  std::int64_t batch_size() const { return num_envs * num_steps; }
};

// The settings for an environment: as yet those above for each.
A2cConfig a2c_defaults(std::string_view environment);

// Throws Error naming the hyper-parameter, its value and what it may be.
void validate(const A2cConfig& config);

}  // namespace thrt::rl
