#include <thrt/error.hpp>
#include <thrt/graph/passes.hpp>
#include <thrt/rl/algo/ppo.hpp>
#include <thrt/rl/buffer/rollout_buffer.hpp>

#include <fmt/format.h>

#include "rl/algo/bound_program.hpp"
#include "rl/algo/learner.hpp"
#include "rl/algo/policy_spaces.hpp"
#include "rl/algo/stopwatch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace thrt::rl {
namespace {

// Variance of count values.
template <typename ValueAt>
double variance(std::size_t count, ValueAt value_at) {
  double mean = 0.0, squares = 0.0;
  for (std::size_t i = 0; i < count; ++i) mean += value_at(i);
  mean /= static_cast<double>(count);
  for (std::size_t i = 0; i < count; ++i) squares += (value_at(i) - mean) * (value_at(i) - mean);
  return squares / static_cast<double>(count);
}

struct PpoPrograms {
  Program act, value, update;
};

PpoPrograms supported_programs(const Context& context, const PpoConfig& config, const PolicySpaces& spaces) {
  const Program programs[] = {lower(optimise(ppo_act_graph(config, spaces, config.num_envs))),
                              lower(optimise(ppo_value_graph(config, spaces, config.num_envs))),
                              lower(optimise(ppo_update_graph(config, spaces)))};
  require_supported(context, programs);
  return {programs[0], programs[1], programs[2]};
}

class PpoLearner : public Learner {
 public:
  PpoLearner(const Context& context, const RunConfig& config)
      : config_(config.ppo),
        env_(make_vector_env(config.environment, config_.num_envs)),
        spaces_(policy_spaces(*env_)),
        buffers_(context),
        programs_(supported_programs(context, config_, spaces_)),
        act_(buffers_, programs_.act, config.seed),
        value_(buffers_, programs_.value, config.seed),
        update_(buffers_, programs_.update, config.seed),
        rollout_(config_.num_steps, config_.num_envs, spaces_.observation_size),
        observations_(static_cast<std::size_t>(config_.num_envs * spaces_.observation_size)),
        actions_(static_cast<std::size_t>(config_.num_envs)),
        log_probs_(actions_.size()),
        values_(actions_.size()),
        metrics_(static_cast<std::size_t>(config_.update_epochs * config_.num_minibatches) * kPpoMetrics,
                 std::numeric_limits<float>::quiet_NaN()) {}

  std::int64_t steps_per_iteration() const override { return config_.batch_size(); }
  VectorEnv& environment() override { return *env_; }
  BufferSet& buffers() override { return buffers_; }
  void environment_changed() override { env_->observe(observations_); }

  std::vector<Executable> executables() const override {
    return {act_.executable(), value_.executable(), update_.executable()};
  }

  void iterate(double remaining, TimeSplit& split, std::vector<EpisodeEnd>& finished) override {
    rollout_.clear();
    for (std::int64_t t = 0; t < config_.num_steps; ++t) {
      act(split);
      const Lap lap(split.environment);
      env_->step(actions_, step_);
      rollout_.add(observations_, actions_, log_probs_, values_, step_);
      observations_.swap(step_.observations);
      finished.insert(finished.end(), step_.finished.begin(), step_.finished.end());
    }
    const Lap lap(split.update);
    update(remaining);
  }

  std::vector<Metric> metrics() const override {
    std::vector<Metric> result = {{"charts/learning_rate", learning_rate_}};
    for (std::size_t which = 0; which < kPpoMetrics; ++which) {
      result.push_back({std::string("losses/") + kPpoMetricNames[which], mean_metric(which)});
    }
    result.push_back({"losses/explained_variance", explained_variance_});
    return result;
  }

 private:
  void act(TimeSplit& split) {
    const Lap lap(split.acting);
    upload<float>(buffers_, "observations", observations_);
    act_.run();
    download(buffers_, "action", actions_);
    download(buffers_, "log_prob", log_probs_);
    download(buffers_, "value", values_);
  }

