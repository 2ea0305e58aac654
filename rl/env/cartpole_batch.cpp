#include "rl/env/cartpole_batch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace thrt::rl {

ObservationSpace CartPoleBatch::observation_space() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  // Twice the limits, so that the observation that ends an episode still lies inside.
  const auto x = static_cast<float>(2.0 * kCartPoleXLimit);
  const auto theta = static_cast<float>(2.0 * kCartPoleThetaLimit);
  return {{4}, {-x, -kInfinity, -theta, -kInfinity}, {x, kInfinity, theta, kInfinity}};
}

void CartPoleBatch::reset(std::size_t i, Pcg64& rng) {
  const CartPoleState start = cartpole_start(rng);
  x_[i] = start.x;
  x_dot_[i] = start.x_dot;
  theta_[i] = start.theta;
  theta_dot_[i] = start.theta_dot;
}

void CartPoleBatch::step(std::span<const std::int32_t> actions, std::span<float> rewards,
                         std::span<std::uint8_t> terminated) {
  // In blocks that stay in the first cache: calls of the C library first, then a loop without calls
  // (measured: 15 to 20 % faster than one loop).
  constexpr std::size_t kBlock = 128;
  std::array<double, kBlock> sines;
  std::array<double, kBlock> cosines;
  for (std::size_t first = 0; first < x_.size(); first += kBlock) {
    const std::size_t count = std::min(kBlock, x_.size() - first);
    for (std::size_t k = 0; k < count; ++k) {
      sines[k] = std::sin(theta_[first + k]);
      cosines[k] = std::cos(theta_[first + k]);
    }
    double* x = x_.data() + first;
    double* x_dot = x_dot_.data() + first;
    double* theta = theta_.data() + first;
    double* theta_dot = theta_dot_.data() + first;
    for (std::size_t k = 0; k < count; ++k) {
      CartPoleState state{x[k], x_dot[k], theta[k], theta_dot[k]};
      terminated[first + k] = cartpole_advance(state, actions[first + k] == 1, sines[k], cosines[k]) ? 1 : 0;
      x[k] = state.x;
      x_dot[k] = state.x_dot;
      theta[k] = state.theta;
      theta_dot[k] = state.theta_dot;
    }
  }
  std::fill(rewards.begin(), rewards.end(), 1.0F);  // on the step that ends an episode too
}

void CartPoleBatch::save(StateWriter& writer) const {
  for (const std::vector<double>* component : {&x_, &x_dot_, &theta_, &theta_dot_}) writer.f64s(*component);
}

void CartPoleBatch::load(StateReader& reader) {
  for (std::vector<double>* component : {&x_, &x_dot_, &theta_, &theta_dot_}) reader.f64s(*component);
}

}  // namespace thrt::rl
