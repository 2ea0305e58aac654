// What plan() of emit.hpp takes and gives.
#pragma once

#include <thrt/emit/scalar.hpp>
#include <thrt/sdk/plan_memory.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace thrt::emit {

// What a work-group is to the device. On a processor its work-items are turns of a loop and a barrier ends that loop; on a GPU they run
// side by side, and what one of them has loaded into the group's memory is near to all.
enum class DeviceKind : std::uint8_t { kProcessor, kGpu };

// How work-groups compute a matrix product or a convolution: a group has thread_columns columns of work-items, and each
// work-item rows x columns elements of the result; `depth` terms of the sums are in the group's memory at once. Powers of two.
struct Tiles {
  std::int64_t rows = 0, columns = 0, thread_columns = 0, depth = 0;
  std::int64_t splits = 1;  // pieces that the sums are cut to, each a group's; a second stage adds them up
};

// How work-groups compute reductions: `lanes` of a group's work-items share the loop of each result. `splits` pieces of it are
// a group's each; a second stage folds what they leave. Lanes are a power of two.
struct Teams {
  std::int64_t lanes = 1, splits = 1;
};

struct Options {
  DeviceKind device = DeviceKind::kProcessor;
  std::int64_t compute_units = 16;  // of a GPU
  bool fuse = true;                 // false: a kernel for each op, for THRT_COMPILE_DEBUG
  bool join = true;  // false: no kernel does the work of several independent ones, steps keep the program's order
  // The device runs all branches of a kernel, those that no work-item takes masked, as Mesa's llvmpipe does: a group pays for each part
  // of the kernel that it shares.
  bool runs_all_branches = false;
  std::size_t max_arguments = 24;   // arrays that a kernel may take; at least 4
  std::size_t max_expression = 96;  // elements of ops that one kernel computes: bounds its text and compile time
  // How many additions' worth of work a kernel may repeat to save launches, beyond the memory traffic that this saves. A GPU does a
  // million of them in a launch's time.
  double launch_cost = 8192;
  // How many additions' worth of work a single work-item may get from what is fused into its loops.
  double serial_cost = 4096;
  // A work-item of a matmul may compute a tile of the result, so that what it loads is used more than once. At least
  // `min_work_items` are left. 1 x 1 where the device wants as many work-items as it can get.
  std::int64_t tile_rows = 1, tile_columns = 1;
  std::int64_t min_work_items = 64;
  std::uint32_t group_size = 64;           // work-items of a work-group: a power of two
  std::uint64_t max_shared_bytes = 16384;  // memory of a work-group; what every Vulkan device has
  // Rows of more than counted_row elements are sorted in group memory, in blocks of up to sorted_block, a power of two: 8 bytes an
  // element. On shorter ones each element is compared with all others.
  std::int64_t counted_row = 32, sorted_block = 2048;
  // Up to so many elements of a scatter_add's result times indices, each element compares itself with all indices. Otherwise
  // these are sorted.
  std::int64_t compared_indices = 131072;
  std::optional<Teams> teams;  // for all reductions, whatever their size and the device: for tests
  std::optional<Tiles> tiles;  // for all products and convolutions, whatever their size and the device: for tests
};

struct Argument {
  std::uint32_t value;  // of the program, or THRT_NONE: `bytes` at `offset` of the step's scratch
  bool written;
  std::uint64_t offset = 0, bytes = 0;
};

// One of the independent pieces of work that a kernel does, for descriptions.
struct KernelPart {
  std::string title;
  std::vector<std::uint32_t> roots;     // the values it leaves in memory; none for a stage that leaves partial results
  std::vector<std::uint32_t> computed;  // the values whose ops it runs, roots included
  std::int64_t groups;
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
  std::vector<KernelPart> parts;
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
