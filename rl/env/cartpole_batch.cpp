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
  // In blocks that stay in the first cache: calls of the C library first, then arithmetic as vector instructions. The
  // arrays do not overlap, and flags as wide as the numbers they come from keep that loop free of conversions.
  constexpr std::size_t kBlock = 128;
  std::array<double, kBlock> sines;
  std::array<double, kBlock> cosines;
  std::array<double, kBlock> left;
  for (std::size_t first = 0; first < x_.size(); first += kBlock) {
    const std::size_t count = std::min(kBlock, x_.size() - first);
    double* __restrict const x = x_.data() + first;
    double* __restrict const x_dot = x_dot_.data() + first;
    double* __restrict const theta = theta_.data() + first;
    double* __restrict const theta_dot = theta_dot_.data() + first;
    const std::int32_t* __restrict const action = actions.data() + first;
    for (std::size_t k = 0; k < count; ++k) {
      const double angle = theta[k];
      sines[k] = std::sin(angle);  // one call for both, where the compiler knows sincos
      cosines[k] = std::cos(angle);
    }
    for (std::size_t k = 0; k < count; ++k) {
      CartPoleState state{x[k], x_dot[k], theta[k], theta_dot[k]};
      cartpole_move(state, action[k] != 0, sines[k], cosines[k]);
      left[k] = cartpole_left(state);
      x[k] = state.x;
      x_dot[k] = state.x_dot;
      theta[k] = state.theta;
      theta_dot[k] = state.theta_dot;
    }
    for (std::size_t k = 0; k < count; ++k) terminated[first + k] = left[k] != 0.0 ? 1 : 0;
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
