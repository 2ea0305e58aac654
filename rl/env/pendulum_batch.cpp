#include "rl/env/pendulum_batch.hpp"

#include <algorithm>
#include <cmath>

namespace thrt::rl {

ObservationSpace PendulumBatch::observation_space() {
  const auto speed = static_cast<float>(kPendulumMaxSpeed);
  return {{3}, {-1.0F, -1.0F, -speed}, {1.0F, 1.0F, speed}};
}

void PendulumBatch::reset(std::size_t i, Pcg64& rng) {
  const PendulumState start = pendulum_start(rng);
  theta_[i] = start.theta;
  theta_dot_[i] = start.theta_dot;
  sine_[i] = std::sin(start.theta);
  cosine_[i] = std::cos(start.theta);
}

void PendulumBatch::step(std::span<const float> torques, std::span<float> rewards, std::span<std::uint8_t> terminated) {
  // In blocks that stay in the first cache: a loop without calls, then the calls of the C library.
  constexpr std::size_t kBlock = 128;
  for (std::size_t first = 0; first < theta_.size(); first += kBlock) {
    const std::size_t count = std::min(kBlock, theta_.size() - first);
    double* __restrict const theta = theta_.data() + first;
    double* __restrict const theta_dot = theta_dot_.data() + first;
    double* __restrict const sine = sine_.data() + first;
    double* __restrict const cosine = cosine_.data() + first;
    const float* __restrict const torque = torques.data() + first;
    float* __restrict const reward = rewards.data() + first;
    for (std::size_t k = 0; k < count; ++k) {
      PendulumState state{theta[k], theta_dot[k]};
      reward[k] = pendulum_advance(state, torque[k], sine[k]);
      theta[k] = state.theta;
      theta_dot[k] = state.theta_dot;
    }
    for (std::size_t k = 0; k < count; ++k) {
      const double angle = theta[k];
      sine[k] = std::sin(angle);  // one call for both, where the compiler knows sincos
      cosine[k] = std::cos(angle);
    }
  }
  std::fill(terminated.begin(), terminated.end(), std::uint8_t{0});  // only the time limit ends an episode
}

void PendulumBatch::observe_all(std::span<float> rows) const {
  for (std::size_t i = 0; i < theta_.size(); ++i) observe(i, rows.data() + i * kObservationSize);
}

void PendulumBatch::observe(std::size_t i, float* row) const {
  row[0] = static_cast<float>(cosine_[i]);
  row[1] = static_cast<float>(sine_[i]);
  row[2] = static_cast<float>(theta_dot_[i]);
}

void PendulumBatch::save(StateWriter& writer) const {
  for (const std::vector<double>* component : {&theta_, &theta_dot_}) writer.f64s(*component);
}

void PendulumBatch::load(StateReader& reader) {
  for (std::vector<double>* component : {&theta_, &theta_dot_}) reader.f64s(*component);
  for (std::size_t i = 0; i < theta_.size(); ++i) {
    sine_[i] = std::sin(theta_[i]);
    cosine_[i] = std::cos(theta_[i]);
  }
}

}  // namespace thrt::rl
