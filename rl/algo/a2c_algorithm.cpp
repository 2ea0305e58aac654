#include <thrt/rl/algo/a2c.hpp>

#include "rl/algo/algorithm.hpp"
#include "rl/algo/hyper_parameter.hpp"
#include "rl/algo/on_policy_learner.hpp"

namespace thrt::rl {
namespace {

Graph act_graph(const RunConfig& config, const VectorEnv& env, std::int64_t batch, bool stochastic) {
  const ActorCriticShape shape = shape_of(config.a2c);
  const PolicySpaces spaces = policy_spaces(env);
  return stochastic ? actor_critic_act_graph("a2c_act", shape, spaces, batch)
                    : actor_critic_greedy_graph("a2c_greedy", shape, spaces, batch);
}

std::unique_ptr<Learner> learner(const Context& context, const RunConfig& run) {
  const A2cConfig& config = run.a2c;
  std::unique_ptr<VectorEnv> env = make_vector_env(run.environment, config.num_envs);
  const PolicySpaces spaces = policy_spaces(*env);
  return make_on_policy_learner(
      context, run, std::move(env),
      {.num_envs = config.num_envs,
       .num_steps = config.num_steps,
       .gamma = config.gamma,
       .gae_lambda = config.gae_lambda,
       .learning_rate = config.learning_rate,
       .anneal_lr = config.anneal_lr,
       .gradient_steps = 1,
       .metric_names = kA2cMetricNames,
       .act = actor_critic_act_graph("a2c_act", shape_of(config), spaces, config.num_envs),
       .value = actor_critic_value_graph("a2c_value", shape_of(config), spaces, config.num_envs),
       .update = a2c_update_graph(config, spaces)});
}

}  // namespace

Algorithm a2c_algorithm() {
  return {.name = "a2c",
          .fields = a2c_fields,
          .set_defaults = [](RunConfig& run, std::string_view environment) { run.a2c = a2c_defaults(environment); },
          .validate = [](const RunConfig& run) { validate(run.a2c); },
          .steps_per_iteration = [](const RunConfig& run) { return run.a2c.batch_size(); },
          .network = [](const RunConfig& run) { return shape_of(run.a2c).text(); },
          .act_graph = act_graph,
          .make_learner = learner};
}

}  // namespace thrt::rl
