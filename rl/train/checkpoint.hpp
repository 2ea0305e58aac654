// A training's whole state as one safetensors file: every state slot under its name, the environments' state, counters.
#pragma once

#include <thrt/io/safetensors.hpp>
#include <thrt/rl/train/run_config.hpp>
#include <thrt/runtime/buffer_set.hpp>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
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

enum class LoadPurpose {
  kResume,    // every state slot; the checkpoint must be of this very run's settings
  kEvaluate,  // the networks' weights: an evaluation has its own random numbers
};

// A state slot that a checkpoint must hold.
struct StateSlot {
  std::string name;
  Type type;
};

// Fills the state slots of `buffers` and returns the rest. Throws Error naming the file for one that is truncated, of
// another format version, algorithm, environment or network, or whose counters cannot be; nothing is changed then.
TrainingState load_checkpoint(const std::filesystem::path& path, const RunConfig& config, BufferSet& buffers,
                              LoadPurpose purpose);

// The same for a file that was read, which errors call `source`; the slots' tensors are then in it, of the right type.
TrainingState state_of_checkpoint(const io::SafeTensors& file, const std::string& source, const RunConfig& config,
                                  std::span<const StateSlot> slots, LoadPurpose purpose);

}  // namespace thrt::rl
