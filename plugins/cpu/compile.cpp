// Program -> steps: which values need no memory of their own, which elementwise ops run together, and in what order.
#include "elementwise_group.hpp"
#include "step.hpp"
#include "strided.hpp"

#include <thrt/sdk/host_memory.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <set>
#include <utility>

namespace thrt::cpu {
namespace {

using ir::OpKind;
using ir::Rule;

bool is_elementwise(OpKind kind) {
  switch (ir::op_info(kind).rule) {
    case Rule::kUnary:
    case Rule::kCast:
    case Rule::kBinary:
    case Rule::kCompare:
    case Rule::kSelect:
      return true;
    default:
      return false;
  }
}

bool is_movement(OpKind kind) {
  return kind == OpKind::BROADCAST || kind == OpKind::TRANSPOSE || kind == OpKind::SLICE;
}

class Lowering {
 public:
  Lowering(const sdk::ProgramView& program, const CompileSettings& settings)
      : program_(program),
        settings_(settings),
        op_by_op_((settings.flags & (THRT_COMPILE_DEBUG | THRT_COMPILE_CHECK_FINITE)) != 0) {}

  Routine run() {
    find_readers();
    resolve_layouts();
    if (op_by_op_) {
      for (const sdk::OpView& op : program_.ops()) emit_alone(op);
    } else {
      schedule();
    }
    Routine routine;
    routine.steps = std::move(steps_);
    std::vector<sdk::PlanStep> memory;
    memory.reserve(routine.steps.size());
    for (const Step& step : routine.steps) {
      memory.push_back(step.memory);
      if (step.bind) routine.kernel_count += step.kernels;
      routine.constant_bytes += step.constant_bytes;
    }
    routine.plan = sdk::plan_memory(program_, memory);
    routine.kernel_count += static_cast<std::uint32_t>(routine.plan.final_copies.size());
    copy_constants(routine);
    return routine;
  }

 private:
  // How an op's only result comes about.
  enum class Role {
    kConstant,  // lies in the constants
    kAlias,     // the operand's bytes under another type
    kVirtual,   // read through a layout, never made
    kCopy,      // the operand read through a layout, then written
    kElementwise,
    kOther,
  };

  void find_readers() {
    readers_.resize(program_.value_count());
    is_output_.resize(program_.value_count());
    producer_.assign(program_.value_count(), THRT_NONE);
    for (const sdk::OpView& op : program_.ops()) {
      for (const std::uint32_t operand : op.operands()) readers_[operand].push_back(op.index());
      for (std::uint32_t i = 0; i < op.result_count(); ++i) producer_[op.result(i)] = op.index();
    }
    for (std::uint32_t i = 0; i < program_.slot_count(); ++i) {
      const sdk::SlotView slot = program_.slot(i);
      if (slot.written()) is_output_[slot.output_value] = true;
    }
  }

  // Whether a value must lie in memory in row-major order.
  bool needs_memory(std::uint32_t value) const {
    if (op_by_op_ || is_output_[value]) return true;
    for (const std::uint32_t reader : readers_[value]) {
      const OpKind kind = program_.ops()[reader].kind();
      if (!is_elementwise(kind) && !is_movement(kind)) return true;
    }
    return false;
  }

  // In program order: a value's layout is over a root, a value that has memory.
  void resolve_layouts() {
    roots_.resize(program_.value_count());
    layouts_.resize(program_.value_count());
    for (std::uint32_t v = 0; v < program_.value_count(); ++v) {
      roots_[v] = v;
      layouts_[v] = Layout::dense(program_.type(v).shape);
    }
    roles_.assign(program_.ops().size(), Role::kOther);
    sources_.resize(program_.ops().size());
    for (const sdk::OpView& op : program_.ops()) roles_[op.index()] = role(op);
  }

  Role role(const sdk::OpView& op) {
    if (op.kind() == OpKind::CONSTANT) return Role::kConstant;
    if (is_elementwise(op.kind())) return Role::kElementwise;
    if (op.kind() != OpKind::RESHAPE && !is_movement(op.kind())) return Role::kOther;
    const std::uint32_t from = op.operand(0), to = op.result();
    const ir::Shape shape = op.result_type().shape;
    Layout layout;
    switch (op.kind()) {
      case OpKind::RESHAPE:
        layout = Layout::dense(shape);  // its operand has memory: needs_memory says so
        break;
      case OpKind::BROADCAST:
        layout = layouts_[from].broadcast(shape, op.attributes());
        break;
      case OpKind::TRANSPOSE:
        layout = layouts_[from].transpose(op.attributes());
        break;
      default:
        layout = layouts_[from].slice(op.attributes());
        break;
    }
    const std::uint32_t root = roots_[from];
    if (layout.is_dense() && op.result_type().bytes() == program_.type(root).bytes()) {
      roots_[to] = root;
      return Role::kAlias;
    }
    sources_[op.index()] = Operand{root, layout, op.result_type().dtype};
    if (needs_memory(to)) return Role::kCopy;
    roots_[to] = root;
    layouts_[to] = layout;
    return Role::kVirtual;
  }

