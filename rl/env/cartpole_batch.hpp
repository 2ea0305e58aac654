// CartPole-v1 as the Dynamics of a BatchEnv.
#pragma once

#include "rl/env/state_bytes.hpp"
#include "thrt/rl/env/cartpole.hpp"
#include "thrt/rl/env/vector_env.hpp"

namespace thrt::rl {

class CartPoleBatch {
 public:
  static constexpr std::string_view kId = "CartPole-v1";
  static constexpr std::int64_t kMaxEpisodeSteps = kCartPoleMaxEpisodeSteps;
  static constexpr std::size_t kObservationSize = 4;
  using Action = std::int32_t;
  static ObservationSpace observation_space();
  static DiscreteSpace action_space() { return {2}; }  // 0: push left, 1: push right

  explicit CartPoleBatch(std::size_t num_envs)
      : x_(num_envs), x_dot_(num_envs), theta_(num_envs), theta_dot_(num_envs) {}

  void reset(std::size_t i, Pcg64& rng);
  void step(std::span<const std::int32_t> actions, std::span<float> rewards, std::span<std::uint8_t> terminated);

  void observe(std::size_t i, float* row) const {
    row[0] = static_cast<float>(x_[i]);
    row[1] = static_cast<float>(x_dot_[i]);
    row[2] = static_cast<float>(theta_[i]);
    row[3] = static_cast<float>(theta_dot_[i]);
  }

  void observe_all(std::span<float> rows) const {
    for (std::size_t i = 0; i < x_.size(); ++i) observe(i, rows.data() + i * kObservationSize);
  }

  void save(StateWriter& writer) const;
  void load(StateReader& reader);

 private:
  std::vector<double> x_;
  std::vector<double> x_dot_;
  std::vector<double> theta_;
  std::vector<double> theta_dot_;
};

}  // namespace thrt::rl
