// Pendulum-v1 as the Dynamics of a BatchEnv.
#pragma once

#include "rl/env/state_bytes.hpp"
#include "thrt/rl/env/pendulum.hpp"
#include "thrt/rl/env/vector_env.hpp"

namespace thrt::rl {

class PendulumBatch {
 public:
  static constexpr std::string_view kId = "Pendulum-v1";
  static constexpr std::int64_t kMaxEpisodeSteps = kPendulumMaxEpisodeSteps;
  static constexpr std::size_t kObservationSize = 3;
  using Action = float;
  static ObservationSpace observation_space();
  static BoxSpace action_space() { return {{1}, {-kPendulumMaxTorque}, {kPendulumMaxTorque}}; }

  explicit PendulumBatch(std::size_t num_envs)
      : theta_(num_envs), theta_dot_(num_envs), sine_(num_envs), cosine_(num_envs) {}

  void reset(std::size_t i, Pcg64& rng);
  void step(std::span<const float> torques, std::span<float> rewards, std::span<std::uint8_t> terminated);
  void observe_all(std::span<float> rows) const;
  void observe(std::size_t i, float* row) const;

  void save(StateWriter& writer) const;
  void load(StateReader& reader);

 private:
  std::vector<double> theta_;
  std::vector<double> theta_dot_;
  std::vector<double> sine_;  // of theta: the observation's, and the next step's
  std::vector<double> cosine_;
};

}  // namespace thrt::rl