  Operand operand(const sdk::OpView& op, std::size_t i) const {
    const std::uint32_t value = op.operand(i);
    return {roots_[value], layouts_[value], op.operand_type(i).dtype};
  }

  std::vector<Operand> operands(const sdk::OpView& op) const {
    if (roles_[op.index()] == Role::kCopy) return {sources_[op.index()]};
    std::vector<Operand> list;
    for (std::size_t i = 0; i < op.operands().size(); ++i) list.push_back(operand(op, i));
    return list;
  }

  bool is_grouped(std::uint32_t op) const { return roles_[op] == Role::kElementwise || roles_[op] == Role::kCopy; }
  bool is_free(std::uint32_t op) const {
    return roles_[op] == Role::kConstant || roles_[op] == Role::kAlias || roles_[op] == Role::kVirtual;
  }

  void add_to(ElementwiseGroup& group, const sdk::OpView& op) const {
    const std::vector<Operand> list = operands(op);
    const std::optional<OpKind> kind =
        roles_[op.index()] == Role::kCopy ? std::nullopt : std::optional<OpKind>(op.kind());
    group.add(kind, list, op.result(), op.result_type().dtype);
  }

  // An alias is a step of the memory plan that does nothing.
  void emit_alias(const sdk::OpView& op) {
    Step step;
    step.memory.views.emplace_back(op.result(), roots_[op.operand(0)]);
    steps_.push_back(std::move(step));
  }

  void emit_other(const sdk::OpView& op) {
    Step step = compile_op(op, settings_);
    for (std::uint32_t& value : step.memory.reads) value = roots_[value];
    // Overwriting an operand is for operands that the step reads once, see lower.hpp.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> in_place;
    for (const auto& [result, from] : step.memory.in_place) {
      const std::vector<std::uint32_t>& reads = step.memory.reads;
      if (std::count(reads.begin(), reads.end(), roots_[from]) == 1) in_place.emplace_back(result, roots_[from]);
    }
    step.memory.in_place = std::move(in_place);
    steps_.push_back(std::move(step));
  }

  void emit_alone(const sdk::OpView& op) {
    switch (roles_[op.index()]) {
      case Role::kConstant:
        break;
      case Role::kAlias:
      case Role::kVirtual:
        emit_alias(op);
        break;
      case Role::kCopy:
      case Role::kElementwise: {
        ElementwiseGroup group(op.result_type().elements(), *settings_.kernels);
        add_to(group, op);
        steps_.push_back(group.finish([](std::uint32_t) { return true; }));
        break;
      }
      case Role::kOther:
        emit_other(op);
        break;
    }
    if ((settings_.flags & THRT_COMPILE_CHECK_FINITE) != 0) emit_finite_check(op);
  }

  void emit_finite_check(const sdk::OpView& op) {
    for (std::uint32_t i = 0; i < op.result_count(); ++i) {
      const ir::Type type = op.result_type(i);
      if (!ir::is_float(type.dtype) || type.elements() == 0) continue;
      Step step;
      step.kernels = 0;
      step.reads(op.result(i));
      step.bind = [type, value = op.result(i), flat = op.flat_index(), name = op.name()](const Addresses& addresses,
                                                                                         std::byte*) -> Task {
        const std::byte* data = addresses.of(value);
        return [type, value, flat, name, data] { sdk::require_finite(type, data, flat, name, value); };
      };
      steps_.push_back(std::move(step));
    }
  }

  // List scheduling: what is no elementwise op as soon as it can run, and elementwise ops as late as that allows, so
  // that many are ready together.
  void schedule() {
    waits_for_.assign(program_.ops().size(), 0);
    for (const sdk::OpView& op : program_.ops()) {
      for (const std::uint32_t value : op.operands()) {
        if (producer_[value] != THRT_NONE) ++waits_for_[op.index()];
      }
      if (waits_for_[op.index()] == 0) make_ready(op.index());
    }
    drain_free();
    while (!ready_other_.empty() || !ready_grouped_.empty()) {
      if (!ready_other_.empty()) {
        const std::uint32_t next = *ready_other_.begin();
        ready_other_.erase(ready_other_.begin());
        emit_other(program_.ops()[next]);
        done(next);
        drain_free();
      } else {
        emit_group();
      }
    }
  }

