// The loop that DQN and SAC share: a launch between two environment steps stores, learns and acts; all that lasts from
// one launch to the next, the replay included, lies in state slots.
#pragma once

#include <thrt/graph/program.hpp>
#include <thrt/rl/algo/learner.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace thrt::rl {

// When what happens. Counts environment steps over all environments.
struct OffPolicySchedule {
  std::int64_t num_envs = 1;
  std::int64_t buffer_size = 1;
  std::int64_t learning_starts = 0;  // before it actions are random and nothing is learned
  std::int64_t train_frequency = 1;
  std::int64_t gradient_steps = 1;  // of an update
  std::int64_t target_update = 0;   // how often `target` runs; 0: never
};

// What an algorithm gives the loop. The programs are those of dqn.hpp and sac.hpp.
struct OffPolicyPlan {
  OffPolicySchedule schedule;
  bool target_is_copy = false;  // so that running it twice is running it once
  std::function<double(const Position&)> learning_rate;
  std::function<double(const Position&)> epsilon;  // the part of random actions from learning_starts on

  Graph start, step, step_and_update;
  std::optional<Graph> target;
  std::span<const char* const> metric_names;
};

// Steps of one iteration: few enough that what is done between two of them is done soon, and the same for every length of
// the run, so that a run can be made longer.
std::int64_t off_policy_steps_per_iteration(const OffPolicySchedule& schedule);

// Throws Error when the device refuses a program.
std::unique_ptr<Learner> make_off_policy_learner(const Context& context, const RunConfig& config,
                                                 std::unique_ptr<VectorEnv> env, OffPolicyPlan plan);

// What both algorithms' settings must satisfy: updates fall on steps of all environments, the ring holds whole steps, and
// there is an update before the run ends. Throws Error naming the setting.
void validate(const OffPolicySchedule& schedule, std::int64_t total_timesteps);

}  // namespace thrt::rl
