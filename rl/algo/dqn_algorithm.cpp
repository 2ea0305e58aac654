// DQN as an entry of the table of algorithms.
#include <thrt/rl/algo/dqn.hpp>

#include <thrt/error.hpp>

#include "rl/algo/algorithm.hpp"
#include "rl/algo/off_policy_fields.hpp"
#include "rl/algo/off_policy_learner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace thrt::rl {
namespace {

PolicySpaces discrete_spaces(const VectorEnv& env) {
  const PolicySpaces spaces = policy_spaces(env);
  if (!spaces.continuous) return spaces;
  throw Error(fmt::format("dqn cannot act in {}", env.id()),
              "it compares the values of all actions, and there the actions are continuous",
              fmt::format("thrust train sac {}", env.id()));
}

// From start_epsilon to final_epsilon over the first part of the run, then level.
double epsilon_at(const DqnConfig& config, const Position& at) {
  const double span = config.exploration_fraction * static_cast<double>(at.total_steps);
  const double part = span > 0.0 ? std::min(static_cast<double>(at.step) / span, 1.0) : 1.0;
  return config.start_epsilon + part * (config.final_epsilon - config.start_epsilon);
}

OffPolicySchedule schedule_of(const DqnConfig& config) {
  return {.num_envs = config.num_envs,
          .buffer_size = config.buffer_size,
          .learning_starts = config.learning_starts,
          .train_frequency = config.train_frequency,
          .gradient_steps = config.gradient_steps,
          .target_update = config.target_update};
}

std::unique_ptr<Learner> make_learner_dqn(const Context& context, const RunConfig& config) {
  const DqnConfig& dqn = config.dqn;
  std::unique_ptr<VectorEnv> env = make_vector_env(config.environment, dqn.num_envs);
  const PolicySpaces spaces = discrete_spaces(*env);
  OffPolicyPlan plan{
      .schedule = schedule_of(dqn),
      .target_is_copy = dqn.tau == 1.0,
      .learning_rate = [dqn](const Position& at) { return dqn.learning_rate * (dqn.anneal_lr ? at.remaining() : 1.0); },
      .epsilon = [dqn](const Position& at) { return epsilon_at(dqn, at); },
      .start = dqn_start_graph(dqn, spaces),
      .step = dqn_step_graph(dqn, spaces, 0),
      .step_and_update = dqn_step_graph(dqn, spaces, dqn.gradient_steps),
      .target = dqn_target_graph(dqn, spaces),
      .metric_names = kDqnMetricNames};
  return make_off_policy_learner(context, config, std::move(env), std::move(plan));
}

// The policy of an evaluation is greedy; `stochastic` takes as many random actions as the end of the training did.
Graph act_graph(const RunConfig& config, const VectorEnv& env, std::int64_t batch, bool stochastic) {
  return dqn_policy_graph(config.dqn, discrete_spaces(env), batch, stochastic);
}

}  // namespace

DqnConfig dqn_defaults(std::string_view environment) {
  DqnConfig config;
  if (environment == "CartPole-v1") {
    // RL Baselines3 Zoo, hyperparams/dqn.yml, CartPole-v1; where it is silent, Stable-Baselines3's own defaults
    // (max_grad_norm, exploration_initial_eps, and one network instead of two for the next action).
    config.buffer_size = 100'000;
    config.batch_size = 64;
    config.learning_starts = 1000;
    config.train_frequency = 256;
    config.gradient_steps = 128;
    config.target_update = 10;
    config.learning_rate = 2.3e-3;
    config.final_epsilon = 0.04;
    config.exploration_fraction = 0.16;
    config.double_q = false;
    config.hidden = {256, 256};
  }
  return config;
}

Algorithm dqn_algorithm() {
  return {.name = "dqn",
          .fields = dqn_fields,
          .set_defaults =
              [](RunConfig& config, std::string_view environment) {
                config.dqn = dqn_defaults(environment);
                if (environment == "CartPole-v1") config.total_timesteps = 50'000;
              },
          .validate = [](const RunConfig& config) { validate(schedule_of(config.dqn), config.total_timesteps); },
          .steps_per_iteration =
              [](const RunConfig& config) { return off_policy_steps_per_iteration(schedule_of(config.dqn)); },
          .network =
              [](const RunConfig& config) {
                return fmt::format("hidden {}, activation {}", fmt::join(config.dqn.hidden, ","),
                                   config.dqn.activation);
              },
          .act_graph = act_graph,
          .make_learner = make_learner_dqn};
}

}  // namespace thrt::rl
