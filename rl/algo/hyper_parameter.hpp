// What the lists of hyper-parameters have in common: ranges and choices. One list an algorithm.
#pragma once

#include <thrt/rl/train/fields.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace thrt::rl {

inline constexpr double kMostSide = 1 << 20;   // of a rollout; the product is checked apart
inline constexpr double kMostUnits = 1 << 16;  // of a layer
inline constexpr Range kFraction = {.low = 0.0, .high = 1.0};
inline constexpr Range kPositive = {.low = 0.0, .above_low = true};
inline constexpr Range kNotNegative = {.low = 0.0};

inline std::vector<std::string> activations() {
  return {"tanh", "relu"};
}

// Throws Error for a rollout of more steps than can be counted.
void require_rollout(std::int64_t num_envs, std::int64_t num_steps);

std::span<const Field> ppo_fields();
std::span<const Field> a2c_fields();

}  // namespace thrt::rl
