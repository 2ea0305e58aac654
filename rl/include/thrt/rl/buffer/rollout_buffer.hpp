// T steps of N environments as an on-policy algorithm collects them, and their advantages by GAE(lambda).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "thrt/rl/env/vector_env.hpp"

namespace thrt::rl {

class RolloutBuffer {
 public:
  // `box_size`: elements of a continuous action, 0 for discrete ones. Throws thrt::Error unless the others are at least 1.
  RolloutBuffer(std::int64_t steps, std::int64_t envs, std::int64_t observation_size, std::int64_t box_size = 0);

  std::size_t steps() const { return steps_; }                        // T
  std::size_t envs() const { return envs_; }                          // N
  std::size_t observation_size() const { return observation_size_; }  // D
  std::size_t filled() const { return filled_; }                      // steps added since clear()

  // One step of all environments is a row. What was acted on and chosen is written into the next row in place, which
  // what the environment answered then closes. Throws thrt::Error when the buffer is full or a size is wrong.
  struct Row {
    std::span<float> observations;       // [N, D]
    std::span<std::int32_t> actions;     // [N], of discrete actions
    std::span<float> box_actions;        // [N, A], of continuous ones
    std::span<float> log_probs, values;  // [N]
  };
  Row next_row();
  void close_row(const StepResult& result);
  // Both at once, of discrete actions.
  void add(std::span<const float> observations, std::span<const std::int32_t> actions, std::span<const float> log_probs,
           std::span<const float> values, const StepResult& result);

  // Episodes cut by the time limit alone: their future is worth the critic's value of their last observation. Those
  // observations, [K, D] in the order they were added; the caller evaluates them and hands back the values [K].
  std::span<const float> truncated_observations() const { return truncated_observations_; }
  std::size_t truncations() const { return truncation_cells_.size(); }  // K
  void set_truncated_values(std::span<const float> values);

  // Advantages and returns (advantage + value) of a full buffer, from the values [N] of the observations after the
  // last step. J. Schulman et al., "High-Dimensional Continuous Control Using Generalized Advantage Estimation"
  // (2016), equation 16, backwards:
  //   A_t = delta_t + gamma lambda A_{t+1},   delta_t = r_t + gamma V' - V(s_t),
  // where V' is V(s_{t+1}); 0 after a termination; the truncated value after a truncation. Both ends stop the sum.
  // Throws thrt::Error when the buffer is not full or truncated values are missing.
  void compute_advantages(std::span<const float> last_values, double gamma, double lambda);

  // Empties it; the memory is kept.
  void clear();

  // All [T, N] row-major; observations [T, N, D].
  std::span<const float> observations() const { return observations_; }
  std::span<const std::int32_t> actions() const { return actions_; }
  std::span<const float> box_actions() const { return box_actions_; }  // [T, N, A]
  std::span<const float> log_probs() const { return log_probs_; }
  std::span<const float> values() const { return values_; }
  std::span<const float> rewards() const { return rewards_; }
  std::span<const std::uint8_t> terminated() const { return terminated_; }
  std::span<const std::uint8_t> truncated() const { return truncated_; }
  std::span<const float> advantages() const { return advantages_; }
  std::span<const float> returns() const { return returns_; }

 private:
  std::size_t steps_;
  std::size_t envs_;
  std::size_t observation_size_;
  std::size_t box_size_;
  std::size_t filled_ = 0;
  std::vector<float> observations_;
  std::vector<std::int32_t> actions_;
  std::vector<float> box_actions_;
  std::vector<float> log_probs_;
  std::vector<float> values_;
  std::vector<float> rewards_;
  std::vector<std::uint8_t> terminated_;
  std::vector<std::uint8_t> truncated_;
  std::vector<float> final_values_;  // [T, N], V' where an episode was truncated
  std::vector<float> advantages_;
  std::vector<float> returns_;
  std::vector<std::size_t> truncation_cells_;  // [K], indices into [T, N]
  std::vector<float> truncated_observations_;  // [K, D]
  std::size_t truncated_values_set_ = 0;
  std::vector<double> next_values_;      // [N], of compute_advantages
  std::vector<double> next_advantages_;  // [N]
};

}  // namespace thrt::rl
