// Program -> steps: which values need no memory of their own, which elementwise ops run together, and in what order.
#include "claims.hpp"
#include "elementwise_group.hpp"
#include "step.hpp"
#include "strided.hpp"

#include <thrt/sdk/host_memory.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <set>
#include <string>
#include <string_view>
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
        facts_{program, {}, {}, {}, {}, {}},
        claim_of_(program.ops().size(), kUnclaimed),
        unused_(program.ops().size()),
        read_by_claim_(program.value_count()) {}

  Routine run() {
    find_readers();
    resolve_layouts();
    if (settings_.op_by_op()) {
      for (const sdk::OpView& op : program_.ops()) emit_alone(op);
    } else {
      take_claims();
      schedule();
    }
    Routine routine;
    routine.threads = settings_.op_by_op() ? 1 : settings_.threads;
    routine.always_spread = settings_.always_spread;
    for (std::uint32_t v = 0; v < program_.value_count(); ++v) {
      routine.value_bytes.push_back(program_.type(v).bytes());
    }
    for (Step& step : steps_) {
      if (step.cost <= 0) step.cost = guessed_cost(step);
    }
    if (routine.threads > 1) order_for_threads(steps_, program_.value_count(), routine.threads);
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
    kClaimed,
    kUnused,  // what only claims had use for, and none of them reads
    kOther,
  };
  static constexpr std::uint32_t kUnclaimed = UINT32_MAX;

  void find_readers() {
    facts_.readers.resize(program_.value_count());
    facts_.is_output.resize(program_.value_count());
    facts_.producer.assign(program_.value_count(), THRT_NONE);
    for (const sdk::OpView& op : program_.ops()) {
      for (const std::uint32_t operand : op.operands()) facts_.readers[operand].push_back(op.index());
      for (std::uint32_t i = 0; i < op.result_count(); ++i) facts_.producer[op.result(i)] = op.index();
    }
    for (std::uint32_t i = 0; i < program_.slot_count(); ++i) {
      const sdk::SlotView slot = program_.slot(i);
      if (slot.written()) facts_.is_output[slot.output_value] = true;
    }
  }

  void take_claims() {
    std::vector<Claim> proposed = find_convolution_claims(facts_, settings_);
    // The optimiser first: its update of all tensors would lose to the chain of one product, whose result is a gradient.
    for (const auto find : {find_optimiser_claims, find_matmul_claims}) {
      for (Claim& claim : find(facts_, settings_)) proposed.push_back(std::move(claim));
    }
    claims_ = accept_claims(facts_, std::move(proposed));
    for (std::uint32_t i = 0; i < claims_.size(); ++i) {
      for (const std::uint32_t op : claims_[i].ops) claim_of_[op] = i;
      for (const std::uint32_t value : claims_[i].step.memory.reads) read_by_claim_[value] = true;
    }
    if (claims_.empty()) return;
    find_unused();
    resolve_layouts();
  }

  void find_unused() {
    for (std::uint32_t i = op_count(); i-- > 0;) {
      if (claim_of_[i] != kUnclaimed) continue;
      unused_[i] = true;
      for (std::uint32_t k = 0; k < program_.ops()[i].result_count(); ++k) {
        const std::uint32_t value = program_.ops()[i].result(k);
        const std::vector<std::uint32_t>& readers = facts_.readers[value];
        const bool used = facts_.is_output[value] || read_by_claim_[value] ||
                          std::any_of(readers.begin(), readers.end(), [&](std::uint32_t reader) {
                            return claim_of_[reader] == kUnclaimed && !unused_[reader];
                          });
        if (used) unused_[i] = false;
      }
    }
  }

  // Whether a value must lie in memory in row-major order.
  bool needs_memory(std::uint32_t value) const {
    if (settings_.op_by_op() || facts_.is_output[value] || read_by_claim_[value]) return true;
    for (const std::uint32_t reader : facts_.readers[value]) {
      if (claim_of_[reader] != kUnclaimed || unused_[reader]) continue;  // a claim names what it reads
      const OpKind kind = program_.ops()[reader].kind();
      if (!is_elementwise(kind) && !is_movement(kind)) return true;
    }
    return false;
  }

  // In program order: a value's layout is over a root, a value that has memory.
  void resolve_layouts() {
    facts_.roots.resize(program_.value_count());
    facts_.layouts.resize(program_.value_count());
    for (std::uint32_t v = 0; v < program_.value_count(); ++v) {
      facts_.roots[v] = v;
      facts_.layouts[v] = Layout::dense(program_.type(v).shape);
    }
    roles_.assign(program_.ops().size(), Role::kOther);
    sources_.resize(program_.ops().size());
    for (const sdk::OpView& op : program_.ops()) roles_[op.index()] = role(op);
  }

  Role role(const sdk::OpView& op) {
    if (op.kind() == OpKind::CONSTANT) return Role::kConstant;
    if (claim_of_[op.index()] != kUnclaimed) return Role::kClaimed;
    if (unused_[op.index()]) return Role::kUnused;
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
        layout = facts_.layouts[from].broadcast(shape, op.attributes());
        break;
      case OpKind::TRANSPOSE:
        layout = facts_.layouts[from].transpose(op.attributes());
        break;
      default:
        layout = facts_.layouts[from].slice(op.attributes());
        break;
    }
    const std::uint32_t root = facts_.roots[from];
    if (layout.is_dense() && op.result_type().bytes() == program_.type(root).bytes()) {
      facts_.roots[to] = root;
      return Role::kAlias;
    }
    sources_[op.index()] = Operand{root, layout, op.result_type().dtype};
    if (needs_memory(to)) return Role::kCopy;
    facts_.roots[to] = root;
    facts_.layouts[to] = layout;
    return Role::kVirtual;
  }

  Operand operand(const sdk::OpView& op, std::size_t i) const {
    const std::uint32_t value = op.operand(i);
    return {facts_.roots[value], facts_.layouts[value], op.operand_type(i).dtype};
  }

  std::vector<Operand> operands(const sdk::OpView& op) const {
    if (roles_[op.index()] == Role::kCopy) return {sources_[op.index()]};
    std::vector<Operand> list;
    for (std::size_t i = 0; i < op.operands().size(); ++i) list.push_back(operand(op, i));
    return list;
  }

  bool is_grouped(std::uint32_t op) const { return roles_[op] == Role::kElementwise || roles_[op] == Role::kCopy; }
  bool is_free(std::uint32_t op) const {
    return roles_[op] == Role::kConstant || roles_[op] == Role::kAlias || roles_[op] == Role::kVirtual ||
           roles_[op] == Role::kUnused;
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
    step.memory.views.emplace_back(op.result(), facts_.roots[op.operand(0)]);
    steps_.push_back(std::move(step));
  }

  // "matmul add tanh : f32[64,64] (pi/fc1)": the ops in order, many of a kind as "add x12", then what the last one
  // makes, and where it comes from. Of a repeat also how often.
  std::string text_of(const std::vector<std::uint32_t>& ops) const {
    std::vector<std::pair<std::string_view, int>> kinds;
    std::uint32_t last = 0;
    for (const std::uint32_t op : ops) {
      const std::string_view name = program_.ops()[op].name();
      const auto known = std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) { return kind.first == name; });
      if (known == kinds.end()) {
        kinds.emplace_back(name, 1);
      } else {
        ++known->second;
      }
      last = std::max(last, op);
    }
    std::string text;
    for (const auto& [name, count] : kinds) {
      text += std::string(name) + (count > 1 ? " x" + std::to_string(count) : "") + " ";
    }
    const sdk::OpView& op = program_.ops()[last];
    if (op.kind() == OpKind::REPEAT) return text + std::to_string(op.attribute(0)) + " times:";
    text += ": " + op.result_type().str();
    if (!op.location().empty()) text += " (" + std::string(op.location()) + ")";
    return text;
  }

  void emit_other(Step step, const std::vector<std::uint32_t>& ops) {
    step.what = text_of(ops);
    for (std::uint32_t& value : step.memory.reads) value = facts_.roots[value];
    // Overwriting an operand is for operands that the step reads once, see lower.hpp.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> in_place;
    for (const auto& [result, from] : step.memory.in_place) {
      const std::vector<std::uint32_t>& reads = step.memory.reads;
      if (std::count(reads.begin(), reads.end(), facts_.roots[from]) == 1)
        in_place.emplace_back(result, facts_.roots[from]);
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
        ElementwiseGroup group(op.result_type().elements(), settings_);
        add_to(group, op);
        steps_.push_back(group.finish([](std::uint32_t) { return true; }));
        steps_.back().what = text_of({op.index()});
        break;
      }
      case Role::kOther:
        emit_other(compile_op(op, settings_), {op.index()});
        break;
      case Role::kClaimed:  // neither exists where ops are steps
      case Role::kUnused:
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

  // A claim is a node of its own, after the nodes of the ops.
  std::uint32_t op_count() const { return static_cast<std::uint32_t>(program_.ops().size()); }
  std::uint32_t node_of(std::uint32_t op) const {
    return claim_of_[op] == kUnclaimed ? op : op_count() + claim_of_[op];
  }

  // List scheduling: what is no elementwise op as soon as it can run, and elementwise ops as late as that allows, so
  // that many are ready together.
  void schedule() {
    waits_for_.assign(op_count() + claims_.size(), 0);
    claims_reading_.resize(program_.value_count());
    for (const sdk::OpView& op : program_.ops()) {
      if (claim_of_[op.index()] != kUnclaimed) continue;
      for (const std::uint32_t value : op.operands()) {
        if (waits_for(op.index(), value)) ++waits_for_[op.index()];
      }
    }
    for (std::uint32_t i = 0; i < claims_.size(); ++i) {
      for (const std::uint32_t value : claims_[i].step.memory.reads) {
        claims_reading_[value].push_back(i);
        if (waits_for(op_count() + i, value)) ++waits_for_[op_count() + i];
      }
    }
    for (std::uint32_t node = 0; node < waits_for_.size(); ++node) {
      const bool stands_for_itself = node >= op_count() || claim_of_[node] == kUnclaimed;
      if (stands_for_itself && waits_for_[node] == 0) make_ready(node);
    }
    drain_free();
    while (!ready_other_.empty() || !ready_grouped_.empty()) {
      if (!ready_other_.empty()) {
        const std::uint32_t next = ready_other_.begin()->second;
        ready_other_.erase(ready_other_.begin());
        if (next < op_count()) {
          emit_other(compile_op(program_.ops()[next], settings_), {next});
        } else {
          Claim& claim = claims_[next - op_count()];
          emit_other(std::move(claim.step), claim.ops);
        }
        done(next);
        drain_free();
      } else {
        emit_group();
      }
    }
  }

  bool waits_for(std::uint32_t node, std::uint32_t value) const {
    return facts_.producer[value] != THRT_NONE && node_of(facts_.producer[value]) != node;
  }

  void make_ready(std::uint32_t node) {
    if (node >= op_count()) {
      ready_other_.emplace(claims_[node - op_count()].ops.front(), node);
    } else if (is_free(node)) {
      free_.push_back(node);
    } else if (is_grouped(node)) {
      ready_grouped_.insert(node);
    } else {
      ready_other_.emplace(node, node);
    }
  }

  void done(std::uint32_t node) {
    if (node < op_count()) {
      op_done(node, node);
    } else {
      for (const std::uint32_t op : claims_[node - op_count()].ops) op_done(op, node);
    }
  }
  void op_done(std::uint32_t op, std::uint32_t node) {
    const auto one_less = [&](std::uint32_t reader) {
      if (reader != node && --waits_for_[reader] == 0) make_ready(reader);
    };
    for (std::uint32_t i = 0; i < program_.ops()[op].result_count(); ++i) {
      const std::uint32_t value = program_.ops()[op].result(i);
      for (const std::uint32_t reader : facts_.readers[value]) {
        if (claim_of_[reader] == kUnclaimed) one_less(reader);
      }
      for (const std::uint32_t claim : claims_reading_[value]) one_less(op_count() + claim);
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
    ElementwiseGroup group(elements, settings_);
    std::vector<bool> member(program_.ops().size());
    std::vector<std::uint32_t> aliases, members;
    for (bool grew = true; grew;) {
      grew = false;
      for (const std::uint32_t candidate : ready_grouped_) {
        const sdk::OpView& op = program_.ops()[candidate];
        if (op.result_type().elements() != elements || !group.accepts(operands(op))) continue;
        add_to(group, op);
        member[candidate] = true;
        members.push_back(candidate);
        ready_grouped_.erase(candidate);
        done(candidate);
        drain_free(&aliases);
        grew = true;
        break;
      }
    }
    steps_.push_back(group.finish([&](std::uint32_t value) { return escapes(value, member); }));
    steps_.back().what = text_of(members);
    for (const std::uint32_t alias : aliases) emit_alias(program_.ops()[alias]);
  }

  bool escapes(std::uint32_t value, const std::vector<bool>& member) const {
    if (facts_.is_output[value] || read_by_claim_[value]) return true;
    for (const std::uint32_t reader : facts_.readers[value]) {
      if (member[reader] || claim_of_[reader] != kUnclaimed) continue;
      if (!is_free(reader)) return true;
      // A layout over this value: its readers read this value. Those that are members read element by element.
      if (escapes(program_.ops()[reader].result(), member)) return true;
    }
    return false;
  }

  // Memory at 10 bytes a nanosecond, and a call.
  double guessed_cost(const Step& step) const {
    double bytes = 0;
    for (const std::uint32_t value : step.memory.reads) bytes += static_cast<double>(program_.type(value).bytes());
    for (const std::uint32_t value : step.memory.writes) bytes += static_cast<double>(program_.type(value).bytes());
    return step.bind ? 50 + bytes / 10 : 0;
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
  ProgramFacts facts_;
  std::vector<Claim> claims_;
  std::vector<std::uint32_t> claim_of_;  // by op, or kUnclaimed
  std::vector<bool> unused_;             // by op
  std::vector<bool> read_by_claim_;      // by value
  std::vector<Role> roles_;              // by op
  std::vector<Operand> sources_;         // by op: of copies

  std::vector<std::uint32_t> waits_for_;                    // by node: operands that are not there yet
  std::vector<std::vector<std::uint32_t>> claims_reading_;  // by value
  std::set<std::uint32_t> ready_grouped_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> ready_other_;  // {the first op, node}
  std::vector<std::uint32_t> free_;
  std::vector<Step> steps_;
};

}  // namespace

Routine compile_routine(const sdk::ProgramView& program, const CompileSettings& settings) {
  return Lowering(program, settings).run();
}

}  // namespace thrt::cpu
