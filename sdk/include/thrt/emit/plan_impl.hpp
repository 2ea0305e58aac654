// Behind emit.hpp.
#pragma once

#include <thrt/emit/contraction_part.hpp>
#include <thrt/emit/emit.hpp>
#include <thrt/emit/fusion.hpp>
#include <thrt/emit/kernel_impl.hpp>
#include <thrt/emit/merge.hpp>
#include <thrt/emit/reduction_plan.hpp>
#include <thrt/emit/scatter.hpp>
#include <thrt/emit/sort.hpp>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace thrt::emit {

namespace detail {

// A concat of more operands than a kernel may take, in parts along its axis.
inline std::vector<Part> concat_parts(const sdk::ProgramView& program, const Producers& producers,
                                      const Dialect& dialect, const Unit& unit, const sdk::OpView& op,
                                      std::size_t max_arguments) {
  std::vector<Part> list;
  const auto axis = static_cast<int>(op.attribute(0));
  std::int64_t first = 0, last = 0;
  std::size_t parts = 0;
  for (std::size_t i = 0; i < op.operands().size(); ++i) {
    last += op.operand_type(i).shape[axis];
    ++parts;
    if (parts + 1 < max_arguments && i + 1 < op.operands().size()) continue;
    if (last > first) list.push_back(PartPrinter(program, producers, dialect, unit).concat_part(first, last));
    first = last;
    parts = 0;
  }
  return list;
}

inline Draft draft_kernels(const sdk::ProgramView& program, const Producers& producers, const Dialect& dialect,
                           const Unit& unit, const Options& options) {
  Draft draft;
  const sdk::OpView& op = *producers.of(unit.roots[0]);
  if (op.kind() == ir::OpKind::ARGSORT) {
    draft.parts = argsort_parts(program, producers, dialect, unit, options, draft.step.memory);
  } else if (op.kind() == ir::OpKind::CONCAT && op.operands().size() + 1 > options.max_arguments) {
    draft.parts = concat_parts(program, producers, dialect, unit, op, options.max_arguments);
  } else if (std::vector<Part> tiled = contraction_parts(program, producers, dialect, unit, options, draft.step.memory);
             !tiled.empty()) {
    draft.parts = std::move(tiled);
  } else {
    draft.parts = scatter_parts(program, producers, dialect, unit, options, draft.step.memory);
    if (draft.parts.empty())
      draft.parts = reduction_parts(program, producers, dialect, unit, options, draft.step.memory);
    if (draft.parts.empty())
      draft.parts.push_back(PartPrinter(program, producers, dialect, unit).pulled(draft.step.memory.in_place));
  }
  std::set<std::uint32_t> read;
  for (Part& part : draft.parts) {
    part.computed.assign(unit.inlined.begin(), unit.inlined.end());
    for (const Part::Parameter& parameter : part.parameters) {
      const Argument& argument = parameter.argument;
      if (!argument.written && argument.value != THRT_NONE) read.insert(argument.value);
    }
  }
  draft.step.memory.reads.assign(read.begin(), read.end());
  draft.step.memory.writes = unit.roots;
  return draft;
}

inline Step repeat_step(const sdk::OpView& op) {
  Step step;
  step.is_repeat = true;
  step.memory.reads.assign(op.operands().begin(), op.operands().end());
  for (std::uint32_t c = 0; c < op.result_count(); ++c) {
    step.memory.writes.push_back(op.result(c));
    const bool named_once = std::count(op.operands().begin(), op.operands().end(), op.operand(c)) == 1;
    if (named_once) step.memory.in_place.emplace_back(op.result(c), op.operand(c));
  }
  return step;
}

inline std::uint64_t workspace_bytes(const sdk::ProgramView& program, const std::vector<Step>& steps) {
  std::vector<sdk::PlanStep> memory;
  for (const Step& step : steps) memory.push_back(step.memory);
  return sdk::plan_memory(program, memory).workspace_bytes;
}

inline void check_options(const Options& options) {
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw sdk::Error(THRT_INVALID_ARGUMENT, std::string("emit::Options::") + what);
  };
  const auto is_power = [](std::int64_t x) { return x > 0 && (x & (x - 1)) == 0; };
  require(options.max_arguments >= 4, "max_arguments: at least 4, for an op of three operands and its result");
  require(is_power(options.group_size), "group_size: a power of two");
  require(is_power(options.sorted_block), "sorted_block: a power of two");
  require(!options.teams || (is_power(options.teams->lanes) && options.teams->splits > 0),
          "teams: lanes are a power of two, splits positive");
}

// Joined as far as memory allows. Much more than the program's own order needs is not taken.
inline std::vector<Step> joined(const sdk::ProgramView& program, const Dialect& dialect, const Options& options,
                                const std::vector<Draft>& drafts) {
  constexpr std::uint64_t kAnyway = 32u << 20;
  std::vector<Step> in_order;
  for (const Draft& draft : drafts) in_order.push_back(draft.step);
  const std::uint64_t least = workspace_bytes(program, in_order), most = std::max(kAnyway, least + least / 4);
  for (const std::uint64_t large :
       {std::uint64_t{UINT64_MAX}, std::max<std::uint64_t>(most / 32, 1), std::uint64_t{1}}) {
    std::vector<Step> steps = Joining(program, dialect, options, drafts).steps(large);
    if (large == 1 || workspace_bytes(program, steps) <= most) return steps;
  }
  return {};
}

}  // namespace detail

inline Plan plan(const sdk::ProgramView& program, const Dialect& dialect, const Options& options) {
  detail::check_options(options);
  const detail::Producers producers(program);
  const detail::Fusion fusion(program, producers, options);
  std::vector<detail::Draft> drafts;
  for (const detail::Fusion::Group* group : fusion.ordered()) {
    const sdk::OpView& op = *producers.of(group->unit.roots[0]);
    detail::Draft& draft = drafts.emplace_back();
    switch (group->kind) {
      case detail::Fusion::Kind::kKernel:
        draft = detail::draft_kernels(program, producers, dialect, group->unit, options);
        break;
      case detail::Fusion::Kind::kView:
        draft.step.memory.views.emplace_back(op.result(), op.operand(0));
        break;
      case detail::Fusion::Kind::kRepeat:
        draft.step = detail::repeat_step(op);
        break;
    }
    for (const std::uint32_t root : group->unit.roots) {
      const std::uint32_t index = producers.of(root)->index();
      std::vector<std::uint32_t>& ops = draft.step.ops;
      if (std::find(ops.begin(), ops.end(), index) == ops.end()) ops.push_back(index);
    }
  }
  Plan plan;
  if (options.fuse && options.join) {
    plan.steps = detail::joined(program, dialect, options, drafts);
  } else {
    for (detail::Draft& draft : drafts) plan.steps.push_back(detail::finished(dialect, std::move(draft), options));
  }
  return plan;
}

}  // namespace thrt::emit
