// Iterations of an algorithm: acting, stepping, learning, as training does them.
#pragma once

#include <thrt/bench/groups.hpp>
#include <thrt/rl/train/run_config.hpp>

namespace thrt::bench {

// One iteration of the learner is one run, or so many steps of one.
Work learner_work(const Context& context, const rl::RunConfig& config, std::int64_t steps_of_a_run = 0);

}  // namespace thrt::bench
