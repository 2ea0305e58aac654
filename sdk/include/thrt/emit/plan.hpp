// What plan() of emit.hpp takes and gives.
#pragma once

#include <thrt/emit/scalar.hpp>
#include <thrt/sdk/plan_memory.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace thrt::emit {

struct Options {
  bool fuse = true;                 // false: a kernel for each op, for THRT_COMPILE_DEBUG
  std::size_t max_arguments = 24;   // arrays that a kernel may take; at least 8
  std::size_t max_expression = 96;  // elements of ops that one kernel computes: bounds its text and compile time
  // How many additions' worth of work may be done twice to save a launch, beyond the memory traffic that it saves.
  double launch_cost = 2048;
  // How many additions' worth of work a single work-item may get from what is fused into its loops.
  double serial_cost = 4096;
  // A work-item of a matmul may compute a tile of the result, so that what it loads is used more than once. At least
  // `min_work_items` are left. 1 x 1 where the device wants as many work-items as it can get.
  std::int64_t tile_rows = 1, tile_columns = 1;
  std::int64_t min_work_items = 64;
  std::uint32_t group_size = 64;  // work-items of a work-group: a power of two
};

struct Argument {
  std::uint32_t value;  // of the program, or THRT_NONE: `bytes` at `offset` of the step's scratch
  bool written;
  std::uint64_t offset = 0, bytes = 0;
};

// Runs as `groups` work-groups of exactly `group_size` work-items.
struct Kernel {
  std::string name;
  std::string text;  // without the functions it needs
  Functions functions;
  std::vector<Argument> arguments;
  std::uint32_t stage = 0;      // within its step
  std::int64_t work_items = 0;  // elements that it computes
  std::int64_t groups = 0;
  std::uint32_t group_size = 0;
  std::uint64_t shared_bytes = 0;  // memory of a work-group
};

struct Step {
  std::vector<Kernel>
      kernels;  // by stage: those of one need no order, a stage needs all before; none for a repeat, a view
  std::vector<std::uint32_t> ops;  // the ops, by index in the program, whose results this step leaves in memory
  sdk::PlanStep memory;            // scratch_bytes of a repeat is the caller's to set
  bool is_repeat = false;          // ops[0] is a repeat
};

struct Plan {
  std::vector<Step> steps;
  std::vector<sdk::PlanStep> memory_steps() const {
    std::vector<sdk::PlanStep> list;
    for (const Step& step : steps) list.push_back(step.memory);
    return list;
  }
};

}  // namespace thrt::emit
