// The list of groups: its ids, and that each work is what its name says.
#include <thrt/bench/groups.hpp>
#include <thrt/bench/measure.hpp>
#include <thrt/graph/passes.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

namespace thrt::bench {
namespace {

const Group& group_named(const std::vector<Group>& all, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Group& group) { return group.name == name; });
  if (found == all.end()) throw std::runtime_error("no group " + name);
  return *found;
}

std::int64_t count_ops(const Graph& graph, OpKind kind) {
  return std::count_if(graph.ops().begin(), graph.ops().end(), [&](const Graph::Op& op) { return op.kind == kind; });
}

TEST(Groups, IdsAreUniqueAndAsDocumented) {
  std::set<std::string> ids;
  for (const Group& group : groups()) {
    EXPECT_TRUE(ids.insert(benchmark_id(group, "cpu")).second) << group.name;
    EXPECT_EQ(group.on_device, group.make != nullptr) << group.name;
    EXPECT_NE(group.on_device, group.make_host != nullptr) << group.name;
  }
  for (const char* id :
       {"a2c_train_step/cpu/b64", "ppo_train_step/cpu/b64", "dqn_train_step/cpu/b64", "sac_train_step/cpu/b64",
        "a2c_cartpole_steps_per_sec/cpu/b80", "ppo_cartpole_steps_per_sec/cpu/b80", "nature_dqn_policy_forward/cpu/b32",
        "nature_dqn_policy_train_step/cpu/b256", "nature_dqn_qnet_forward/cpu/b256",
        "nature_dqn_qnet_train_step/cpu/b32"}) {
    EXPECT_EQ(ids.count(id), 1U) << id;
  }
}

// A network of three layers has three products forward, three for its weights' gradients, two for those of what is between.
TEST(Groups, ProgramsHaveTheProductsOfTheirNetworks) {
  const std::vector<Group> all = groups();
  for (const char* name : {"a2c_train_step", "ppo_train_step"}) {  // two heads: 4 forward, 4 for weights, 3 between
    EXPECT_EQ(count_ops(optimise(group_named(all, name).graph()), OpKind::MATMUL), 11) << name;
  }
  // Two more forward passes: of both networks on the next observations.
  EXPECT_EQ(count_ops(optimise(group_named(all, "dqn_train_step").graph()), OpKind::MATMUL), 14);

  const Graph forward = optimise(group_named(all, "nature_dqn_qnet_forward").graph());
  EXPECT_EQ(count_ops(forward, OpKind::CONV2D), 3);
  EXPECT_EQ(count_ops(forward, OpKind::MATMUL), 2);
  const Graph step = optimise(group_named(all, "nature_dqn_qnet_train_step").graph());
  EXPECT_EQ(count_ops(step, OpKind::CONV2D_GRAD_FILTER), 3);
  EXPECT_EQ(count_ops(step, OpKind::CONV2D_GRAD_INPUT), 2) << "nobody needs the gradient of the frames";
}

TEST(Groups, EnvironmentsStepWithoutABackend) {
  const std::vector<Group> all = groups();
  for (const char* name : {"cartpole_env_step", "pendulum_env_step"}) {
    const Work work = group_named(all, name).make_host();
    EXPECT_EQ(work.env_steps, 1024.0);
    work.run();
  }
}

TEST(Measure, MedianAndMinimumOfRunsOfAKnownLength) {
  const Timing timing =
      measure([] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }, {.min_seconds = 0.02});
  EXPECT_GE(timing.samples, 5);
  EXPECT_EQ(timing.runs, timing.samples);  // each lasts longer than a sample must
  EXPECT_GE(timing.min, 2e-3);
  EXPECT_GE(timing.median, timing.min);
  EXPECT_LT(timing.min, 1.0);
}

TEST(Measure, StopsWhenAsked) {
  int asked = 0;
  const auto nap = [] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };  // a sample by itself
  const Timing timing = measure(nap, {.min_seconds = 3600.0, .stop = [&] { return ++asked > 4; }});
  EXPECT_EQ(timing.samples, 3) << "one run was the warm-up";
  const auto never = [] { FAIL() << "it was to stop before the first run"; };
  EXPECT_EQ(measure(never, {.min_seconds = 3600.0, .stop = [] { return true; }}).samples, 0);
}

}  // namespace
}  // namespace thrt::bench
