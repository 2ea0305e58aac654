#include <thrt/rl/train/trainer.hpp>

#include <thrt/error.hpp>
#include <thrt/io/atomic_file.hpp>

#include "rl/algo/stopwatch.hpp"
#include "rl/train/checkpoint.hpp"
#include "rl/train/open_device.hpp"
#include "rl/train/policy_player.hpp"
#include "rl/train/run_log.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace thrt::rl {
namespace {

constexpr std::size_t kRecentEpisodes = 100;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double mean_of(const std::vector<double>& values) {
  if (values.empty()) return kNaN;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void push_recent(std::vector<double>& recent, double value) {
  if (recent.size() == kRecentEpisodes) recent.erase(recent.begin());
  recent.push_back(value);
}

// Rows of progress.csv that a run writes at most, about: short iterations are not all logged.
constexpr std::int64_t kMostRows = 1000;

// Between two checkpoints that nobody asked for.
constexpr double kCheckpointSeconds = 5.0;

// Seeds that neither a training nor `thrust eval` uses, unless it is asked to.
constexpr std::uint64_t kEvaluationSeed = 2'000'000;

class Training {
 public:
  Training(const SelectedBackend& backend, const RunConfig& config, RunFolder& folder, const TrainHooks& hooks)
      : config_(config),
        folder_(folder),
        hooks_(hooks),
        learner_(make_learner(open_device(backend, config), config)),
        iterations_(config.total_timesteps / learner_->steps_per_iteration()),
        log_every_(std::max<std::int64_t>(iterations_ / kMostRows, 1)) {
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
    while (state_.updates < iterations_ && !result_.interrupted && !result_.reached) {
      finished.clear();
      learner_->iterate({state_.step, result_.last.total_steps}, split_, finished);
      state_.step += learner_->steps_per_iteration();
      ++state_.updates;
      for (const EpisodeEnd& episode : finished) count(episode);
      measure(first_step, watch.seconds() - result_.evaluation_seconds);
      const bool last = state_.updates == iterations_;
      const bool evaluated = due(evaluation_interval(config_), last) && evaluate();
      result_.interrupted = !last && !result_.reached && hooks_.stop_requested && hooks_.stop_requested();
      const bool ends = last || result_.interrupted || result_.reached;
      if (ends || evaluated || state_.updates % log_every_ == 0) {
        const double evaluation = evaluated ? result_.evaluations.back().mean : kNaN;
        log_->write(result_.last, mean_of(state_.recent_lengths), evaluation, learner_->metrics());
      }
      if (hooks_.progress) hooks_.progress(result_.last);
      if (ends || checkpoint_due()) save();
    }
    result_.seconds = watch.seconds() - result_.evaluation_seconds;
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

  // Unasked, a run of a second or two is not held up by ten of them: each waits for the disk.
  bool checkpoint_due() const {
    if (config_.checkpoint_every > 0) return due(config_.checkpoint_every, false);
    return since_checkpoint_.seconds() >= kCheckpointSeconds &&
           due(std::max<std::int64_t>(config_.total_timesteps / 10, 1), false);
  }

  // Whether the last iteration went over a multiple of `every` steps, or, for something that is done at all, `at_last`.
  bool due(std::int64_t every, bool at_last) const {
    if (every == 0) return false;
    return at_last || state_.step / every != (state_.step - learner_->steps_per_iteration()) / every;
  }

  bool evaluate() {
    const Stopwatch watch;
    if (!player_) {
      player_.emplace(learner_->buffers(), config_,
                      EvalOptions{.episodes = config_.eval_episodes, .seed = kEvaluationSeed});
    }
    const EvalResult played = player_->play();
    result_.evaluations.push_back({state_.step, result_.last.elapsed, played.mean, played.standard_deviation});
    if (played.mean >= config_.stop_at) result_.reached = result_.evaluations.back();
    if (hooks_.evaluation) hooks_.evaluation(result_.evaluations.back());
    result_.evaluation_seconds += watch.seconds();
    return true;
  }

  void save() {
    state_.environment = learner_->environment().save_state();
    const std::filesystem::path path = folder_.checkpoint_file(state_.step);
    log_->flush();
    save_checkpoint(path, config_, state_, learner_->buffers());
    folder_.set_latest(state_.step);
    result_.checkpoint = path.string();
    since_checkpoint_ = Stopwatch();
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
                                      {"evaluation_seconds", result_.evaluation_seconds},
                                      {"device_bytes_peak", device.bytes_peak},
                                      {"checkpoint", result_.checkpoint}};
    summary["evaluations"] = nlohmann::ordered_json::array();
    for (const Evaluation& evaluation : result_.evaluations) summary["evaluations"].push_back(as_json(evaluation));
    if (std::isfinite(config_.stop_at)) summary["stop_at"] = config_.stop_at;
    if (result_.reached) summary["reached"] = as_json(*result_.reached);
    // A folder's name may be any bytes.
    const std::string text = summary.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
    io::write_file_atomically(folder_.summary_file(), text + "\n");
  }

  static nlohmann::ordered_json as_json(const Evaluation& evaluation) {
    return {{"step", evaluation.step},
            {"seconds", evaluation.seconds},
            {"mean_return", evaluation.mean},
            {"std_return", evaluation.standard_deviation}};
  }

  void note(const std::string& line) const {
    if (hooks_.note) hooks_.note(line);
  }

  const Stopwatch setup_;
  Stopwatch since_checkpoint_;
  const RunConfig& config_;
  const RunFolder& folder_;
  const TrainHooks& hooks_;
  std::unique_ptr<Learner> learner_;
  std::int64_t iterations_;
  std::int64_t log_every_;
  std::optional<RunLog> log_;
  std::optional<PolicyPlayer> player_;  // compiled when it is first needed
  TrainingState state_;
  TimeSplit split_;
  TrainResult result_;
};

}  // namespace

TrainResult train(const SelectedBackend& backend, const RunConfig& config, RunFolder& folder, const TrainHooks& hooks) {
  return Training(backend, config, folder, hooks).run();
}

}  // namespace thrt::rl
