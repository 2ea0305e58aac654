// CartPole-v1 for one environment, as a plain function: the fastest way to step when the batch machinery of
// vector_env.hpp is not wanted. make_vector_env("CartPole-v1", n) runs this same function.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "thrt/rl/env/pcg64.hpp"

namespace thrt::rl {

struct CartPoleState {
  double x = 0.0;          // m, cart position
  double x_dot = 0.0;      // m/s
  double theta = 0.0;      // rad, pole angle from upright
  double theta_dot = 0.0;  // rad/s
};

inline constexpr std::int64_t kCartPoleMaxEpisodeSteps = 500;
inline constexpr double kCartPoleXLimit = 2.4;                                      // m
inline constexpr double kCartPoleThetaLimit = 24.0 * 3.141592653589793238 / 360.0;  // 12 degrees in rad

// A start state: each component uniform in [-0.05, 0.05), drawn in the order of the struct.
inline CartPoleState cartpole_start(Pcg64& rng) {
  CartPoleState state;
  state.x = rng.uniform(-0.05, 0.05);
  state.x_dot = rng.uniform(-0.05, 0.05);
  state.theta = rng.uniform(-0.05, 0.05);
  state.theta_dot = rng.uniform(-0.05, 0.05);
  return state;
}

// Advances 0.02 s with a push of +10 N (`right`) or -10 N.
//
// Equations: Barto, Sutton, Anderson (1983) as corrected by R. V. Florian, "Correct equations for the dynamics of the
// cart-pole system" (2005), without friction. The order of operations is Gymnasium's, because the bits are to be equal:
// explicit Euler, so positions move with the old velocities; no operation may be reordered or contracted.
//
// The sine and cosine of state.theta come from the caller: a batch computes them first, apart from the arithmetic.
inline void cartpole_move(CartPoleState& state, bool right, double sin_theta, double cos_theta) {
  constexpr double kGravity = 9.8;                                                            // m/s^2
  constexpr double kPoleMass = 0.1;                                                           // kg
  constexpr double kTotalMass = kPoleMass + 1.0;                                              // kg
  constexpr double kHalfLength = 0.5;                                                         // m
  constexpr double kPoleMassLength = kPoleMass * kHalfLength;                                 // kg m
  constexpr double kForce = 10.0;                                                             // N
  constexpr double kTau = 0.02;                                                               // s
  const double force = 2.0 * kForce * static_cast<double>(static_cast<int>(right)) - kForce;  // exact
  const double push = (force + kPoleMassLength * (state.theta_dot * state.theta_dot) * sin_theta) / kTotalMass;
  const double theta_acc = (kGravity * sin_theta - cos_theta * push) /
                           (kHalfLength * (4.0 / 3.0 - kPoleMass * (cos_theta * cos_theta) / kTotalMass));
  const double x_acc = push - kPoleMassLength * theta_acc * cos_theta / kTotalMass;
  state.x += kTau * state.x_dot;
  state.x_dot += kTau * x_acc;
  state.theta += kTau * state.theta_dot;
  state.theta_dot += kTau * theta_acc;
}

// Whether the state left the limits (terminated): 1 or 0, as a number so that a batch takes it for arithmetic.
inline double cartpole_left(const CartPoleState& state) {
  return std::max(std::abs(state.x) > kCartPoleXLimit ? 1.0 : 0.0,
                  std::abs(state.theta) > kCartPoleThetaLimit ? 1.0 : 0.0);
}

// Both, for one environment.
inline bool cartpole_advance(CartPoleState& state, bool right) {
  cartpole_move(state, right, std::sin(state.theta), std::cos(state.theta));
  return cartpole_left(state) != 0.0;
}

}  // namespace thrt::rl
