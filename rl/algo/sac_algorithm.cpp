// SAC as an entry of the table of algorithms.
#include <thrt/rl/algo/sac.hpp>

#include <thrt/error.hpp>

#include "rl/algo/algorithm.hpp"
#include "rl/algo/off_policy_fields.hpp"
#include "rl/algo/off_policy_learner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace thrt::rl {
namespace {

SacSpaces box_spaces(const VectorEnv& env) {
  const auto* box = std::get_if<BoxSpace>(&env.action_space());
  if (box == nullptr) {
    throw Error(fmt::format("sac cannot act in {}", env.id()),
                "its actions are real numbers, and there one of a few is chosen",
                fmt::format("thrust train dqn {}", env.id()));
  }
  const auto finite = [](float bound) { return std::isfinite(bound); };
  if (!std::all_of(box->low.begin(), box->low.end(), finite) ||
      !std::all_of(box->high.begin(), box->high.end(), finite)) {
    throw Error(fmt::format("sac cannot act in {}", env.id()),
                "its actions lie between two bounds, and there some are unbounded");
  }
  return {static_cast<std::int64_t>(env.observation_space().size()), box->low, box->high};
}

OffPolicySchedule schedule_of(const SacConfig& config) {
  return {.num_envs = config.num_envs,
          .buffer_size = config.buffer_size,
          .learning_starts = config.learning_starts,
          .train_frequency = config.train_frequency,
          .gradient_steps = config.gradient_steps,
          .target_update = 0};
}

std::unique_ptr<Learner> make_learner_sac(const Context& context, const RunConfig& config) {
  const SacConfig& sac = config.sac;
  std::unique_ptr<VectorEnv> env = make_vector_env(config.environment, sac.num_envs);
  const SacSpaces spaces = box_spaces(*env);
  OffPolicyPlan plan{.schedule = schedule_of(sac),
                     .learning_rate = [sac](const Position&) { return sac.learning_rate; },
                     .epsilon = [](const Position&) { return 0.0; },
                     .start = sac_start_graph(sac, spaces),
                     .step = sac_step_graph(sac, spaces, 0),
                     .step_and_update = sac_step_graph(sac, spaces, sac.gradient_steps),
                     .target = std::nullopt,
                     .metric_names = kSacMetricNames};
  return make_off_policy_learner(context, config, std::move(env), std::move(plan));
}

}  // namespace

SacConfig sac_defaults(std::string_view environment) {
  SacConfig config;
  if (environment == "Pendulum-v1") {
    // As RLtools' SAC for this task: two layers of 64, minibatches of 100, an update for each step.
    config.hidden = {64, 64};
    config.batch_size = 100;
    config.learning_rate = 1e-3;  // RL Baselines3 Zoo, hyperparams/sac.yml, Pendulum-v1
  }
  return config;
}

Algorithm sac_algorithm() {
  return {.name = "sac",
          .fields = sac_fields,
          .set_defaults =
              [](RunConfig& config, std::string_view environment) {
                config.sac = sac_defaults(environment);
                if (environment == "Pendulum-v1") config.total_timesteps = 20'000;
              },
          .validate = [](const RunConfig& config) { validate(schedule_of(config.sac), config.total_timesteps); },
          .steps_per_iteration =
              [](const RunConfig& config) { return off_policy_steps_per_iteration(schedule_of(config.sac)); },
          .network =
              [](const RunConfig& config) {
                return fmt::format("hidden {}, activation {}", fmt::join(config.sac.hidden, ","),
                                   config.sac.activation);
              },
          .act_graph = [](const RunConfig& config, const VectorEnv& env, std::int64_t batch,
                          bool stochastic) { return sac_policy_graph(config.sac, box_spaces(env), batch, stochastic); },
          .make_learner = make_learner_sac};
}

}  // namespace thrt::rl
