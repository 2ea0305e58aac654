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

// What an algorithm gives the loop. Steps are environment steps over all environments; the programs are those of dqn.hpp
// and sac.hpp.
struct OffPolicyPlan {
  std::int64_t learning_starts = 0;  // before it actions are random and nothing is learned
  std::int64_t train_frequency = 1;
  std::int64_t gradient_steps = 1;
  std::int64_t target_update = 0;  // how often `target` runs; 0: never
  bool target_is_copy = false;     // so that running it twice is running it once
  std::function<double(const Position&)> learning_rate;
  std::function<double(const Position&)> epsilon;  // the part of random actions from learning_starts on

  Graph start, step, step_and_update;
  std::optional<Graph> target;
  std::span<const char* const> metric_names;
};

// Steps of one iteration: enough that what is done once an iteration, logging, costs nothing.
std::int64_t off_policy_steps_per_iteration(const RunConfig& config, std::int64_t num_envs);

// Throws Error when the device refuses a program.
std::unique_ptr<Learner> make_off_policy_learner(const Context& context, const RunConfig& config,
                                                 std::unique_ptr<VectorEnv> env, OffPolicyPlan plan);

// What both algorithms' settings must satisfy: updates fall on steps of all environments, the ring holds whole steps.
// Throws Error naming the setting.
struct OffPolicySchedule {
  std::int64_t num_envs, buffer_size, train_frequency, target_update;  // target_update 0: none
};
void validate(const OffPolicySchedule& schedule);

}  // namespace thrt::rl
