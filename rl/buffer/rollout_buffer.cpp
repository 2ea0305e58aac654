#include "thrt/rl/buffer/rollout_buffer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "thrt/error.hpp"

namespace thrt::rl {
namespace {

std::size_t positive(std::int64_t value, std::string_view name) {
  if (value < 1) throw Error(fmt::format("a rollout of {} {}", value, name), "at least one is needed");
  return static_cast<std::size_t>(value);
}

void require_size(std::string_view name, std::size_t given, std::size_t wanted) {
  if (given != wanted) throw Error(fmt::format("the rollout was given {} {}, not {}", given, name, wanted));
}

}  // namespace

RolloutBuffer::RolloutBuffer(std::int64_t steps, std::int64_t envs, std::int64_t observation_size,
                             std::int64_t box_size)
    : steps_(positive(steps, "steps")),
      envs_(positive(envs, "environments")),
      observation_size_(positive(observation_size, "observation elements")),
      box_size_(box_size == 0 ? 0 : positive(box_size, "action elements")) {
  const std::size_t cells = steps_ * envs_;
  observations_.resize(cells * observation_size_);
  if (box_size_ == 0) actions_.resize(cells);
  box_actions_.resize(cells * box_size_);
  terminated_.resize(cells);
  truncated_.resize(cells);
  for (auto* column : {&log_probs_, &values_, &rewards_, &final_values_, &advantages_, &returns_}) {
    column->resize(cells);
  }
}

RolloutBuffer::Row RolloutBuffer::next_row() {
  if (filled_ == steps_) throw Error(fmt::format("the rollout already holds its {} steps", steps_));
  const std::size_t first = filled_ * envs_;
  const auto part = [&](auto& column, std::size_t width) {
    return std::span(column).subspan(first * width, envs_ * width);
  };
  return {.observations = part(observations_, observation_size_),
          .actions = box_size_ == 0 ? part(actions_, 1) : std::span<std::int32_t>(),
          .box_actions = part(box_actions_, box_size_),
          .log_probs = part(log_probs_, 1),
          .values = part(values_, 1)};
}

void RolloutBuffer::close_row(const StepResult& result) {
  if (filled_ == steps_) throw Error(fmt::format("the rollout already holds its {} steps", steps_));
  require_size("final observation elements", result.final_observations.size(), envs_ * observation_size_);
  require_size("rewards", result.rewards.size(), envs_);
  require_size("terminated flags", result.terminated.size(), envs_);
  require_size("truncated flags", result.truncated.size(), envs_);

  const std::size_t first = filled_ * envs_;
  const auto store = [first](const auto& from, auto& to) {
    std::copy(from.begin(), from.end(), to.begin() + static_cast<std::ptrdiff_t>(first));
  };
  store(result.rewards, rewards_);
  store(result.terminated, terminated_);
  store(result.truncated, truncated_);
  const auto cut = [](std::uint8_t truncated) { return truncated != 0; };
  auto flag = std::find_if(result.truncated.begin(), result.truncated.end(), cut);
  for (; flag != result.truncated.end(); flag = std::find_if(flag + 1, result.truncated.end(), cut)) {
    const auto env = static_cast<std::size_t>(flag - result.truncated.begin());
    if (result.terminated[env] != 0) continue;
    truncation_cells_.push_back(first + env);
    const float* row = result.final_observations.data() + env * observation_size_;
    truncated_observations_.insert(truncated_observations_.end(), row, row + observation_size_);
  }
  ++filled_;
}

void RolloutBuffer::add(std::span<const float> observations, std::span<const std::int32_t> actions,
                        std::span<const float> log_probs, std::span<const float> values, const StepResult& result) {
  const Row row = next_row();
  require_size("observation elements", observations.size(), row.observations.size());
  require_size("actions", actions.size(), row.actions.size());
  require_size("log-probabilities", log_probs.size(), envs_);
  require_size("values", values.size(), envs_);
  std::copy(observations.begin(), observations.end(), row.observations.begin());
  std::copy(actions.begin(), actions.end(), row.actions.begin());
  std::copy(log_probs.begin(), log_probs.end(), row.log_probs.begin());
  std::copy(values.begin(), values.end(), row.values.begin());
  close_row(result);
}

void RolloutBuffer::set_truncated_values(std::span<const float> values) {
  require_size("values of truncated episodes", values.size(), truncation_cells_.size());
  for (std::size_t k = 0; k < values.size(); ++k) final_values_[truncation_cells_[k]] = values[k];
  truncated_values_set_ = values.size();
}

void RolloutBuffer::compute_advantages(std::span<const float> last_values, double gamma, double lambda) {
  if (filled_ != steps_) throw Error(fmt::format("the rollout holds {} of its {} steps", filled_, steps_));
  require_size("last values", last_values.size(), envs_);
  if (truncated_values_set_ != truncation_cells_.size()) {
    throw Error(fmt::format("the rollout has {} truncated episodes, of which {} have a value", truncation_cells_.size(),
                            truncated_values_set_),
                "a truncated episode bootstraps from its last observation's value",
                "evaluate truncated_observations() and call set_truncated_values()");
  }
  // f64 inside: the sum runs over up to T terms, and its error would otherwise grow with T.
  next_values_.assign(last_values.begin(), last_values.end());
  next_advantages_.assign(envs_, 0.0);
  for (std::size_t step = steps_; step-- > 0;) {
    for (std::size_t env = 0; env < envs_; ++env) {
      const std::size_t cell = step * envs_ + env;
      const auto value = static_cast<double>(values_[cell]);
      double future = next_values_[env];
      double carried = next_advantages_[env];
      if (terminated_[cell] != 0) {
        future = 0.0;
        carried = 0.0;
      } else if (truncated_[cell] != 0) {
        future = static_cast<double>(final_values_[cell]);
        carried = 0.0;
      }
      const double delta = static_cast<double>(rewards_[cell]) + gamma * future - value;
      const double advantage = delta + gamma * lambda * carried;
      advantages_[cell] = static_cast<float>(advantage);
      returns_[cell] = static_cast<float>(advantage + value);
      next_values_[env] = value;
      next_advantages_[env] = advantage;
    }
  }
}

void RolloutBuffer::clear() {
  filled_ = 0;
  truncation_cells_.clear();
  truncated_observations_.clear();
  truncated_values_set_ = 0;
}

}  // namespace thrt::rl
