// What every algorithm is to the trainer: something that advances in iterations, and all of whose state lies in state slots
// and the environment, where a checkpoint finds it.
#pragma once

#include <thrt/rl/env/vector_env.hpp>
#include <thrt/rl/train/run_config.hpp>
#include <thrt/runtime/buffer_set.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace thrt::rl {

// Seconds of wall-clock, summed over iterations.
struct TimeSplit {
  double acting = 0.0;
  double environment = 0.0;
  double update = 0.0;
};

struct Metric {
  std::string tag;  // as in TensorBoard: "losses/value_loss"
  double value = 0.0;
};

// Where in its run an iteration begins, in environment steps over all environments.
struct Position {
  std::int64_t step = 0;
  std::int64_t total_steps = 0;

  // The part of the run still ahead: 1 at the start, towards 0.
  double remaining() const { return 1.0 - static_cast<double>(step) / static_cast<double>(total_steps); }
};

class Learner {
 public:
  virtual ~Learner() = default;

  // Environment steps of one iteration, over all environments; the same for every length of the run.
  virtual std::int64_t steps_per_iteration() const = 0;
  // Collects experience and learns from it. Adds to `split`, and the episodes that ended to `finished`.
  virtual void iterate(const Position& at, TimeSplit& split, std::vector<EpisodeEnd>& finished) = 0;
  // Of the last iteration; the same tags every time. NaN before the first.
  virtual std::vector<Metric> metrics() const = 0;

  virtual VectorEnv& environment() = 0;
  virtual BufferSet& buffers() = 0;
  // Call after environment() was reset or its state loaded.
  virtual void environment_changed() = 0;
  // All that were compiled.
  virtual std::vector<Executable> executables() const = 0;
};

// The learner that config.algorithm names. Throws Error for an environment it cannot act in, and when the device refuses
// its programs.
std::unique_ptr<Learner> make_learner(const Context& context, const RunConfig& config);

}  // namespace thrt::rl
