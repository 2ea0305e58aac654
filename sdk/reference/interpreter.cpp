#include "interpreter.hpp"

#include <cstring>

namespace thrt::reference {
namespace {

constexpr std::uint64_t kIterationBytes = 64;  // the counter of a repeat, in front of its body's workspace

Kernel find_kernel(OpKind kind) {
  switch (kind) {
#define THRT_OP(ID, ...)                          \
  case OpKind::ID:                                \
    if constexpr (OpKind::ID == OpKind::REPEAT) { \
      return nullptr;                             \
    } else {                                      \
      return &kernel<OpKind::ID>;                 \
    }
#include <thrt/ops.def>
#undef THRT_OP
  }
  return nullptr;
}

// What a kernel needs while it runs.
std::uint64_t scratch_bytes(const sdk::OpView& op) {
  switch (op.kind()) {
    case OpKind::SCATTER_ADD:  // a wide sum per element
      return static_cast<std::uint64_t>(op.result_type().elements()) * sizeof(double);
    case OpKind::ARGSORT: {  // a row of indices, twice
      const std::int64_t length = op.result_type().shape[static_cast<int>(op.attribute(0))];
      return static_cast<std::uint64_t>(length) * 2 * sizeof(std::int32_t);
    }
    default:
      return 0;
  }
}

std::size_t offset_to_64(const std::byte* data) {
  return (64 - reinterpret_cast<std::uintptr_t>(data) % 64) % 64;
}

}  // namespace

CompiledProgram::CompiledProgram(const sdk::ProgramView& program, bool check_finite) : check_finite_(check_finite) {
  for (std::uint32_t v = 0; v < program.value_count(); ++v) types_.push_back(program.type(v));
  std::vector<sdk::PlanStep> plan_steps = sdk::plan_steps(program);
  for (const sdk::OpView& op : program.ops()) {
    Step& step = steps_.emplace_back();
    step.kind = op.kind();
    step.flat_index = op.flat_index();
    const bool is_in_place = step.kind == OpKind::CONSTANT || step.kind == OpKind::RESHAPE;
    step.kernel = is_in_place ? nullptr : find_kernel(step.kind);
    step.operands.assign(op.operands().begin(), op.operands().end());
    for (std::uint32_t r = 0; r < op.result_count(); ++r) step.results.push_back(op.result(r));
    step.attributes.assign(op.attributes().begin(), op.attributes().end());
    std::uint64_t scratch = scratch_bytes(op);
    if (step.kind == OpKind::REPEAT) {
      step.body = std::make_unique<CompiledProgram>(op.body(), check_finite);
      scratch = kIterationBytes + step.body->workspace_bytes();
    }
    plan_steps[op.index()].scratch_bytes = scratch;
  }
  plan_ = sdk::plan_memory(program, plan_steps);
  const std::span<const std::byte> constants = program.constants();
  if (!constants.empty()) {
    constants_.resize(constants.size() + 64);
    std::memcpy(constants_.data() + offset_to_64(constants_.data()), constants.data(), constants.size());
  }
}

std::uint64_t CompiledProgram::constant_bytes() const {
  std::uint64_t bytes = constants_.size();
  for (const Step& step : steps_) bytes += step.body != nullptr ? step.body->constant_bytes() : 0;
  return bytes;
}

std::uint32_t CompiledProgram::step_count() const {
  std::uint32_t count = 0;
  for (const Step& step : steps_) {
    count += step.kernel != nullptr ? 1 : 0;
    count += step.body != nullptr ? step.body->step_count() : 0;
  }
  return count;
}

BoundProgram::BoundProgram(const CompiledProgram& program, std::span<std::byte* const> slots, std::byte* workspace)
    : program_(program) {
  const auto address = [&](const sdk::Placement& placement) -> std::byte* {
    switch (placement.where) {
      case sdk::Placement::Where::kSlot:
        return slots[placement.slot];
      case sdk::Placement::Where::kWorkspace:
        return workspace + placement.offset;
      case sdk::Placement::Where::kConstant: {  // nothing writes there
        const std::byte* base = program.constants_.data();
        return const_cast<std::byte*>(base + (base != nullptr ? offset_to_64(base) : 0) + placement.offset);
      }
      case sdk::Placement::Where::kNowhere:
        break;
    }
    return nullptr;
  };
  const auto tensor = [&](std::uint32_t value) -> Tensor {
    return {program.types_[value], address(program.plan_.values[value])};
  };
  for (std::size_t i = 0; i < program.steps_.size(); ++i) {
    const CompiledProgram::Step& compiled = program.steps_[i];
    Step& step = steps_.emplace_back();
    step.compiled = &compiled;
    for (const std::uint32_t value : compiled.operands) step.call.operands.push_back(tensor(value));
    for (const std::uint32_t value : compiled.results) step.call.results.push_back(tensor(value));
    step.call.attributes = compiled.attributes;
    step.call.scratch = workspace + program.plan_.scratch[i];
    if (compiled.body == nullptr) continue;
    // The body's state lives where the results do; what stays is read where it is.
    step.iteration = reinterpret_cast<std::int32_t*>(step.call.scratch);
    std::vector<std::byte*> body_slots = {step.call.scratch};
    for (std::size_t k = 0; k < step.call.operands.size(); ++k) {
      body_slots.push_back((k < step.call.results.size() ? step.call.results : step.call.operands)[k].data);
    }
    step.body = std::make_unique<BoundProgram>(*compiled.body, body_slots, step.call.scratch + kIterationBytes);
  }
  for (const sdk::PlanCopy& copy : program.plan_.final_copies) {
    final_copies_.push_back({address(copy.to), address(copy.from), static_cast<std::size_t>(copy.bytes)});
  }
}

void BoundProgram::run() const {
  for (const Step& step : steps_) {
    if (step.body != nullptr) {
      run_repeat(step);
    } else if (step.compiled->kernel != nullptr) {
      step.compiled->kernel(step.call);
    }
    if (!program_.check_finite_) continue;
    for (std::size_t r = 0; r < step.call.results.size(); ++r) {
      const Tensor& result = step.call.results[r];
      sdk::require_finite(result.type, result.data, step.compiled->flat_index, ir::op_info(step.compiled->kind).name,
                          step.compiled->results[r]);
    }
  }
  for (const Copy& copy : final_copies_) std::memcpy(copy.to, copy.from, copy.bytes);
}

void BoundProgram::run_repeat(const Step& step) const {
  for (std::size_t c = 0; c < step.call.results.size(); ++c) {
    const Tensor& from = step.call.operands[c];
    const Tensor& to = step.call.results[c];
    if (to.data != from.data) copy_elements(to, 0, from, 0, to.type.elements());
  }
  const std::int64_t trips = step.call.attributes[0];
  for (std::int64_t i = 0; i < trips; ++i) {
    *step.iteration = static_cast<std::int32_t>(i);
    step.body->run();
  }
}

}  // namespace thrt::reference
