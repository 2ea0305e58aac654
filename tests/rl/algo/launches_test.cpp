// How many launches a gradient step takes on devices with 32 and with 64 arrays a kernel: the time of a small network's step is
// their number. Mesa's llvmpipe has 32.
#include <thrt/emit/emit.hpp>
#include <thrt/graph/passes.hpp>
#include <thrt/graph/program.hpp>
#include <thrt/rl/algo/a2c.hpp>
#include <thrt/rl/algo/dqn.hpp>
#include <thrt/rl/algo/nature_cnn.hpp>
#include <thrt/rl/algo/ppo.hpp>
#include <thrt/rl/algo/sac.hpp>
#include <thrt/sdk/plan_memory.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>

namespace thrt::rl {
namespace {

constexpr PolicySpaces kCartPole{4, 2};

// The body with the most ops in it, or the program itself.
const thrt_program& gradient_step(const thrt_program& program) {
  const thrt_program* largest = &program;
  for (std::uint32_t i = 0; i < program.subprogram_count; ++i) {
    const thrt_program& inner = gradient_step(*program.subprograms[i]);
    if (inner.op_count > largest->op_count) largest = &inner;
  }
  return *largest;
}

emit::Options gpu(std::size_t max_arguments) {
  emit::Options options;
  options.device = emit::DeviceKind::kGpu;
  options.launch_cost = 1e6;
  options.max_arguments = max_arguments;
  return options;
}

emit::Options llvmpipe() {
  emit::Options options;
  options.runs_all_branches = true;
  options.max_arguments = 32;
  return options;
}

struct Case {
  const char* name;
  std::function<Graph()> graph;
  std::size_t most_on_gpu, most_on_llvmpipe;  // launches: what is reached with 32 arrays, and a little more
};

std::vector<Case> cases() {
  return {
      {"ppo", [] { return ppo_update_graph({}, kCartPole); }, 18, 20},
      {"a2c", [] { return a2c_update_graph({}, kCartPole); }, 12, 15},
      {"dqn", [] { return dqn_update_graph({}, kCartPole); }, 12, 18},
      {"sac",
       [] {
         return sac_update_graph({}, {3, {-2}, {2}});
       },
       42, 60},
      {"nature", [] { return nature_train_step_graph({.heads = NatureHeads::kPolicy}, 32); }, 24, 26},
  };
}

// Kernels, and the copies that are left for the end.
std::size_t launches(const sdk::ProgramView& step, const emit::Options& options) {
  const emit::Plan plan = emit::plan(step, emit::glsl(), options);
  std::size_t count = sdk::plan_memory(step, plan.memory_steps()).final_copies.size();
  for (const emit::Step& each : plan.steps) count += each.kernels.size();
  return count;
}

TEST(Launches, AGradientStepTakesFew) {
  for (const Case& each : cases()) {
    SCOPED_TRACE(each.name);
    const Program program = lower(optimise(each.graph()));
    const sdk::ProgramView step(gradient_step(*program.abi()));
    const std::size_t few = launches(step, gpu(32)), fewer = launches(step, gpu(64)),
                      masked = launches(step, llvmpipe());
    std::printf("%-6s %3zu launches, %3zu with 64 arrays, %3zu where all branches run\n", each.name, few, fewer,
                masked);
    EXPECT_LE(few, each.most_on_gpu);
    EXPECT_LE(fewer, few);
    EXPECT_LE(masked, each.most_on_llvmpipe);
  }
}

}  // namespace
}  // namespace thrt::rl
