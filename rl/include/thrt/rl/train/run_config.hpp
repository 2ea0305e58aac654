// Everything that says what a run does: what config.toml holds, what the command line sets.
#pragma once

#include <thrt/rl/algo/a2c_config.hpp>
#include <thrt/rl/algo/dqn_config.hpp>
#include <thrt/rl/algo/ppo_config.hpp>
#include <thrt/rl/algo/sac_config.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace thrt::rl {

struct RunConfig {
  std::string algorithm = "ppo";
  std::string environment;
  std::uint64_t seed = 1;
  std::int64_t total_timesteps = 500'000;
  std::int64_t checkpoint_every = 0;  // environment steps between checkpoints; 0: by itself

  std::int64_t eval_every = 0;  // environment steps between evaluations; 0: by itself
  std::int64_t eval_episodes = 100;
  double stop_at = std::numeric_limits<double>::infinity();  // mean return of an evaluation that ends the run

  std::string backend = "cpu";  // as --backend takes it
  std::int64_t threads = 0;     // 0: the backend's choice
  std::string precision = "f32";
  std::uint64_t memory_budget = 0;  // bytes; 0: the device's memory

  // Of which only the algorithm's own is used.
  PpoConfig ppo;
  A2cConfig a2c;
  DqnConfig dqn;
  SacConfig sac;
};

std::vector<std::string> algorithm_names();

// The defaults of a run: those of RunConfig with the hyper-parameters tuned for the environment, where there are any.
RunConfig default_config(std::string_view algorithm, std::string_view environment);

// Environment steps of one iteration of the algorithm; a run takes a whole number of them.
std::int64_t steps_per_iteration(const RunConfig& config);

// Environment steps from one evaluation to the next; 0: none.
std::int64_t evaluation_interval(const RunConfig& config);

// Throws Error naming the setting, its value and what it may be: every field's range, and what they say together.
void validate(const RunConfig& config);

}  // namespace thrt::rl
