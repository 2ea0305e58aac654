#include <thrt/rl/train/trainer.hpp>

#include <thrt/error.hpp>
#include <thrt/io/atomic_file.hpp>

#include "rl/algo/stopwatch.hpp"
#include "rl/train/checkpoint.hpp"
#include "rl/train/open_device.hpp"
#include "rl/train/run_log.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <numeric>

namespace thrt::rl {
namespace {

constexpr std::size_t kRecentEpisodes = 100;

double mean_of(const std::vector<double>& values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void push_recent(std::vector<double>& recent, double value) {
  if (recent.size() == kRecentEpisodes) recent.erase(recent.begin());
  recent.push_back(value);
}

std::unique_ptr<Learner> make_learner(const Context& context, const RunConfig& config) {
  if (config.algorithm == "ppo") return make_ppo_learner(context, config);
  throw Error(fmt::format("unknown algorithm '{}'", config.algorithm), {}, "choose one of: ppo");
}

class Training {
 public:
  Training(const SelectedBackend& backend, const RunConfig& config, RunFolder& folder, const TrainHooks& hooks)
      : config_(config),
        folder_(folder),
        hooks_(hooks),
        learner_(make_learner(open_device(backend, config), config)),
        iterations_(config.total_timesteps / learner_->steps_per_iteration()) {
    if (iterations_ < 1) {
      throw Error(fmt::format("total-timesteps {} is less than one iteration", config.total_timesteps),
                  fmt::format("an iteration takes {} steps", learner_->steps_per_iteration()),
                  fmt::format("raise --total-timesteps to {} or more", learner_->steps_per_iteration()));
    }
    for (const Executable& executable : learner_->executables()) {
      note(executable.summary());
      if (hooks_.program) hooks_.program(executable.program());
    }
  }

  TrainResult run() {
    start();
    result_.setup_seconds = setup_.seconds();
    const Stopwatch watch;
    const std::int64_t first_step = state_.step;
    std::vector<EpisodeEnd> finished;
    while (state_.updates < iterations_ && !result_.interrupted) {
      finished.clear();
      learner_->iterate(1.0 - static_cast<double>(state_.updates) / static_cast<double>(iterations_), split_, finished);
      state_.step += learner_->steps_per_iteration();
      ++state_.updates;
      for (const EpisodeEnd& episode : finished) count(episode);
      measure(first_step, watch.seconds());
      log_->write(result_.last, mean_of(state_.recent_lengths), learner_->metrics());
      if (hooks_.progress) hooks_.progress(result_.last);
      const bool last = state_.updates == iterations_;
      result_.interrupted = !last && hooks_.stop_requested && hooks_.stop_requested();
      if (last || result_.interrupted || checkpoint_due()) save();
    }
    result_.seconds = watch.seconds();
    if (state_.step > first_step) finish();  // a run that was complete already keeps its summary
    return result_;
  }

 private:
  // Begins anew, or where the newest checkpoint left off.
  void start() {
    const auto checkpoint = folder_.latest_checkpoint();
    if (checkpoint) {
      state_ = load_checkpoint(*checkpoint, config_, learner_->buffers(), LoadPurpose::kResume);
      require_whole_iterations(*checkpoint);
      learner_->environment().load_state(state_.environment);
      result_.checkpoint = checkpoint->string();
      note(fmt::format("resumed from {} at step {}", checkpoint->string(), state_.step));
    } else {
      learner_->environment().reset(config_.seed);
    }
    learner_->environment_changed();
    log_.emplace(folder_, learner_->metrics(), checkpoint ? std::optional(state_.step) : std::nullopt);
    measure(state_.step, 0.0);
  }

  void require_whole_iterations(const std::filesystem::path& checkpoint) const {
    const std::int64_t each = learner_->steps_per_iteration();
    if (state_.step % each == 0 && state_.step / each == state_.updates) return;
    throw Error(
        fmt::format("checkpoint {} is of other settings", checkpoint.string()),
        fmt::format("it took {} steps in {} iterations; here an iteration takes {}", state_.step, state_.updates, each),
        "resume with the settings that began the run");
  }

  void count(const EpisodeEnd& episode) {
    ++state_.episodes;
    push_recent(state_.recent_returns, episode.episode_return);
    push_recent(state_.recent_lengths, static_cast<double>(episode.length));
  }

  void measure(std::int64_t first_step, double elapsed) {
    TrainProgress& now = result_.last;
    now.step = state_.step;
    now.total_steps = iterations_ * learner_->steps_per_iteration();
    now.episodes = state_.episodes;
    now.mean_return = mean_of(state_.recent_returns);
    now.elapsed = elapsed;
    now.steps_per_second = elapsed > 0.0 ? static_cast<double>(state_.step - first_step) / elapsed : 0.0;
    const double left = static_cast<double>(now.total_steps - state_.step);
    now.remaining = now.steps_per_second > 0.0 ? left / now.steps_per_second : 0.0;
  }

  bool checkpoint_due() const {
    const std::int64_t every = config_.checkpoint_every > 0 ? config_.checkpoint_every
                                                            : std::max<std::int64_t>(config_.total_timesteps / 10, 1);
    return state_.step / every != (state_.step - learner_->steps_per_iteration()) / every;
  }

  void save() {
    state_.environment = learner_->environment().save_state();
    const std::filesystem::path path = folder_.checkpoint_file(state_.step);
    log_->flush();
    save_checkpoint(path, config_, state_, learner_->buffers());
    folder_.set_latest(state_.step);
    result_.checkpoint = path.string();
  }

  void finish() {
    result_.acting_seconds = split_.acting;
    result_.environment_seconds = split_.environment;
    result_.update_seconds = split_.update;
    log_->flush();
    const thrt_stats device = learner_->buffers().context().stats();
    nlohmann::ordered_json summary = {{"algorithm", config_.algorithm},
                                      {"environment", config_.environment},
                                      {"seed", config_.seed},
                                      {"backend", config_.backend},
                                      {"precision", config_.precision},
                                      {"finished", !result_.interrupted},
                                      {"step", state_.step},
                                      {"episodes", state_.episodes},
                                      {"mean_return", result_.last.mean_return},
                                      {"steps_per_second", result_.last.steps_per_second},
                                      {"seconds", result_.seconds},
                                      {"setup_seconds", result_.setup_seconds},
                                      {"acting_seconds", split_.acting},
                                      {"environment_seconds", split_.environment},
                                      {"update_seconds", split_.update},
                                      {"device_bytes_peak", device.bytes_peak},
                                      {"checkpoint", result_.checkpoint}};
    // A folder's name may be any bytes.
    const std::string text = summary.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
    io::write_file_atomically(folder_.summary_file(), text + "\n");
  }

  void note(const std::string& line) const {
    if (hooks_.note) hooks_.note(line);
  }

  const Stopwatch setup_;
  const RunConfig& config_;
  const RunFolder& folder_;
  const TrainHooks& hooks_;
  std::unique_ptr<Learner> learner_;
  std::int64_t iterations_;
  std::optional<RunLog> log_;
  TrainingState state_;
  TimeSplit split_;
  TrainResult result_;
};

}  // namespace

TrainResult train(const SelectedBackend& backend, const RunConfig& config, RunFolder& folder, const TrainHooks& hooks) {
  return Training(backend, config, folder, hooks).run();
}

}  // namespace thrt::rl
