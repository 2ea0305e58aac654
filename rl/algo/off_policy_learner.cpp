#include "rl/algo/off_policy_learner.hpp"

#include <thrt/error.hpp>
#include <thrt/graph/passes.hpp>

#include "rl/algo/bound_program.hpp"
#include "rl/algo/stopwatch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace thrt::rl {
namespace {

// That an iteration has at most, of a hundred steps or fewer: what Ctrl-C, the progress, an evaluation or a checkpoint
// waits for. With networks of 256 units it is a fraction of a second.
constexpr double kMostGradientSteps = 100.0;

struct Programs {
  Program start, step, step_and_update;
  std::optional<Program> target;
};

Programs supported_programs(const Context& context, const OffPolicyPlan& plan) {
  std::vector<Program> programs = {lower(optimise(plan.start)), lower(optimise(plan.step)),
                                   lower(optimise(plan.step_and_update))};
  if (plan.target) programs.push_back(lower(optimise(*plan.target)));
  require_supported(context, programs);
  return {programs[0], programs[1], programs[2], plan.target ? std::optional(programs[3]) : std::nullopt};
}

// The actions of N environments, as the environment takes them and as the device holds them.
class Actions {
 public:
  explicit Actions(const VectorEnv& env) {
    if (const auto* box = std::get_if<BoxSpace>(&env.action_space())) {
      reals_.resize(env.num_envs() * box->size());
    } else {
      choices_.resize(env.num_envs());
    }
  }

  void read(const Buffer& buffer) {
    if (choices_.empty()) {
      buffer.read(std::as_writable_bytes(std::span(reals_)));
    } else {
      buffer.read(std::as_writable_bytes(std::span(choices_)));
    }
  }
  bool finite() const {
    return std::all_of(reals_.begin(), reals_.end(), [](float action) { return std::isfinite(action); });
  }
  void apply(VectorEnv& env, StepResult& result) const {
    if (choices_.empty()) {
      env.step(std::span<const float>(reals_), result);
    } else {
      env.step(std::span<const std::int32_t>(choices_), result);
    }
  }

 private:
  std::vector<std::int32_t> choices_;  // [N], or
  std::vector<float> reals_;           // [N, A]
};

// A number that the programs read; written when it changes.
class Setting {
 public:
  Setting(const char* name, BufferSet& buffers) : buffer_(buffers.at(name)) {}

  void set(double value) {
    const auto rounded = static_cast<float>(value);
    if (rounded == value_) return;
    value_ = rounded;
    buffer_.write(std::span<const float>(&value_, 1));
  }
  double value() const { return static_cast<double>(value_); }

 private:
  Buffer& buffer_;
  float value_ = std::numeric_limits<float>::quiet_NaN();  // on the device; unlike any other at first
};

class OffPolicyLearner : public Learner {
 public:
  OffPolicyLearner(const Context& context, std::uint64_t seed, std::unique_ptr<VectorEnv> env, OffPolicyPlan plan)
      : plan_(std::move(plan)),
        env_(std::move(env)),
        envs_(static_cast<std::int64_t>(env_->num_envs())),
        width_(env_->observation_space().size()),
        iteration_(off_policy_steps_per_iteration(plan_.schedule)),
        buffers_(context),
        programs_(supported_programs(context, plan_)),
        start_(buffers_, programs_.start, seed),
        step_(buffers_, programs_.step, seed),
        update_(buffers_, programs_.step_and_update, seed),
        action_buffer_(buffers_.at("act/action")),
        experience_buffer_(buffers_.at("experience")),
        epsilon_("epsilon", buffers_),
        learning_rate_("learning_rate", buffers_),
        actions_(*env_),
        experience_(env_->num_envs() * (2 * width_ + 2)),
        metrics_(static_cast<std::size_t>(plan_.schedule.gradient_steps) * plan_.metric_names.size(),
                 std::numeric_limits<float>::quiet_NaN()) {
    if (programs_.target) target_.emplace(buffers_, *programs_.target, seed);
  }

