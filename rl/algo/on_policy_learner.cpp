#include "rl/algo/on_policy_learner.hpp"

#include <thrt/error.hpp>
#include <thrt/graph/passes.hpp>
#include <thrt/rl/buffer/rollout_buffer.hpp>

#include "rl/algo/bound_program.hpp"
#include "rl/algo/stopwatch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace thrt::rl {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Variance of count values.
template <typename ValueAt>
double variance(std::size_t count, ValueAt value_at) {
  double mean = 0.0, squares = 0.0;
  for (std::size_t i = 0; i < count; ++i) mean += value_at(i);
  mean /= static_cast<double>(count);
  for (std::size_t i = 0; i < count; ++i) squares += (value_at(i) - mean) * (value_at(i) - mean);
  return squares / static_cast<double>(count);
}

struct Programs {
  Program act, value, update;
};

Programs supported_programs(const Context& context, const OnPolicy& algorithm) {
  const Program programs[] = {lower(optimise(algorithm.act)), lower(optimise(algorithm.value)),
                              lower(optimise(algorithm.update))};
  require_supported(context, programs);
  return {programs[0], programs[1], programs[2]};
}

// Buffers that the loop uses at every step, found by name once.
struct Slots {
  explicit Slots(BufferSet& buffers)
      : observations(&buffers.at("observations")),
        action(&buffers.at("action")),
        log_prob(&buffers.at("log_prob")),
        value(&buffers.at("value")) {}

  Buffer *observations, *action, *log_prob, *value;
};

// An input of the update, found by name once; nothing where the update has none of that name.
class Input {
 public:
  Input(BufferSet& buffers, const char* name) : buffer_(buffers.contains(name) ? &buffers.at(name) : nullptr) {}

  template <typename T>
  void write(std::span<const T> values) const {
    if (buffer_ != nullptr) buffer_->write(values);
  }

 private:
  Buffer* buffer_;
};

struct UpdateInputs {
  explicit UpdateInputs(BufferSet& buffers)
      : observations(buffers, "rollout/observations"),
        actions(buffers, "rollout/actions"),
        log_probs(buffers, "rollout/log_probs"),
        advantages(buffers, "rollout/advantages"),
        returns(buffers, "rollout/returns"),
        values(buffers, "rollout/values"),
        learning_rate(buffers, "learning_rate"),
        clip(buffers, "clip") {}

  Input observations, actions, log_probs, advantages, returns, values, learning_rate, clip;
};

class OnPolicyLearner final : public Learner {
 public:
  OnPolicyLearner(const Context& context, std::uint64_t seed, std::unique_ptr<VectorEnv> env, const OnPolicy& algorithm)
      : algorithm_(algorithm),
        env_(std::move(env)),
        spaces_(policy_spaces(*env_)),
        buffers_(context),
        programs_(supported_programs(context, algorithm)),
        act_(buffers_, programs_.act, seed),
        value_(buffers_, programs_.value, seed),
        update_(buffers_, programs_.update, seed),
        slots_(buffers_),
        inputs_(buffers_),
        rollout_(algorithm_.num_steps, algorithm_.num_envs, spaces_.observation_size,
                 spaces_.continuous ? spaces_.actions : 0),
        observations_(static_cast<std::size_t>(algorithm_.num_envs * spaces_.observation_size)),
        metrics_(static_cast<std::size_t>(algorithm_.gradient_steps) * algorithm_.metric_names.size(),
                 std::numeric_limits<float>::quiet_NaN()) {}

  std::int64_t steps_per_iteration() const override { return algorithm_.num_envs * algorithm_.num_steps; }
  VectorEnv& environment() override { return *env_; }
  BufferSet& buffers() override { return buffers_; }
  void environment_changed() override { env_->observe(observations_); }

  std::vector<Executable> executables() const override {
    return {act_.executable(), value_.executable(), update_.executable()};
  }

  void iterate(const Position& at, TimeSplit& split, std::vector<EpisodeEnd>& finished) override {
    Laps laps;
    rollout_.clear();
    for (std::int64_t t = 0; t < algorithm_.num_steps; ++t) {
      const RolloutBuffer::Row row = rollout_.next_row();
      act(row);
      laps.add_to(split.acting);
      if (spaces_.continuous) {
        env_->step(row.box_actions, step_);
      } else {
        env_->step(row.actions, step_);
      }
      rollout_.close_row(step_);
      observations_.swap(step_.observations);
      finished.insert(finished.end(), step_.finished.begin(), step_.finished.end());
      laps.add_to(split.environment);
    }
    update(at.remaining());
    laps.add_to(split.update);
  }

  std::vector<Metric> metrics() const override {
    std::vector<Metric> result = {{"charts/learning_rate", learning_rate_}};
    for (std::size_t which = 0; which < algorithm_.metric_names.size(); ++which) {
      result.push_back({std::string("losses/") + algorithm_.metric_names[which], mean_metric(which)});
    }
    result.push_back({"losses/explained_variance", explained_variance()});
    return result;
  }

