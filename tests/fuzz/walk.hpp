// Everything that hosts and backends do with a program they hold to be right, without running it.
#pragma once

#include "target.hpp"

#include <thrt/ir/fingerprint.hpp>
#include <thrt/ir/print.hpp>
#include <thrt/sdk/plan_memory.hpp>
#include <thrt/sdk/program.hpp>

#include <cstdint>
#include <vector>

namespace thrt::fuzz {

// Ops of the program with a sub-program counted at each use, or kMostOpsToWalk + 1 for more.
inline std::uint32_t unrolled_ops(const thrt_program& program) {
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < program.op_count && count <= kMostOpsToWalk; ++i) {
    ++count;
    if (program.ops[i].subprogram != THRT_NONE) count += unrolled_ops(*program.subprograms[program.ops[i].subprogram]);
  }
  return count <= kMostOpsToWalk ? count : kMostOpsToWalk + 1;
}

inline void walk_view(const sdk::ProgramView& program, std::uint64_t& sum) {
  sum += program.name().size();
  for (std::uint32_t s = 0; s < program.slot_count(); ++s) {
    const sdk::SlotView slot = program.slot(s);
    sum += slot.name.size() + slot.type.bytes();
  }
  for (const sdk::OpView& op : program.ops()) {
    for (std::size_t i = 0; i < op.operands().size(); ++i) sum += op.operand_type(i).bytes();
    for (std::uint32_t i = 0; i < op.result_count(); ++i) sum += op.result_type(i).bytes();
    for (const std::int64_t attribute : op.attributes()) sum += static_cast<std::uint64_t>(attribute);
    if (op.kind() == ir::OpKind::CONSTANT) {
      for (const std::byte byte : op.constant()) sum += static_cast<std::uint64_t>(byte);
    }
    sum += op.location().size();
    for (std::uint32_t g = op.group(); g != THRT_NONE; g = program.group_parent(g)) sum += program.group_name(g).size();
    if (op.kind() == ir::OpKind::REPEAT) walk_view(op.body(), sum);
  }
}

// Every value has a place, and that place lies inside what was asked for.
inline void check_plan(const sdk::ProgramView& program) {
  const std::vector<sdk::PlanStep> steps = sdk::plan_steps(program);
  const sdk::MemoryPlan plan = sdk::plan_memory(program, steps);
  expect(plan.values.size() == program.value_count(), "a plan has a place for each value");
  using Where = sdk::Placement::Where;
  for (std::uint32_t v = 0; v < program.value_count(); ++v) {
    const sdk::Placement& at = plan.values[v];
    const std::uint64_t bytes = program.type(v).bytes();
    expect(at.where != Where::kNowhere, "a value is placed");
    if (at.where == Where::kWorkspace) {
      expect(at.offset % sdk::kPlanAlignment == 0, "a value is aligned");
      expect(bytes == 0 || (at.offset <= plan.workspace_bytes && bytes <= plan.workspace_bytes - at.offset),
             "a value lies in the workspace");
    } else if (at.where == Where::kSlot) {
      expect(at.slot < program.slot_count() && program.slot(at.slot).type.bytes() == bytes,
             "a slot is of its value's size");
    } else {
      expect(at.offset <= program.constants().size() && bytes <= program.constants().size() - at.offset,
             "a constant lies in the constants");
    }
  }
  for (const sdk::OpView& op : program.ops()) {
    if (op.kind() == ir::OpKind::REPEAT) check_plan(op.body());
  }
}

inline void walk(const thrt_program& program) {
  if (unrolled_ops(program) > kMostOpsToWalk) return;
  const sdk::ProgramView view(program);
  expect(view.flat_op_count() == unrolled_ops(program), "the view counts all ops");
  std::uint64_t sum = 0;
  walk_view(view, sum);
  check_plan(view);
  for (const char letter : ir::print(program)) {
    expect(letter == '\n' || (letter >= ' ' && letter <= '~'), "the text is printable");
  }
  expect(ir::fingerprint(program) == ir::fingerprint(program), "the fingerprint is a function");
}

}  // namespace thrt::fuzz
