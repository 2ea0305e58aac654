#include <thrt/rl/algo/ppo.hpp>

#include "rl/algo/algorithm.hpp"
#include "rl/algo/hyper_parameter.hpp"
#include "rl/algo/on_policy_learner.hpp"

namespace thrt::rl {
namespace {

void set_defaults(RunConfig& run, std::string_view environment) {
  run.ppo = ppo_defaults(environment);
  // The zoo's budget, over which its learning rate falls.
  if (environment == "CartPole-v1" || environment == "Pendulum-v1") run.total_timesteps = 100'000;
}

Graph act_graph(const RunConfig& config, const VectorEnv& env, std::int64_t batch, bool stochastic) {
  const PolicySpaces spaces = policy_spaces(env);
  return stochastic ? ppo_act_graph(config.ppo, spaces, batch) : ppo_greedy_graph(config.ppo, spaces, batch);
}

std::unique_ptr<Learner> learner(const Context& context, const RunConfig& run) {
  const PpoConfig& config = run.ppo;
  std::unique_ptr<VectorEnv> env = make_vector_env(run.environment, config.num_envs);
  const PolicySpaces spaces = policy_spaces(*env);
  return make_on_policy_learner(context, run, std::move(env),
                                {.num_envs = config.num_envs,
                                 .num_steps = config.num_steps,
                                 .gamma = config.gamma,
                                 .gae_lambda = config.gae_lambda,
                                 .learning_rate = config.learning_rate,
                                 .anneal_lr = config.anneal_lr,
                                 .clip = config.clip_coef,
                                 .anneal_clip = config.anneal_clip,
                                 .gradient_steps = config.update_epochs * config.num_minibatches,
                                 .metric_names = kPpoMetricNames,
                                 .act = ppo_act_graph(config, spaces, config.num_envs),
                                 .value = ppo_value_graph(config, spaces, config.num_envs),
                                 .update = ppo_update_graph(config, spaces)});
}

}  // namespace

Algorithm ppo_algorithm() {
  return {.name = "ppo",
          .fields = ppo_fields,
          .set_defaults = set_defaults,
          .validate = [](const RunConfig& run) { validate(run.ppo); },
          .steps_per_iteration = [](const RunConfig& run) { return run.ppo.batch_size(); },
          .network = [](const RunConfig& run) { return shape_of(run.ppo).text(); },
          .act_graph = act_graph,
          .make_learner = learner};
}

}  // namespace thrt::rl