 private:
  // What was acted on and chosen goes straight to its place in the rollout.
  void act(const RolloutBuffer::Row& row) {
    std::copy(observations_.begin(), observations_.end(), row.observations.begin());
    slots_.observations->write(std::span<const float>(row.observations));
    act_.run();
    slots_.action->read(spaces_.continuous ? std::as_writable_bytes(row.box_actions)
                                           : std::as_writable_bytes(row.actions));
    slots_.log_prob->read(std::as_writable_bytes(row.log_probs));
    slots_.value->read(std::as_writable_bytes(row.values));
  }

  void update(double remaining) {
    if (rollout_.truncations() > 0) rollout_.set_truncated_values(values_of(rollout_.truncated_observations()));
    rollout_.compute_advantages(values_of(observations_), algorithm_.gamma, algorithm_.gae_lambda);

    learning_rate_ = algorithm_.learning_rate * (algorithm_.anneal_lr ? remaining : 1.0);
    const auto learning_rate = static_cast<float>(learning_rate_);
    const auto clip = static_cast<float>(algorithm_.clip * (algorithm_.anneal_clip ? remaining : 1.0));
    inputs_.observations.write(rollout_.observations());
    if (spaces_.continuous) {
      inputs_.actions.write(rollout_.box_actions());
    } else {
      inputs_.actions.write(rollout_.actions());
    }
    inputs_.log_probs.write(rollout_.log_probs());
    inputs_.advantages.write(rollout_.advantages());
    inputs_.returns.write(rollout_.returns());
    inputs_.values.write(rollout_.values());
    inputs_.learning_rate.write(std::span<const float>(&learning_rate, 1));
    inputs_.clip.write(std::span<const float>(&clip, 1));
    update_.run();
    download(buffers_, "metrics", metrics_);
    require_finite();
  }

  // The critic's values of any number of observations [K, D], in batches of the value program.
  std::span<const float> values_of(std::span<const float> observations) {
    const auto width = static_cast<std::size_t>(spaces_.observation_size);
    const auto batch = static_cast<std::size_t>(algorithm_.num_envs);
    const std::size_t count = observations.size() / width;
    padded_.assign(batch * width, 0.0F);
    // Whole batches, so that each download has its place; what is beyond count is of the padding.
    values_.resize((count + batch - 1) / batch * batch);
    for (std::size_t first = 0; first < count; first += batch) {
      const std::size_t rows = std::min(batch, count - first);
      std::copy_n(observations.begin() + static_cast<std::ptrdiff_t>(first * width), rows * width, padded_.begin());
      slots_.observations->write(std::span<const float>(padded_));
      value_.run();
      slots_.value->read(std::as_writable_bytes(std::span(values_).subspan(first, batch)));
    }
    return std::span<const float>(values_).first(count);
  }

  // A network with a NaN in it never recovers; better to stop while the last checkpoint is good.
  void require_finite() const {
    const std::size_t kinds = algorithm_.metric_names.size();
    for (std::size_t i = 0; i < metrics_.size(); ++i) {
      if (std::isfinite(metrics_[i])) continue;
      throw Error(fmt::format("training diverged: {} is {}", algorithm_.metric_names[i % kinds], metrics_[i]),
                  fmt::format("in gradient step {} of {} of this update", i / kinds + 1, algorithm_.gradient_steps),
                  "lower --learning-rate, or the coefficients of the loss; earlier checkpoints are good",
                  ErrorKind::kRun);
    }
  }

  // Over the gradient steps of the last update.
  double mean_metric(std::size_t which) const {
    double total = 0.0;
    for (std::size_t i = which; i < metrics_.size(); i += algorithm_.metric_names.size()) {
      total += static_cast<double>(metrics_[i]);
    }
    return total / static_cast<double>(algorithm_.gradient_steps);
  }

  // 1 - Var(returns - values) / Var(returns): 1 for a perfect critic. NaN before the first update and when the returns
  // do not vary.
  double explained_variance() const {
    const auto returns = rollout_.returns();
    const auto values = rollout_.values();
    const auto return_at = [&](std::size_t i) { return static_cast<double>(returns[i]); };
    const double total = variance(returns.size(), return_at);
    const double rest =
        variance(returns.size(), [&](std::size_t i) { return return_at(i) - static_cast<double>(values[i]); });
    return total > 0.0 ? 1.0 - rest / total : kNaN;
  }

  const OnPolicy algorithm_;
  std::unique_ptr<VectorEnv> env_;
  PolicySpaces spaces_;
  BufferSet buffers_;
  Programs programs_;
  BoundProgram act_;
  BoundProgram value_;
  BoundProgram update_;
  Slots slots_;
  UpdateInputs inputs_;
  RolloutBuffer rollout_;

  StepResult step_;
  std::vector<float> observations_;  // [N, D], to act on next
  std::vector<float> padded_;        // [N, D], of values_of
  std::vector<float> values_;
  std::vector<float> metrics_;  // [gradient steps, metrics]
  double learning_rate_ = kNaN;
};

}  // namespace

std::unique_ptr<Learner> make_on_policy_learner(const Context& context, const RunConfig& config,
                                                std::unique_ptr<VectorEnv> env, const OnPolicy& algorithm) {
  return std::make_unique<OnPolicyLearner>(context, config.seed, std::move(env), algorithm);
}

}  // namespace thrt::rl