  void make_ready(std::uint32_t op) {
    if (is_free(op)) {
      free_.push_back(op);
    } else {
      (is_grouped(op) ? ready_grouped_ : ready_other_).insert(op);
    }
  }

  void done(std::uint32_t op) {
    for (std::uint32_t i = 0; i < program_.ops()[op].result_count(); ++i) {
      for (const std::uint32_t reader : readers_[program_.ops()[op].result(i)]) {
        if (--waits_for_[reader] == 0) make_ready(reader);
      }
    }
  }

  // `aliases`: where to note aliases for later, while the step that makes their root is not complete yet.
  void drain_free(std::vector<std::uint32_t>* aliases = nullptr) {
    while (!free_.empty()) {
      const std::uint32_t op = free_.back();
      free_.pop_back();
      if (roles_[op] == Role::kAlias) {
        if (aliases != nullptr) {
          aliases->push_back(op);
        } else {
          emit_alias(program_.ops()[op]);
        }
      }
      done(op);
    }
  }

  void emit_group() {
    const std::int64_t elements = program_.ops()[*ready_grouped_.begin()].result_type().elements();
    ElementwiseGroup group(elements, *settings_.kernels);
    std::vector<bool> member(program_.ops().size());
    std::vector<std::uint32_t> aliases;
    for (bool grew = true; grew;) {
      grew = false;
      for (const std::uint32_t candidate : ready_grouped_) {
        const sdk::OpView& op = program_.ops()[candidate];
        if (op.result_type().elements() != elements || !group.accepts(operands(op))) continue;
        add_to(group, op);
        member[candidate] = true;
        ready_grouped_.erase(candidate);
        done(candidate);
        drain_free(&aliases);
        grew = true;
        break;
      }
    }
    steps_.push_back(group.finish([&](std::uint32_t value) { return escapes(value, member); }));
    for (const std::uint32_t alias : aliases) emit_alias(program_.ops()[alias]);
  }

  bool escapes(std::uint32_t value, const std::vector<bool>& member) const {
    if (is_output_[value]) return true;
    for (const std::uint32_t reader : readers_[value]) {
      if (member[reader]) continue;
      if (!is_free(reader)) return true;
      // A layout over this value: its readers read this value. Those that are members read element by element.
      if (escapes(program_.ops()[reader].result(), member)) return true;
    }
    return false;
  }

  void copy_constants(Routine& routine) const {
    const std::span<const std::byte> bytes = program_.constants();
    const std::size_t size = (bytes.size() + 63) / 64 * 64;
    routine.constant_bytes += size;
    if (size == 0) return;
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(64, size));
    if (memory == nullptr) throw std::bad_alloc();
    std::memcpy(memory, bytes.data(), bytes.size());
    routine.constants =
        std::shared_ptr<const std::byte>(memory, [](const std::byte* p) { std::free(const_cast<std::byte*>(p)); });
  }

  const sdk::ProgramView& program_;
  const CompileSettings& settings_;
  const bool op_by_op_;

  std::vector<std::vector<std::uint32_t>> readers_;  // by value: ops, once per operand
  std::vector<bool> is_output_;                      // by value
  std::vector<std::uint32_t> producer_;              // by value: op, or THRT_NONE
  std::vector<std::uint32_t> roots_;                 // by value
  std::vector<Layout> layouts_;                      // by value: over its root
  std::vector<Role> roles_;                          // by op
  std::vector<Operand> sources_;                     // by op: of copies

  std::vector<std::uint32_t> waits_for_;  // by op: operands that are not there yet
  std::set<std::uint32_t> ready_other_, ready_grouped_;
  std::vector<std::uint32_t> free_;
  std::vector<Step> steps_;
};

}  // namespace

std::vector<Task> Routine::bind(std::span<std::byte* const> slots, std::byte* workspace) const {
  const Addresses addresses(plan, slots, workspace, constants.get());
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!steps[i].bind) continue;
    if (Task task = steps[i].bind(addresses, addresses.scratch(i))) tasks.push_back(std::move(task));
  }
  for (const sdk::PlanCopy& copy : plan.final_copies) {
    std::byte* to = addresses.of(copy.to);
    const std::byte* from = addresses.of(copy.from);
    if (copy.bytes > 0 && to != from)
      tasks.emplace_back([to, from, bytes = copy.bytes] { std::memcpy(to, from, bytes); });
  }
  return tasks;
}

Routine compile_routine(const sdk::ProgramView& program, const CompileSettings& settings) {
  return Lowering(program, settings).run();
}

}  // namespace thrt::cpu