  std::int64_t steps_per_iteration() const override { return iteration_; }
  VectorEnv& environment() override { return *env_; }
  BufferSet& buffers() override { return buffers_; }

  // A resumed run finds its pending actions in their slot; a new one draws them.
  void environment_changed() override {
    std::vector<std::int32_t> size(1);
    download(buffers_, "replay/size", size);
    if (size[0] == 0) {
      std::vector<float> observations(env_->num_envs() * width_);
      env_->observe(observations);
      upload<float>(buffers_, "observations", observations);
      epsilon_.set(plan_.schedule.learning_starts > 0 ? 1.0 : plan_.epsilon({0, 1}));
      start_.run();
    }
    learned_ = true;  // since the target's last copy, as far as is known
    actions_.read(action_buffer_);
  }

  std::vector<Executable> executables() const override {
    std::vector<Executable> all = {start_.executable(), step_.executable(), update_.executable()};
    if (target_) all.push_back(target_->executable());
    return all;
  }

  void iterate(const Position& at, TimeSplit& split, std::vector<EpisodeEnd>& finished) override {
    bool learned = false;
    Laps laps;
    const std::int64_t end = std::min(at.step + iteration_, at.total_steps);
    for (Position now = at; now.step < end;) {
      actions_.apply(*env_, result_);
      finished.insert(finished.end(), result_.finished.begin(), result_.finished.end());
      pack_experience();
      laps.add_to(split.environment);

      now.step += envs_;
      const bool learns = now.step >= plan_.schedule.learning_starts && now.step % plan_.schedule.train_frequency == 0;
      copy_target(now);
      epsilon_.set(now.step < plan_.schedule.learning_starts ? 1.0 : plan_.epsilon(now));
      if (learns) learning_rate_.set(plan_.learning_rate(now));
      experience_buffer_.write(std::span<const float>(experience_));
      (learns ? update_ : step_).run();
      actions_.read(action_buffer_);
      if (!actions_.finite()) throw diverged("an action is not a finite number", now.step - at.step, at.step);
      learned_ = learned_ || learns;
      learned = learned || learns;
      laps.add_to(learns ? split.update : split.acting);
    }
    if (!learned) return;
    download(buffers_, "metrics", metrics_);
    require_finite(at.step);
  }

  std::vector<Metric> metrics() const override {
    std::vector<Metric> result = {{"charts/learning_rate", learning_rate_.value()},
                                  {"charts/epsilon", epsilon_.value()}};
    for (std::size_t which = 0; which < plan_.metric_names.size(); ++which) {
      result.push_back({std::string("losses/") + plan_.metric_names[which], mean_metric(which)});
    }
    return result;
  }

 private:
  // A row per environment: reward, terminated, the observation that the step ended in, the observation to act on. A
  // truncated episode is not terminated: its last observation still has a future.
  void pack_experience() {
    float* row = experience_.data();
    for (std::size_t i = 0; i < env_->num_envs(); ++i, row += 2 * width_ + 2) {
      const bool ended = (result_.terminated[i] | result_.truncated[i]) != 0;
      const std::vector<float>& last = ended ? result_.final_observations : result_.observations;
      row[0] = result_.rewards[i];
      row[1] = result_.terminated[i] != 0 ? 1.0F : 0.0F;
      std::copy_n(last.data() + i * width_, width_, row + 2);
      std::copy_n(result_.observations.data() + i * width_, width_, row + 2 + width_);
    }
  }

  // Once every target_update steps, unless a copy would change nothing.
  void copy_target(const Position& now) {
    if (!target_ || now.step % plan_.schedule.target_update != 0 || (plan_.target_is_copy && !learned_)) return;
    target_->run();
    learned_ = false;
  }

  // Over the gradient steps of the last update.
  double mean_metric(std::size_t which) const {
    double total = 0.0;
    for (std::size_t i = which; i < metrics_.size(); i += plan_.metric_names.size()) {
      total += static_cast<double>(metrics_[i]);
    }
    return total / static_cast<double>(plan_.schedule.gradient_steps);
  }

