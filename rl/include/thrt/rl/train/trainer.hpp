// Training from start to end: one call that owns the loop. What to train comes in as a RunConfig, where results go as a
// RunFolder.
#pragma once

#include <thrt/graph/program.hpp>
#include <thrt/plugin/registry.hpp>
#include <thrt/rl/train/run_config.hpp>
#include <thrt/rl/train/run_folder.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace thrt::rl {

// Told after every update. Times in seconds of wall-clock since this process began training, without evaluations.
struct TrainProgress {
  std::int64_t step = 0;  // environment steps so far, over all environments and sessions
  std::int64_t total_steps = 0;
  std::int64_t episodes = 0;
  double mean_return = 0.0;  // over the last 100 episodes; NaN before the first has ended
  double steps_per_second = 0.0;
  double elapsed = 0.0;
  double remaining = 0.0;  // estimate
};

// Greedy episodes during training, in environments and with seeds of their own: they change nothing of it.
struct Evaluation {
  std::int64_t step = 0;
  double seconds = 0.0;  // of training before it, in this session, without evaluations
  double mean = 0.0;
  double standard_deviation = 0.0;
};

struct TrainHooks {
  std::function<bool()> stop_requested;                // asked after every update
  std::function<void(const TrainProgress&)> progress;  // may be empty
  std::function<void(const Evaluation&)> evaluation;   // may be empty
  std::function<void(const std::string&)> note;        // one line each: compiled executables, checkpoints; may be empty
  std::function<void(const Program&)> program;         // each that was compiled; may be empty
};

struct TrainResult {
  bool interrupted = false;  // stop_requested said so; a checkpoint was written
  TrainProgress last;
  std::vector<Evaluation> evaluations;
  std::optional<Evaluation> reached;  // the first at or over config.stop_at, which ended the run
  double seconds = 0.0;               // of this session: training, without compiling and evaluations
  double evaluation_seconds = 0.0;
  double setup_seconds = 0.0;
  double acting_seconds = 0.0;
  double environment_seconds = 0.0;
  double update_seconds = 0.0;
  std::string checkpoint;  // path of the last one
};

// Trains until config.total_timesteps. Starts from the folder's newest checkpoint when it has one. Writes progress.csv,
// TensorBoard events, checkpoints and summary.json into the folder. Evaluates as config.eval_every says, and ends at the
// first evaluation at or over config.stop_at.
TrainResult train(const SelectedBackend& backend, const RunConfig& config, RunFolder& folder, const TrainHooks& hooks);

struct EvalOptions {
  std::int64_t episodes = 100;
  bool stochastic = false;  // sample actions instead of taking the most probable
  std::uint64_t seed = 1'000'000;
};

struct EvalResult {
  std::vector<double> returns;  // one an episode
  std::vector<std::int64_t> lengths;
  double mean = 0.0;
  double standard_deviation = 0.0;  // of the episodes, n - 1
  std::int64_t step = 0;            // the checkpoint's
};

// Runs fresh episodes with a checkpoint's policy; every episode counts once, so that short ones are not
// over-represented.
EvalResult evaluate(const SelectedBackend& backend, const RunConfig& config, const std::string& checkpoint_path,
                    const EvalOptions& options);

}  // namespace thrt::rl
