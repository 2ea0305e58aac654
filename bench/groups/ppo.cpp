// PPO's gradient step alone, and with the rollout that feeds it.
#include "group_files.hpp"
#include "learner_work.hpp"
#include "program_work.hpp"

#include <thrt/rl/algo/ppo.hpp>

namespace thrt::bench {
namespace {

constexpr std::int64_t kBatch = 64, kObservations = 4, kActions = 2;

rl::PpoConfig net_of_two(std::int64_t width) {
  rl::PpoConfig config;
  config.hidden = {width, width};
  config.learning_rate = 3e-4;
  return config;
}

Graph train_step() {
  rl::PpoConfig config = net_of_two(64);
  config.shared_trunk = true;
  return rl::ppo_minibatch_graph(config, {.observation_size = kObservations, .actions = kActions}, kBatch);
}

// 16 environments, 5 steps each, then one epoch of two minibatches. The published ones hold 64 and 16 transitions; ours
// are of one size, 40 each: as many gradient steps on as many transitions.
Work cartpole(const Context& context) {
  rl::RunConfig config;
  config.algorithm = "ppo";
  config.environment = "CartPole-v1";
  config.ppo = net_of_two(64);
  config.ppo.shared_trunk = true;
  config.ppo.num_envs = 16;
  config.ppo.num_steps = 5;
  config.ppo.num_minibatches = 2;
  config.ppo.update_epochs = 1;
  return learner_work(context, config);
}

}  // namespace

Work ppo_step_of_width(const Context& context, std::int64_t width) {
  const Graph graph =
      rl::ppo_minibatch_graph(net_of_two(width), {.observation_size = kObservations, .actions = kActions}, kBatch);
  return program_work(context, graph, {.actions = kActions}, "agent", parameter_count(graph, "agent"));
}

void add_ppo_groups(std::vector<Group>& groups) {
  groups.push_back(program_group({.name = "ppo_train_step",
                                  .batch = kBatch,
                                  .description = "one PPO gradient step, 4-64-64 tanh with heads of 2 and 1, batch 64",
                                  .graph = train_step},
                                 {.learning_rate = 3e-4, .actions = kActions}, "agent", 4'675));
  groups.push_back({.name = "ppo_cartpole_steps_per_sec",
                    .batch = 80,
                    .description = "16 CartPoles x 5 steps, then one epoch of two minibatches",
                    .make = cartpole});
}

}  // namespace thrt::bench