  void update(double remaining) {
    if (rollout_.truncations() > 0) rollout_.set_truncated_values(values_of(rollout_.truncated_observations()));
    rollout_.compute_advantages(values_of(observations_), config_.gamma, config_.gae_lambda);

    learning_rate_ = config_.learning_rate * (config_.anneal_lr ? remaining : 1.0);
    const auto learning_rate = static_cast<float>(learning_rate_);
    const auto clip = static_cast<float>(config_.clip_coef * (config_.anneal_clip ? remaining : 1.0));
    upload<float>(buffers_, "rollout/observations", rollout_.observations());
    upload<std::int32_t>(buffers_, "rollout/actions", rollout_.actions());
    upload<float>(buffers_, "rollout/log_probs", rollout_.log_probs());
    upload<float>(buffers_, "rollout/advantages", rollout_.advantages());
    upload<float>(buffers_, "rollout/returns", rollout_.returns());
    upload<float>(buffers_, "rollout/values", rollout_.values());
    upload<float>(buffers_, "learning_rate", {&learning_rate, 1});
    upload<float>(buffers_, "clip", {&clip, 1});
    update_.run();
    download(buffers_, "metrics", metrics_);
    require_finite();
    explained_variance_ = explained_variance();
  }

  // The critic's values of any number of observations [K, D], in batches of the value program.
  std::vector<float> values_of(std::span<const float> observations) {
    const auto width = static_cast<std::size_t>(spaces_.observation_size);
    const std::size_t batch = actions_.size(), count = observations.size() / width;
    std::vector<float> padded(batch * width, 0.0F), chunk(batch), values;
    for (std::size_t first = 0; first < count; first += batch) {
      const std::size_t rows = std::min(batch, count - first);
      std::copy_n(observations.begin() + static_cast<std::ptrdiff_t>(first * width), rows * width, padded.begin());
      upload<float>(buffers_, "observations", padded);
      value_.run();
      download(buffers_, "value", chunk);
      values.insert(values.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(rows));
    }
    return values;
  }

  // A network with a NaN in it never recovers; better to stop while the last checkpoint is good.
  void require_finite() const {
    for (std::size_t i = 0; i < metrics_.size(); ++i) {
      if (std::isfinite(metrics_[i])) continue;
      throw Error(
          fmt::format("training diverged: {} is {}", kPpoMetricNames[i % kPpoMetrics], metrics_[i]),
          fmt::format("in gradient step {} of {} of this update", i / kPpoMetrics + 1, metrics_.size() / kPpoMetrics),
          "lower --learning-rate, or the coefficients of the loss; earlier checkpoints are good", ErrorKind::kRun);
    }
  }

  // Over the gradient steps of the last update.
  double mean_metric(std::size_t which) const {
    double total = 0.0;
    for (std::size_t i = which; i < metrics_.size(); i += kPpoMetrics) total += static_cast<double>(metrics_[i]);
    return total * static_cast<double>(kPpoMetrics) / static_cast<double>(metrics_.size());
  }

  // 1 - Var(returns - values) / Var(returns): 1 for a perfect critic. NaN when the returns do not vary.
  double explained_variance() const {
    const auto returns = rollout_.returns();
    const auto values = rollout_.values();
    const auto return_at = [&](std::size_t i) { return static_cast<double>(returns[i]); };
    const double total = variance(returns.size(), return_at);
    const double rest =
        variance(returns.size(), [&](std::size_t i) { return return_at(i) - static_cast<double>(values[i]); });
    return total > 0.0 ? 1.0 - rest / total : std::numeric_limits<double>::quiet_NaN();
  }

  PpoConfig config_;
  std::unique_ptr<VectorEnv> env_;
  PolicySpaces spaces_;
  BufferSet buffers_;
  PpoPrograms programs_;
  BoundProgram act_;
  BoundProgram value_;
  BoundProgram update_;
  RolloutBuffer rollout_;

  StepResult step_;
  std::vector<float> observations_;  // [N, D], to act on next
  std::vector<std::int32_t> actions_;
  std::vector<float> log_probs_;
  std::vector<float> values_;
  std::vector<float> metrics_;  // [epochs, minibatches, kPpoMetrics]
  double learning_rate_ = std::numeric_limits<double>::quiet_NaN();
  double explained_variance_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace

std::unique_ptr<Learner> make_ppo_learner(const Context& context, const RunConfig& config) {
  return std::make_unique<PpoLearner>(context, config);
}

}  // namespace thrt::rl
