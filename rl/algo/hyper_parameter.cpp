#include "rl/algo/hyper_parameter.hpp"

#include <thrt/error.hpp>

#include <fmt/format.h>

namespace thrt::rl {

void require_rollout(std::int64_t num_envs, std::int64_t num_steps) {
  constexpr std::int64_t kMostRows = (std::int64_t{1} << 31) - 1;  // a row's index is an i32 on every backend
  if (num_envs * num_steps <= kMostRows) return;
  throw Error(fmt::format("a rollout of {} steps is too long", num_envs * num_steps),
              fmt::format("num_envs {} times num_steps {} is more than {}", num_envs, num_steps, kMostRows),
              "lower --num-envs or --num-steps");
}

}  // namespace thrt::rl
