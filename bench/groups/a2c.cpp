// A2C's update alone, and with the rollout that feeds it.
#include "group_files.hpp"
#include "learner_work.hpp"
#include "program_work.hpp"

#include <thrt/rl/algo/a2c.hpp>

namespace thrt::bench {
namespace {

constexpr std::int64_t kBatch = 64, kActions = 2;

rl::A2cConfig shared_net() {
  rl::A2cConfig config;
  config.hidden = {64, 64};
  config.shared_trunk = true;
  config.optimiser = "adam";
  config.learning_rate = 7e-4;
  config.ent_coef = 0.01;
  return config;
}

Work cartpole(const Context& context) {
  rl::RunConfig config;
  config.algorithm = "a2c";
  config.environment = "CartPole-v1";
  config.a2c = shared_net();
  config.a2c.num_envs = 16;
  config.a2c.num_steps = 5;
  config.a2c.gae_lambda = 0.95;
  return learner_work(context, config);
}

}  // namespace

void add_a2c_groups(std::vector<Group>& groups) {
  groups.push_back(program_group(
      {.name = "a2c_train_step",
       .batch = kBatch,
       .description = "one A2C update, 4-64-64 tanh with heads of 2 and 1, batch 64",
       .graph =
           [] { return rl::a2c_minibatch_graph(shared_net(), {.observation_size = 4, .actions = kActions}, kBatch); }},
      {.learning_rate = 7e-4, .actions = kActions}, "agent", 4'675));
  groups.push_back({.name = "a2c_cartpole_steps_per_sec",
                    .batch = 80,
                    .description = "16 CartPoles x 5 steps, then one update",
                    .make = cartpole});
}

}  // namespace thrt::bench
