// DQN's and SAC's updates, each on a batch that it draws from the ring on the device, and with the environment step that
// comes before.
#include "group_files.hpp"
#include "learner_work.hpp"
#include "program_work.hpp"

#include <thrt/rl/algo/dqn.hpp>
#include <thrt/rl/algo/sac.hpp>

#include <random>

namespace thrt::bench {
namespace {

constexpr std::int64_t kBatch = 64, kRows = 10'000;
constexpr std::int64_t kStepsOfARun = 16;

// A full ring of random transitions. Columns: observation, next observation, action, reward, terminated.
template <typename DrawAction>
void fill_ring(BufferSet& buffers, std::int64_t observation_size, std::int64_t action_size, DrawAction draw_action) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  const std::int64_t actions_begin = 2 * observation_size, width = actions_begin + action_size + 2;
  std::vector<float> rows(static_cast<std::size_t>(kRows * width));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t column = static_cast<std::int64_t>(i) % width;
    const bool is_action = column >= actions_begin && column < actions_begin + action_size;
    rows[i] = is_action ? draw_action(random) : column == width - 1 ? 0.0F : normal(random);
  }
  const std::int32_t size = kRows;
  buffers.at("replay/rows").write(std::span<const float>(rows));
  buffers.at("replay/size").write(std::span<const std::int32_t>(&size, 1));
}

rl::DqnConfig dqn_config() {
  rl::DqnConfig config;
  config.hidden = {64, 64};
  config.batch_size = kBatch;
  config.buffer_size = kRows;
  config.learning_starts = 0;
  config.train_frequency = 1;
  config.learning_rate = 1e-3;
  config.final_epsilon = config.start_epsilon;  // as at the start of a long run
  return config;
}

rl::SacConfig sac_config() {
  rl::SacConfig config;
  config.hidden = {64, 64};
  config.batch_size = kBatch;
  config.buffer_size = kRows;
  config.learning_starts = 0;
  return config;
}

Work loop(const Context& context, const std::string& algorithm, const std::string& environment) {
  rl::RunConfig config;
  config.algorithm = algorithm;
  config.environment = environment;
  config.dqn = dqn_config();
  config.sac = sac_config();
  return learner_work(context, config, kStepsOfARun);
}

SyntheticData dqn_data() {
  SyntheticData data{.learning_rate = 1e-3, .actions = 2};
  data.fill = [](BufferSet& buffers) {
    fill_ring(buffers, 4, 1, [](std::mt19937_64& random) { return static_cast<float>(random() & 1U); });
  };
  return data;
}

SyntheticData sac_data() {
  SyntheticData data{.learning_rate = 3e-4};
  data.fill = [](BufferSet& buffers) {
    fill_ring(buffers, 3, 1,
              [](std::mt19937_64& random) { return std::uniform_real_distribution<float>(-1.0F, 1.0F)(random); });
  };
  return data;
}

}  // namespace

void add_off_policy_groups(std::vector<Group>& groups) {
  groups.push_back(
      program_group({.name = "dqn_train_step",
                     .batch = kBatch,
                     .description = "one Double-DQN update, 4-64-64-2, batch 64 drawn from the ring",
                     .graph = [] { return rl::dqn_update_graph(dqn_config(), {.observation_size = 4, .actions = 2}); }},
                    dqn_data(), "agent", 4'610));
  // Actor 3-64-64-2 (mean and deviation), two critics 4-64-64-1.
  groups.push_back(program_group({.name = "sac_train_step",
                                  .batch = kBatch,
                                  .description = "one SAC update, nets of 64-64, batch 64 drawn from the ring",
                                  .graph =
                                      [] {
                                        return rl::sac_update_graph(
                                            sac_config(),
                                            {.observation_size = 3, .action_low = {-2.0F}, .action_high = {2.0F}});
                                      }},
                                 sac_data(), "agent", 4'546 + 2 * 4'545));
  groups.push_back({.name = "dqn_cartpole_steps_per_sec",
                    .batch = kBatch,
                    .description = "16 x (act, step, store, update) on one CartPole",
                    .make = [](const Context& context) { return loop(context, "dqn", "CartPole-v1"); }});
  groups.push_back({.name = "sac_pendulum_steps_per_sec",
                    .batch = kBatch,
                    .description = "16 x (act, step, store, update) on one Pendulum",
                    .make = [](const Context& context) { return loop(context, "sac", "Pendulum-v1"); }});
}

}  // namespace thrt::bench
