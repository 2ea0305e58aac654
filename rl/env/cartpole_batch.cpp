#include "rl/env/cartpole_batch.hpp"

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
  for (std::size_t i = 0; i < x_.size(); ++i) {
    CartPoleState state{x_[i], x_dot_[i], theta_[i], theta_dot_[i]};
    terminated[i] = cartpole_advance(state, actions[i] == 1) ? 1 : 0;
    rewards[i] = 1.0F;  // on the step that ends the episode too
    x_[i] = state.x;
    x_dot_[i] = state.x_dot;
    theta_[i] = state.theta;
    theta_dot_[i] = state.theta_dot;
  }
}

void CartPoleBatch::save(StateWriter& writer) const {
  for (const std::vector<double>* component : {&x_, &x_dot_, &theta_, &theta_dot_}) writer.f64s(*component);
}

void CartPoleBatch::load(StateReader& reader) {
  for (std::vector<double>* component : {&x_, &x_dot_, &theta_, &theta_dot_}) reader.f64s(*component);
}

}  // namespace thrt::rl
