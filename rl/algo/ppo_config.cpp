#include <thrt/rl/algo/ppo_config.hpp>

#include <thrt/error.hpp>
#include <thrt/rl/train/fields.hpp>

#include "rl/algo/hyper_parameter.hpp"

#include <fmt/format.h>

namespace thrt::rl {
namespace {

// The number of minibatches nearest below `wanted` that cuts the batch into equal parts.
std::int64_t divisor_below(std::int64_t batch, std::int64_t wanted) {
  std::int64_t divisor = wanted < batch ? wanted : batch;
  while (batch % divisor != 0) --divisor;
  return divisor;
}

}  // namespace

PpoConfig ppo_defaults(std::string_view environment) {
  PpoConfig config;
  if (environment == "CartPole-v1") {
    // RL Baselines3 Zoo, hyperparams/ppo.yml, CartPole-v1; where it is silent, Stable-Baselines3's own defaults
    // (vf_coef, max_grad_norm, normalize_advantage, clip_range_vf = None). batch_size 256 is the whole rollout.
    config.num_envs = 8;
    config.num_steps = 32;
    config.num_minibatches = 1;
    config.update_epochs = 20;
    config.learning_rate = 1e-3;
    config.anneal_lr = true;
    config.gamma = 0.98;
    config.gae_lambda = 0.8;
    config.clip_coef = 0.2;
    config.anneal_clip = true;
    config.clip_vloss = false;
    config.norm_adv = true;
    config.ent_coef = 0.0;
    config.vf_coef = 1.0;  // Stable-Baselines3's 0.5: its value loss is the squared error, ours (CleanRL's) half of it
    config.max_grad_norm = 0.5;
  }
  if (environment == "Pendulum-v1") {
    // The zoo's for Pendulum-v1, but for two things: noise of each step's own instead of its state-dependent exploration,
    // and minibatches of 256 instead of 64, which learn as well in a quarter of the gradient steps (seeds 1 to 5 end at
    // -171 to -197).
    config.num_envs = 4;
    config.num_steps = 1024;
    config.num_minibatches = 16;
    config.update_epochs = 10;
    config.learning_rate = 1e-3;
    config.anneal_lr = false;
    config.gamma = 0.9;
    config.gae_lambda = 0.95;
    config.clip_coef = 0.2;
    config.clip_vloss = false;
    config.ent_coef = 0.0;
  }
  return config;
}

void validate(const PpoConfig& config) {
  RunConfig run;
  run.ppo = config;
  for (const Field& field : ppo_fields()) {
    if (!field_holds(field, run)) throw bad_field(field, field_text(field, run), "", field.name);
  }
  require_rollout(config.num_envs, config.num_steps);
  if (config.batch_size() % config.num_minibatches != 0) {
    throw Error(fmt::format("num_minibatches is {}, which does not divide the rollout", config.num_minibatches),
                fmt::format("num_envs {} times num_steps {} is {} steps, and all minibatches have one size",
                            config.num_envs, config.num_steps, config.batch_size()),
                fmt::format("--num-minibatches {}", divisor_below(config.batch_size(), config.num_minibatches)));
  }
  if (config.norm_adv && config.minibatch_size() < 2) {
    throw Error("a minibatch of one step cannot be normalised",
                fmt::format("num_envs {} times num_steps {} in {} minibatches", config.num_envs, config.num_steps,
                            config.num_minibatches),
                "a longer rollout, fewer minibatches, or --no-norm-adv");
  }
}

}  // namespace thrt::rl
