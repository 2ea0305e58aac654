// The work that is timed: one list of groups for `thrust bench` and for bench/trainer_throughput. Every group runs the
// programs, the learners and the environments that training runs, on synthetic data.
#pragma once

#include <thrt/graph/graph.hpp>
#include <thrt/runtime/context.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace thrt::bench {

// Made, compiled, bound and filled: what is left is to run it.
struct Work {
  // One iteration. On a device it returns when the device has finished, which is what makes its time one.
  std::function<void()> run;
  double env_steps = 0.0;                 // of one iteration; 0 for work that steps no environment
  std::int64_t parameters = 0;            // trained, or read by a forward pass; 0 where that is not the point
  std::vector<Executable> programs = {};  // that it runs, on a device
};

struct Group {
  std::string name;                               // "ppo_train_step"
  std::int64_t batch = 0;                         // what "/b64" of its id says
  std::string description;                        // one line
  bool on_device = true;                          // false: code of the host alone, the same for every backend
  bool mixed = false;                             // worth timing in bf16 too
  std::function<Work(const Context&)> make = {};  // on_device; throws Error when the device refuses a program
  std::function<Work()> make_host = {};           // otherwise
  std::function<Graph()> graph = {};              // the one program that the work is, where it is one
};

std::vector<Group> groups();

// "ppo_train_step/cpu/b64", "nature_dqn_qnet_forward/cpu-bf16/b256"; the backend of the host's own code is "host".
std::string benchmark_id(const Group& group, const std::string& target);

// One PPO gradient step with a policy and a value network of two layers of `width`, on a batch of 64.
Work ppo_step_of_width(const Context& context, std::int64_t width);

}  // namespace thrt::bench
