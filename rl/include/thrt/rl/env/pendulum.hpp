// Pendulum-v1 for one environment, as plain functions. make_vector_env("Pendulum-v1", n) runs the same arithmetic.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "thrt/rl/env/pcg64.hpp"

namespace thrt::rl {

struct PendulumState {
  double theta = 0.0;      // rad from upright, not wrapped
  double theta_dot = 0.0;  // rad/s
};

inline constexpr std::int64_t kPendulumMaxEpisodeSteps = 200;
inline constexpr double kPendulumMaxSpeed = 8.0;   // rad/s
inline constexpr float kPendulumMaxTorque = 2.0F;  // N m

// A start state: theta uniform in [-pi, pi), theta_dot in [-1, 1), drawn in that order.
inline PendulumState pendulum_start(Pcg64& rng) {
  PendulumState state;
  state.theta = rng.uniform(-std::numbers::pi, std::numbers::pi);
  state.theta_dot = rng.uniform(-1.0, 1.0);
  return state;
}

// theta wrapped into [-pi, pi): Python's (theta + pi) % (2 pi) - pi, to the bit, for |theta| < 190 (an episode from
// rest ends below 84).
//
// a - q * 2 pi is exact for the right quotient q < 64: with 2 pi cut into 29 bits and the rest, the products are exact,
// and so are both differences, being multiples of 2^-50 below 8. Python's % of a negative number then adds 2 pi, rounded.
inline double pendulum_wrapped(double theta) {
  constexpr double kTurn = 2.0 * std::numbers::pi;
  constexpr double kTurnHigh = 0x1.921fb54p+2;
  constexpr double kTurnLow = kTurn - kTurnHigh;
  const double angle = theta + std::numbers::pi;
  const double size = std::abs(angle);
  // Truncated by way of an int, which every instruction set has; one off where the product is rounded over an integer.
  auto turns = static_cast<double>(static_cast<std::int32_t>(size * (1.0 / kTurn)));
  double rest = (size - turns * kTurnHigh) - turns * kTurnLow;
  turns += rest < 0.0 ? -1.0 : 0.0;
  turns += rest >= kTurn ? 1.0 : 0.0;
  rest = (size - turns * kTurnHigh) - turns * kTurnLow;
  const double negative = rest == 0.0 ? 0.0 : kTurn - rest;
  return (angle < 0.0 ? negative : rest) - std::numbers::pi;
}

// Advances 0.05 s with the torque (clipped to +-2 N m) and returns the reward, of the state before. Gymnasium's
// equations, with its order of operations and its types: what is multiplied with the torque is f32, the rest f64. The
// speed is clipped, and the angle moves with the new speed.
//
// The sine of state.theta comes from the caller, who computed it for the observation before.
inline float pendulum_advance(PendulumState& state, float torque, double sin_theta) {
  constexpr double kGravityTerm = 3.0 * 10.0 / 2.0;  // 3 g / (2 l), 1/s^2
  constexpr float kTorqueTerm = 3.0F;                // 3 / (m l^2), 1/(kg m^2)
  constexpr double kTau = 0.05;                      // s
  const float u = std::min(std::max(torque, -kPendulumMaxTorque), kPendulumMaxTorque);
  const double wrapped = pendulum_wrapped(state.theta);
  const double cost =
      wrapped * wrapped + 0.1 * (state.theta_dot * state.theta_dot) + static_cast<double>(0.001F * (u * u));
  const double speed = state.theta_dot + (kGravityTerm * sin_theta + static_cast<double>(kTorqueTerm * u)) * kTau;
  state.theta_dot = std::min(std::max(speed, -kPendulumMaxSpeed), kPendulumMaxSpeed);
  state.theta = state.theta + state.theta_dot * kTau;
  return static_cast<float>(-cost);
}

}  // namespace thrt::rl
