// Environments alone: 1 024 side by side on one thread, with actions drawn beforehand.
#include "group_files.hpp"

#include <thrt/rl/env/vector_env.hpp>

#include <array>
#include <memory>
#include <random>
#include <string>

namespace thrt::bench {
namespace {

constexpr std::int64_t kEnvs = 1024;
constexpr std::size_t kBatches = 16;  // of actions, taken in turn

template <typename Action>
struct Stepping {
  template <typename Draw>
  Stepping(const std::string& environment, Draw draw) : envs(rl::make_vector_env(environment, kEnvs)) {
    std::mt19937_64 random(1);
    for (std::vector<Action>& batch : actions) {
      batch.resize(kEnvs);
      for (Action& action : batch) action = draw(random);
    }
    envs->reset(1);
  }

  void step() {
    envs->step(std::span<const Action>(actions[next]), result);
    next = (next + 1) % kBatches;
  }

  std::unique_ptr<rl::VectorEnv> envs;
  std::array<std::vector<Action>, kBatches> actions;
  std::size_t next = 0;
  rl::StepResult result;
};

template <typename Action, typename Draw>
Work stepping(const std::string& environment, Draw draw) {
  const auto work = std::make_shared<Stepping<Action>>(environment, draw);
  return {.run = [work] { work->step(); }, .env_steps = static_cast<double>(kEnvs)};
}

Work cartpole() {
  return stepping<std::int32_t>("CartPole-v1",
                                [](std::mt19937_64& random) { return static_cast<std::int32_t>(random() & 1U); });
}

Work pendulum() {
  return stepping<float>("Pendulum-v1", [](std::mt19937_64& random) {
    return std::uniform_real_distribution<float>(-2.0F, 2.0F)(random);
  });
}

}  // namespace

void add_env_groups(std::vector<Group>& groups) {
  groups.push_back({.name = "cartpole_env_step",
                    .batch = kEnvs,
                    .description = "one step of 1,024 CartPoles, random actions, restarts included",
                    .on_device = false,
                    .make_host = cartpole});
  groups.push_back({.name = "pendulum_env_step",
                    .batch = kEnvs,
                    .description = "one step of 1,024 Pendulums, random actions, restarts included",
                    .on_device = false,
                    .make_host = pendulum});
}

}  // namespace thrt::bench
