#include "learner_work.hpp"

#include <thrt/rl/algo/learner.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace thrt::bench {
namespace {

struct Loop {
  Loop(const Context& context, const rl::RunConfig& run) : config(run), learner(rl::make_learner(context, run)) {
    learner->environment().reset(config.seed);
    learner->environment_changed();
  }

  void iterate() {
    finished.clear();
    learner->iterate(at, split, finished);
    at.step += learner->steps_per_iteration();
  }

  rl::RunConfig config;
  std::unique_ptr<rl::Learner> learner;
  // A run so long that what changes over it (learning rate, exploration) does not while it is timed.
  rl::Position at = {.step = 0, .total_steps = std::int64_t{1} << 50};
  rl::TimeSplit split;
  std::vector<rl::EpisodeEnd> finished;
};

}  // namespace

Work learner_work(const Context& context, const rl::RunConfig& config) {
  const auto loop = std::make_shared<Loop>(context, config);
  return {.run = [loop] { loop->iterate(); }, .env_steps = static_cast<double>(loop->learner->steps_per_iteration())};
}

}  // namespace thrt::bench
