#include "learner_work.hpp"

#include <thrt/rl/algo/learner.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace thrt::bench {
namespace {

struct Loop {
  Loop(const Context& context, const rl::RunConfig& run, std::int64_t steps_of_a_run)
      : config(run),
        learner(rl::make_learner(context, run)),
        steps(steps_of_a_run > 0 ? steps_of_a_run : learner->steps_per_iteration()) {
    learner->environment().reset(config.seed);
    learner->environment_changed();
  }

  void iterate() {
    finished.clear();
    // What changes over a run (learning rate, exploration) must not while it is timed: the run is endless, but for a
    // part of an iteration, which its end has to cut.
    const std::int64_t left = steps < learner->steps_per_iteration() ? steps : std::int64_t{1} << 50;
    learner->iterate({.step = step, .total_steps = step + left}, split, finished);
    step += steps;
  }

  rl::RunConfig config;
  std::unique_ptr<rl::Learner> learner;
  std::int64_t steps;  // of a run
  std::int64_t step = 0;
  rl::TimeSplit split;
  std::vector<rl::EpisodeEnd> finished;
};

}  // namespace

Work learner_work(const Context& context, const rl::RunConfig& config, std::int64_t steps_of_a_run) {
  const auto loop = std::make_shared<Loop>(context, config, steps_of_a_run);
  return {.run = [loop] { loop->iterate(); },
          .env_steps = static_cast<double>(loop->steps),
          .programs = loop->learner->executables()};
}

}  // namespace thrt::bench
