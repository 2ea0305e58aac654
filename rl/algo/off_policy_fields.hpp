// Ranges of settings that DQN and SAC share, and their lists.
#pragma once

#include "rl/algo/hyper_parameter.hpp"

#include <span>

namespace thrt::rl {

inline constexpr double kMostRows = 2147483647.0;  // a row's index is an i32 on every backend
inline constexpr Range kReplayRange = {.low = 1.0, .high = kMostRows};
inline constexpr Range kStepsRange = {.low = 0.0, .high = 1e15};
inline constexpr Range kPeriodRange = {.low = 1.0, .high = 1e15};
inline constexpr Range kRate = {.low = 0.0, .high = 1.0, .above_low = true};

std::span<const Field> dqn_fields();
std::span<const Field> sac_fields();

}  // namespace thrt::rl
