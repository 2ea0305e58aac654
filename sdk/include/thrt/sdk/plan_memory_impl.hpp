// Behind plan_memory.hpp.
#pragma once

#include <thrt/sdk/plan_memory.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

namespace thrt::sdk {

inline std::vector<PlanStep> plan_steps(const ProgramView& program) {
  std::vector<PlanStep> steps;
  for (const OpView& op : program.ops()) {
    PlanStep& step = steps.emplace_back();
    if (op.kind() == ir::OpKind::CONSTANT) continue;
    if (op.kind() == ir::OpKind::RESHAPE) {
      step.views.emplace_back(op.result(), op.operand(0));
      continue;
    }
    step.reads.assign(op.operands().begin(), op.operands().end());
    for (std::uint32_t i = 0; i < op.result_count(); ++i) step.writes.push_back(op.result(i));
    const auto named_once = [&](std::uint32_t value) {
      return std::count(step.reads.begin(), step.reads.end(), value) == 1;
    };
    switch (op.info().rule) {
      case ir::Rule::kUnary:
      case ir::Rule::kCast:
      case ir::Rule::kBinary:
      case ir::Rule::kCompare:
      case ir::Rule::kSelect:
        for (const std::uint32_t operand : step.reads) step.in_place.emplace_back(op.result(), operand);
        break;
      case ir::Rule::kScatterAdd:
      case ir::Rule::kDynamicUpdateSlice:
        if (named_once(op.operand(0))) step.in_place.emplace_back(op.result(), op.operand(0));
        break;
      case ir::Rule::kRepeat:
        for (std::uint32_t c = 0; c < op.result_count(); ++c) {
          if (named_once(op.operand(c))) step.in_place.emplace_back(op.result(c), op.operand(c));
        }
        break;
      default:
        break;
    }
  }
  return steps;
}

namespace detail {

class MemoryPlanner {
 public:
  MemoryPlanner(const ProgramView& program, const std::vector<PlanStep>& steps)
      : program_(program), steps_(steps), end_(static_cast<std::int64_t>(steps.size())) {}

  MemoryPlan plan() {
    name_classes();
    find_lifetimes();
    give_outputs_their_slots();
    share_in_place();
    give_storage();
    place_storage();
    write_values();
    plan_copies();
    return std::move(plan_);
  }

 private:
  using Where = Placement::Where;
  static constexpr std::size_t kNone = SIZE_MAX;

  // Values that are the same bytes: one that is computed (or given), and its views.
  struct Class {
    Placement placement;  // final for slots and constants
    std::uint64_t bytes = 0;
    std::int64_t begin = -1;  // the step that writes it; -1: there from the start
    std::int64_t last = -1;   // the last step that reads it, or end_ for outputs
    bool computed = false;    // by a step
    bool succeeded = false;   // another class continues in its memory
    std::size_t storage = kNone;
  };

  // A piece of the workspace, alive in the steps [begin, end].
  struct Storage {
    std::uint64_t bytes;
    std::int64_t begin;
    std::int64_t end;
    std::uint64_t offset;
  };

  static std::uint64_t aligned(std::uint64_t bytes) {
    return (bytes + kPlanAlignment - 1) / kPlanAlignment * kPlanAlignment;
  }

  Class& class_of(std::uint32_t value) { return classes_[class_index_[value]]; }
  bool same_class(std::uint32_t a, std::uint32_t b) const { return class_index_[a] == class_index_[b]; }

  void name_classes() {
    const std::uint32_t count = program_.value_count();
    classes_.resize(count);
    class_index_.resize(count);
    for (std::uint32_t v = 0; v < count; ++v) class_index_[v] = v;
    for (std::uint32_t s = 0; s < program_.slot_count(); ++s) {
      const SlotView slot = program_.slot(s);
      if (slot.read()) classes_[slot.input_value].placement = {Where::kSlot, s, 0};
    }
    for (const OpView& op : program_.ops()) {
      if (op.kind() != ir::OpKind::CONSTANT) continue;
      classes_[op.result()].placement = {Where::kConstant, THRT_NONE, static_cast<std::uint64_t>(op.attribute(0))};
    }
    for (std::int64_t i = 0; i < end_; ++i) {
      for (const std::uint32_t value : steps_[static_cast<std::size_t>(i)].writes) {
        classes_[value].computed = true;
        classes_[value].begin = classes_[value].last = i;
        classes_[value].bytes = program_.type(value).bytes();
      }
      for (const auto& [result, operand] : steps_[static_cast<std::size_t>(i)].views) {
        class_index_[result] = class_index_[operand];
      }
    }
  }

