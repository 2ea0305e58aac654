// Where each value of a program lives. Values that die share memory; an output is computed in its slot's own buffer
// where that harms nobody; the rest is copied at the end. One plan serves one program or one sub-program (a repeat's
// body, whose slots are then whatever memory its caller gives it).
//
// Offsets by the greedy-by-size method of Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net
// Inference" (2020): the largest value first, each into the smallest gap it fits among the values alive at the same
// time.
#pragma once

#include <thrt/sdk/program.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace thrt::sdk {

inline constexpr std::uint64_t kPlanAlignment = 64;

struct Placement {
  enum class Where : std::uint8_t {
    kNowhere,    // never computed: the values inside a fused step
    kSlot,       // the buffer of slot `slot`
    kWorkspace,  // at `offset` of the workspace
    kConstant,   // at `offset` of the program's constants
  };
  Where where = Where::kNowhere;
  std::uint32_t slot = THRT_NONE;
  std::uint64_t offset = 0;

  friend bool operator==(const Placement& a, const Placement& b) {
    return a.where == b.where && a.slot == b.slot && a.offset == b.offset;
  }
};

// One thing that runs: an op, or several fused. All that it reads is alive until it ends; results do not overlap what
// it reads, but for the pairs below.
struct PlanStep {
  std::vector<std::uint32_t> reads;
  std::vector<std::uint32_t> writes;
  std::uint64_t scratch_bytes = 0;  // memory of its own while it runs

  // Where steps run at the same time: the last step that may start before this one has ended, so that what dies here
  // keeps its memory until then. A plan for one thread leaves it at 0, which stands for the step itself.
  std::uint32_t runs_beside = 0;

  // {result, operand}: the step works also when the result's memory is the operand's. Taken when the operand dies here
  // and both have the same number of bytes. A step that reads the operand more than once must be right in that case
  // too.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> in_place;
  // {result, operand}: the result is the operand's bytes under another type; the step does nothing for it.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> views;
};

struct PlanCopy {
  Placement from;
  Placement to;
  std::uint64_t bytes;
};

struct MemoryPlan {
  std::vector<Placement> values;       // by value index
  std::vector<std::uint64_t> scratch;  // by step: offset in the workspace
  std::vector<PlanCopy> final_copies;  // after the last step, in this order
  std::uint64_t workspace_bytes = 0;
};

// One step per op, in order: elementwise ops may run in place, reshape is a view, constants are used where they are
// (their steps read and write nothing), and a repeat may carry its values in its operands' memory. Scratch is left to
// the caller.
inline std::vector<PlanStep> plan_steps(const ProgramView& program);

// Values that no step writes, no slot gives and no `constant` op defines are placed nowhere.
inline MemoryPlan plan_memory(const ProgramView& program, const std::vector<PlanStep>& steps);

}  // namespace thrt::sdk

#include <thrt/sdk/plan_memory_impl.hpp>
