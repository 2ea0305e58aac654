#include <thrt/rl/algo/a2c_config.hpp>

#include <thrt/error.hpp>
#include <thrt/rl/train/fields.hpp>

#include "rl/algo/hyper_parameter.hpp"

#include <fmt/format.h>

namespace thrt::rl {

A2cConfig a2c_defaults(std::string_view) {
  // RL Baselines3 Zoo, hyperparams/a2c.yml, CartPole-v1: 8 environments, no entropy bonus; it leaves the rest at
  // Stable-Baselines3's defaults, as here. Its settings for Pendulum-v1 are of no use without the normalised observations
  // and rewards that they ask for.
  return {};
}

void validate(const A2cConfig& config) {
  RunConfig run;
  run.a2c = config;
  for (const Field& field : a2c_fields()) {
    if (!field_holds(field, run)) throw bad_field(field, field_text(field, run), "", field.name);
  }
  require_rollout(config.num_envs, config.num_steps);
  if (config.norm_adv && config.batch_size() < 2) {
    throw Error("an update of one step cannot be normalised",
                fmt::format("num_envs {} times num_steps {}", config.num_envs, config.num_steps),
                "a longer rollout, or --no-norm-adv");
  }
}

}  // namespace thrt::rl
