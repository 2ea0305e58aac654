#include "rl/algo/policy_spaces.hpp"

#include <thrt/error.hpp>

#include <fmt/format.h>

namespace thrt::rl {

PolicySpaces policy_spaces(const VectorEnv& env) {
  const auto* discrete = std::get_if<DiscreteSpace>(&env.action_space());
  if (discrete == nullptr) {
    throw Error(fmt::format("{} has continuous actions", env.id()), "the policy chooses among discrete actions",
                fmt::format("choose one of {}", fmt::join(vector_env_ids(), ", ")));
  }
  return {static_cast<std::int64_t>(env.observation_space().size()), discrete->n};
}

}  // namespace thrt::rl