  void find_lifetimes() {
    for (std::int64_t i = 0; i < end_; ++i) {
      for (const std::uint32_t value : steps_[static_cast<std::size_t>(i)].reads) class_of(value).last = i;
    }
    for (std::uint32_t s = 0; s < program_.slot_count(); ++s) {
      const SlotView slot = program_.slot(s);
      if (slot.written()) class_of(slot.output_value).last = end_;
    }
  }

  // May `result`'s class be written by step `at` over the memory of `operand`'s class, which is read there for the last
  // time?
  bool offers_in_place(std::int64_t at, std::size_t result, std::size_t operand) const {
    const PlanStep& step = steps_[static_cast<std::size_t>(at)];
    for (const auto& [to, from] : step.in_place) {
      if (class_index_[to] != result || class_index_[from] != operand) continue;
      // The same bytes read under a second name: the step cannot know that they are the ones it overwrites.
      const std::uint32_t named = from;
      return std::all_of(step.reads.begin(), step.reads.end(),
                         [&](std::uint32_t read) { return read == named || class_index_[read] != operand; });
    }
    return false;
  }

  // An output may be computed right in its slot's buffer when the slot's input, if it has one, is not needed any more.
  void give_outputs_their_slots() {
    for (std::uint32_t s = 0; s < program_.slot_count(); ++s) {
      const SlotView slot = program_.slot(s);
      if (!slot.written()) continue;
      Class& output = class_of(slot.output_value);
      if (!output.computed || output.placement.where != Where::kNowhere) continue;
      if (slot.read()) {
        const Class& input = class_of(slot.input_value);
        const bool dead = input.last < output.begin ||
                          (input.last == output.begin && offers_in_place(output.begin, class_index_[slot.output_value],
                                                                         class_index_[slot.input_value]));
        if (!dead) continue;
      }
      output.placement = {Where::kSlot, s, 0};
    }
  }

  void share_in_place() {
    for (std::int64_t i = 0; i < end_; ++i) {
      for (const auto& [to, from] : steps_[static_cast<std::size_t>(i)].in_place) {
        Class& result = class_of(to);
        Class& operand = class_of(from);
        const bool both_temporary = result.computed && result.placement.where == Where::kNowhere && operand.computed &&
                                    operand.placement.where == Where::kNowhere;
        if (!both_temporary || result.storage != kNone || operand.succeeded || operand.last != i || result.begin != i ||
            result.bytes != operand.bytes || !offers_in_place(i, class_index_[to], class_index_[from])) {
          continue;
        }
        result.storage = storage_of(operand);
        operand.succeeded = true;
        storage_[result.storage].end = std::max(storage_[result.storage].end, result.last);
      }
    }
  }

  std::size_t storage_of(Class& object) {
    if (object.storage == kNone) {
      object.storage = storage_.size();
      storage_.push_back({aligned(object.bytes), object.begin, object.last, 0});
    }
    return object.storage;
  }

  void give_storage() {
    for (Class& object : classes_) {
      if (object.computed && object.placement.where == Where::kNowhere) storage_of(object);
    }
    first_scratch_ = storage_.size();
    for (std::int64_t i = 0; i < end_; ++i) {
      storage_.push_back({aligned(steps_[static_cast<std::size_t>(i)].scratch_bytes), i, i, 0});
    }
  }

