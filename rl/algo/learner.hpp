// What every algorithm is to the trainer: something that advances in iterations and whose whole state can be saved.
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

class Learner {
 public:
  virtual ~Learner() = default;

  // Environment steps of one iteration, over all environments.
  virtual std::int64_t steps_per_iteration() const = 0;
  // Collects experience and learns from it. `remaining`: the part of the run still ahead, from 1 down. Adds to `split`,
  // and the episodes that ended to `finished`.
  virtual void iterate(double remaining, TimeSplit& split, std::vector<EpisodeEnd>& finished) = 0;
  // Of the last iteration; the same tags every time. NaN before the first.
  virtual std::vector<Metric> metrics() const = 0;

  virtual VectorEnv& environment() = 0;
  virtual BufferSet& buffers() = 0;
  // Call after environment() was reset or its state loaded.
  virtual void environment_changed() = 0;
  // All that were compiled.
  virtual std::vector<Executable> executables() const = 0;
};

// Throws Error for an environment the algorithm cannot act in.
std::unique_ptr<Learner> make_ppo_learner(const Context& context, const RunConfig& config);

}  // namespace thrt::rl
