// A training's whole state as one safetensors file: every state slot under its name, the environments' state, counters.
#pragma once

#include <thrt/rl/train/run_config.hpp>
#include <thrt/runtime/buffer_set.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace thrt::rl {

// What a training holds besides the state slots on the device.
struct TrainingState {
  std::int64_t step = 0;     // environment steps taken, over all environments
  std::int64_t updates = 0;  // update phases done
  std::int64_t episodes = 0;
  std::vector<double> recent_returns;  // of the last episodes, oldest first
  std::vector<double> recent_lengths;
  std::string environment;  // VectorEnv::save_state()
};

void save_checkpoint(const std::filesystem::path& path, const RunConfig& config, const TrainingState& state,
                     const BufferSet& buffers);

// Fills the state slots of `buffers` for which `wanted` says so, and returns the rest. Throws Error naming the file for
// one that is truncated, of another format version, algorithm, environment or network; nothing is changed then.
TrainingState load_checkpoint(const std::filesystem::path& path, const RunConfig& config, BufferSet& buffers,
                              const std::function<bool(std::string_view name)>& wanted);

}  // namespace thrt::rl
