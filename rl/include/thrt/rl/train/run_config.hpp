// Everything that says what a run does: what config.toml holds, what the command line sets.
#pragma once

#include <thrt/rl/algo/ppo_config.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thrt::rl {

struct RunConfig {
  std::string algorithm = "ppo";
  std::string environment;
  std::uint64_t seed = 1;
  std::int64_t total_timesteps = 500'000;
  std::int64_t checkpoint_every = 0;  // environment steps between checkpoints; 0: a tenth of the run

  std::string backend = "cpu";  // as --backend takes it
  std::int64_t threads = 0;     // 0: the backend's choice
  std::string precision = "f32";
  std::uint64_t memory_budget = 0;  // bytes; 0: the device's memory

  PpoConfig ppo;
};

std::vector<std::string> algorithm_names();

// The defaults of a run: those of RunConfig with the hyper-parameters tuned for the environment, where there are any.
RunConfig default_config(std::string_view algorithm, std::string_view environment);

// Throws Error naming the setting, its value and what it may be: every field's range, and what they say together.
void validate(const RunConfig& config);

}  // namespace thrt::rl