  // A network with a NaN in it never recovers; better to stop while the last checkpoint is good.
  void require_finite(std::int64_t step) const {
    for (std::size_t i = 0; i < metrics_.size(); ++i) {
      if (std::isfinite(metrics_[i])) continue;
      const char* name = plan_.metric_names[i % plan_.metric_names.size()];
      throw diverged(fmt::format("{} is {}", name, metrics_[i]), iteration_, step);
    }
  }

  static Error diverged(const std::string& what, std::int64_t within, std::int64_t step) {
    return Error(fmt::format("training diverged: {}", what), fmt::format("within {} steps after step {}", within, step),
                 "lower --learning-rate; earlier checkpoints are good", ErrorKind::kRun);
  }

  OffPolicyPlan plan_;
  std::unique_ptr<VectorEnv> env_;
  std::int64_t envs_;
  std::size_t width_;  // elements of an observation
  std::int64_t iteration_;
  BufferSet buffers_;
  Programs programs_;
  BoundProgram start_, step_, update_;
  std::optional<BoundProgram> target_;
  Buffer &action_buffer_, &experience_buffer_;  // looked up once
  Setting epsilon_, learning_rate_;

  Actions actions_;
  StepResult result_;
  std::vector<float> experience_;  // [N, 2D + 2]
  std::vector<float> metrics_;     // [gradient steps, metrics] of the last update
  bool learned_ = true;
};

}  // namespace

std::int64_t off_policy_steps_per_iteration(const OffPolicySchedule& schedule) {
  // A part that divides 100, so that with one environment a run of round length is one of whole iterations.
  std::int64_t steps = 1;
  for (const std::int64_t part : {2, 5, 10, 20, 50, 100}) {
    const auto updates = static_cast<double>(part) / static_cast<double>(schedule.train_frequency);
    if (updates * static_cast<double>(schedule.gradient_steps) <= kMostGradientSteps) steps = part;
  }
  return std::max<std::int64_t>(1, steps / schedule.num_envs) * schedule.num_envs;
}

std::unique_ptr<Learner> make_off_policy_learner(const Context& context, const RunConfig& config,
                                                 std::unique_ptr<VectorEnv> env, OffPolicyPlan plan) {
  return std::make_unique<OffPolicyLearner>(context, config.seed, std::move(env), std::move(plan));
}

void validate(const OffPolicySchedule& schedule, std::int64_t total_timesteps) {
  struct Entry {
    const char *name, *option;
    std::int64_t value;
  };
  for (const auto& [name, option, value] : {Entry{"buffer_size", "--buffer-size", schedule.buffer_size},
                                            Entry{"train_frequency", "--train-frequency", schedule.train_frequency},
                                            Entry{"target_update", "--target-update", schedule.target_update}}) {
    if (value % schedule.num_envs == 0) continue;
    throw Error(fmt::format("{} is {}, which is no multiple of num_envs", name, value),
                fmt::format("{} environments step together", schedule.num_envs),
                fmt::format("{} {}, or --num-envs 1", option, (value / schedule.num_envs + 1) * schedule.num_envs));
  }
  const std::int64_t each = off_policy_steps_per_iteration(schedule), last = total_timesteps / each * each;
  const std::int64_t due = std::max<std::int64_t>(schedule.learning_starts, 1), period = schedule.train_frequency;
  const std::int64_t first = (due / period + (due % period != 0 ? 1 : 0)) * period;
  if (first <= last) return;
  throw Error(fmt::format("nothing would be learned in {} steps", total_timesteps),
              fmt::format("with learning_starts {} and train_frequency {} the first update is at step {}",
                          schedule.learning_starts, period, first),
              fmt::format("--total-timesteps {} or more, or lower --learning-starts or --train-frequency",
                          (first + each - 1) / each * each));
}

}  // namespace thrt::rl
