// What of an environment's spaces a discrete-action policy network needs.
#pragma once

#include <thrt/rl/algo/ppo.hpp>
#include <thrt/rl/env/vector_env.hpp>

namespace thrt::rl {

// Throws Error for continuous actions.
PolicySpaces policy_spaces(const VectorEnv& env);

}  // namespace thrt::rl