  void place_storage() {
    for (Storage& each : storage_) {
      if (each.end < 0 || each.end >= end_) continue;
      each.end = std::max<std::int64_t>(each.end, steps_[static_cast<std::size_t>(each.end)].runs_beside);
    }
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < storage_.size(); ++i) {
      if (storage_[i].bytes > 0) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::tuple(storage_[b].bytes, storage_[a].begin) < std::tuple(storage_[a].bytes, storage_[b].begin);
    });
    std::vector<std::size_t> placed;  // by offset
    for (const std::size_t i : order) {
      storage_[i].offset = best_offset(placed, storage_[i]);
      plan_.workspace_bytes = std::max(plan_.workspace_bytes, storage_[i].offset + storage_[i].bytes);
      const auto at = std::upper_bound(placed.begin(), placed.end(), i, [&](std::size_t a, std::size_t b) {
        return storage_[a].offset < storage_[b].offset;
      });
      placed.insert(at, i);
    }
  }

  // The smallest gap between those alive at the same time that is large enough, or the end.
  std::uint64_t best_offset(const std::vector<std::size_t>& placed, const Storage& wanted) const {
    std::uint64_t free_from = 0, best = UINT64_MAX, best_gap = UINT64_MAX;
    for (const std::size_t i : placed) {
      const Storage& other = storage_[i];
      if (other.begin > wanted.end || other.end < wanted.begin) continue;
      if (other.offset >= free_from + wanted.bytes && other.offset - free_from < best_gap) {
        best = free_from;
        best_gap = other.offset - free_from;
      }
      free_from = std::max(free_from, other.offset + other.bytes);
    }
    return best != UINT64_MAX ? best : free_from;
  }

  void write_values() {
    plan_.values.resize(program_.value_count());
    for (std::uint32_t v = 0; v < program_.value_count(); ++v) {
      const Class& object = class_of(v);
      plan_.values[v] = object.placement;
      if (object.storage != kNone) plan_.values[v] = {Where::kWorkspace, THRT_NONE, storage_[object.storage].offset};
    }
    for (std::size_t i = first_scratch_; i < storage_.size(); ++i) plan_.scratch.push_back(storage_[i].offset);
  }

  // The outputs that are not in their slots yet. All copies read what was there before any of them: a copy goes first
  // when nobody still has to read what it overwrites; a ring of copies (two states that swap) is opened by putting one
  // aside.
  void plan_copies() {
    std::vector<PlanCopy> pending;
    for (std::uint32_t s = 0; s < program_.slot_count(); ++s) {
      const SlotView slot = program_.slot(s);
      if (!slot.written() || slot.type.bytes() == 0) continue;
      const Placement to{Where::kSlot, s, 0};
      const Placement& from = plan_.values[slot.output_value];
      if (!(from == to)) pending.push_back({from, to, slot.type.bytes()});
    }
    while (!pending.empty()) {
      const auto ready = std::find_if(pending.begin(), pending.end(), [&](const PlanCopy& copy) {
        return std::none_of(pending.begin(), pending.end(),
                            [&](const PlanCopy& other) { return other.from == copy.to; });
      });
      if (ready != pending.end()) {
        plan_.final_copies.push_back(*ready);
        pending.erase(ready);
        continue;
      }
      const PlanCopy first = pending.front();
      const Placement aside{Where::kWorkspace, THRT_NONE, plan_.workspace_bytes};
      plan_.workspace_bytes += aligned(first.bytes);
      plan_.final_copies.push_back({first.from, aside, first.bytes});
      for (PlanCopy& copy : pending) {
        if (copy.from == first.from) copy.from = aside;
      }
    }
  }

  const ProgramView& program_;
  const std::vector<PlanStep>& steps_;
  std::int64_t end_;
  std::vector<Class> classes_;            // by the value that gives a class its bytes
  std::vector<std::size_t> class_index_;  // by value
  std::vector<Storage> storage_;
  std::size_t first_scratch_ = 0;
  MemoryPlan plan_;
};

}  // namespace detail

inline MemoryPlan plan_memory(const ProgramView& program, const std::vector<PlanStep>& steps) {
  return detail::MemoryPlanner(program, steps).plan();
}

}  // namespace thrt::sdk
