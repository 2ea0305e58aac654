// Behind interpreter.hpp. A program as a list of calls: InterpretedProgram decides which kernel runs on which memory,
// BoundProgram fills in the addresses, and its run() makes the calls one after another.
#pragma once

#include <thrt/sdk/interpreter.hpp>
#include <thrt/sdk/plan_memory.hpp>

#include <cstring>
#include <optional>
#include <span>
#include <utility>

namespace thrt::sdk {

namespace detail {

inline constexpr std::uint64_t kIterationBytes = 64;  // the counter of a repeat, in front of its body's workspace

inline std::size_t bytes_to_next_64(const std::byte* data) {
  return (64 - reinterpret_cast<std::uintptr_t>(data) % 64) % 64;
}

// One program or sub-program, independent of where its memory will be.
class InterpretedProgram {
 public:
  InterpretedProgram(const InterpreterPlugin& plugin, const ProgramView& program, bool check_finite)
      : check_finite_(check_finite) {
    for (std::uint32_t v = 0; v < program.value_count(); ++v) types_.push_back(program.type(v));
    std::vector<PlanStep> plan = plan_steps(program);
    for (const OpView& op : program.ops()) plan[op.index()].scratch_bytes = add_step(plugin, op);
    plan_ = plan_memory(program, plan);
    const std::span<const std::byte> constants = program.constants();
    if (!constants.empty()) {
      constants_.resize(constants.size() + 64);
      std::memcpy(constants_.data() + bytes_to_next_64(constants_.data()), constants.data(), constants.size());
    }
  }

  std::uint64_t workspace_bytes() const { return plan_.workspace_bytes; }

  std::uint64_t constant_bytes() const {  // sub-programs included
    std::uint64_t bytes = constants_.size();
    for (const Step& step : steps_) bytes += step.body != nullptr ? step.body->constant_bytes() : 0;
    return bytes;
  }

  std::uint32_t step_count() const {  // sub-programs included
    std::uint32_t count = 0;
    for (const Step& step : steps_) {
      count += step.kernel != nullptr ? 1 : 0;
      count += step.body != nullptr ? step.body->step_count() : 0;
    }
    return count;
  }

 private:
  friend class BoundProgram;

  struct Step {
    ir::OpKind kind;
    std::uint32_t flat_index;
    Kernel kernel = nullptr;  // null: constant, reshape, repeat
    std::vector<std::uint32_t> operands;
    std::vector<std::uint32_t> results;
    std::vector<std::int64_t> attributes;
    std::unique_ptr<InterpretedProgram> body;  // of a repeat
  };

  // Returns the scratch memory that the step needs.
  std::uint64_t add_step(const InterpreterPlugin& plugin, const OpView& op) {
    Step& step = steps_.emplace_back();
    step.kind = op.kind();
    step.flat_index = op.flat_index();
    step.operands.assign(op.operands().begin(), op.operands().end());
    for (std::uint32_t r = 0; r < op.result_count(); ++r) step.results.push_back(op.result(r));
    step.attributes.assign(op.attributes().begin(), op.attributes().end());
    if (step.kind == ir::OpKind::REPEAT) {
      step.body = std::make_unique<InterpretedProgram>(plugin, op.body(), check_finite_);
      return kIterationBytes + step.body->workspace_bytes();
    }
    if (!needs_kernel(step.kind)) return 0;
    const KernelChoice choice = plugin.find(op);
    if (choice.kernel() == nullptr) {
      throw Error(THRT_INTERNAL, std::string(op.name()) + ": find() gave no kernel for an op that it did not refuse")
          .at_op(op.flat_index());
    }
    step.kernel = choice.kernel();
    return choice.scratch_bytes();
  }

  std::vector<ir::Type> types_;  // by value
  std::vector<Step> steps_;
  MemoryPlan plan_;
  std::vector<std::byte> constants_;  // with room to start at a multiple of 64
  bool check_finite_;
};

// The same with addresses.
class BoundProgram final : public HostRun {
 public:
  BoundProgram(const InterpretedProgram& program, std::span<std::byte* const> slots, std::byte* workspace)
      : program_(program) {
    const auto address = [&](const Placement& placement) { return address_of(placement, slots, workspace); };
    const auto tensor = [&](std::uint32_t value) -> Tensor {
      const ir::Type& type = program.types_[value];
      return {type, address(program.plan_.values[value]), type.elements()};
    };
    for (std::size_t i = 0; i < program.steps_.size(); ++i) {
      const InterpretedProgram::Step& compiled = program.steps_[i];
      Step& step = steps_.emplace_back();
      step.compiled = &compiled;
      for (const std::uint32_t value : compiled.operands) step.call.operands.push_back(tensor(value));
      for (const std::uint32_t value : compiled.results) step.call.results.push_back(tensor(value));
      step.call.attributes = compiled.attributes;
      step.call.scratch = workspace + program.plan_.scratch[i];
      if (compiled.body != nullptr) bind_body(step);
    }
    for (const PlanCopy& copy : program.plan_.final_copies) {
      final_copies_.push_back({address(copy.to), address(copy.from), static_cast<std::size_t>(copy.bytes)});
    }
  }

  void run() override {
    for (const Step& step : steps_) {
      if (step.body != nullptr) {
        run_repeat(step);
      } else if (step.compiled->kernel != nullptr) {
        step.compiled->kernel(step.call);
      }
      if (program_.check_finite_) check_finite(step);
    }
    for (const Copy& copy : final_copies_) std::memcpy(copy.to, copy.from, copy.bytes);
  }

 private:
  struct Step {
    const InterpretedProgram::Step* compiled;
    Call call;
    std::unique_ptr<BoundProgram> body;
    std::int32_t* iteration = nullptr;  // the memory of the body's first slot
  };
  struct Copy {
    std::byte* to;
    const std::byte* from;
    std::size_t bytes;
  };

  std::byte* address_of(const Placement& placement, std::span<std::byte* const> slots, std::byte* workspace) const {
    switch (placement.where) {
      case Placement::Where::kSlot:
        return slots[placement.slot];
      case Placement::Where::kWorkspace:
        return workspace + placement.offset;
      case Placement::Where::kConstant: {  // nothing writes there
        const std::byte* base = program_.constants_.data();
        return const_cast<std::byte*>(base + (base != nullptr ? bytes_to_next_64(base) : 0) + placement.offset);
      }
      case Placement::Where::kNowhere:
        break;
    }
    return nullptr;
  }

  // The body's state lives where the results do; what stays is read where it is.
  static void bind_body(Step& step) {
    step.iteration = reinterpret_cast<std::int32_t*>(step.call.scratch);
    std::vector<std::byte*> slots = {step.call.scratch};
    for (std::size_t k = 0; k < step.call.operands.size(); ++k) {
      slots.push_back((k < step.call.results.size() ? step.call.results : step.call.operands)[k].data);
    }
    step.body = std::make_unique<BoundProgram>(*step.compiled->body, slots, step.call.scratch + kIterationBytes);
  }

  static void run_repeat(const Step& step) {
    for (std::size_t c = 0; c < step.call.results.size(); ++c) {
      const Tensor& from = step.call.operands[c];
      const Tensor& to = step.call.results[c];
      if (to.data != from.data) copy_elements(to, 0, from, 0, to.count);
    }
    const std::int64_t trips = step.call.attributes[0];
    for (std::int64_t i = 0; i < trips; ++i) {
      *step.iteration = static_cast<std::int32_t>(i);
      step.body->run();
    }
  }

  static void check_finite(const Step& step) {
    for (std::size_t r = 0; r < step.call.results.size(); ++r) {
      const Tensor& result = step.call.results[r];
      require_finite(result.type, result.data, step.compiled->flat_index, ir::op_info(step.compiled->kind).name,
                     step.compiled->results[r]);
    }
  }

  const InterpretedProgram& program_;
  std::vector<Step> steps_;
  std::vector<Copy> final_copies_;
};

class InterpreterExecutable final : public HostExecutable {
 public:
  InterpreterExecutable(const InterpreterPlugin& plugin, const ProgramView& program, bool check_finite)
      : program_(plugin, program, check_finite) {}

  std::uint64_t workspace_bytes() const override { return program_.workspace_bytes(); }
  std::uint64_t constant_bytes() const override { return program_.constant_bytes(); }
  void info(thrt_executable_info& info) const override {
    info.steps = program_.step_count();
    info.launches = 1;
    set_text(info.kind, "interpreter");
  }
  std::unique_ptr<HostRun> prepare(std::span<std::byte* const> slots, std::byte* workspace) override {
    return std::make_unique<BoundProgram>(program_, slots, workspace);
  }

 private:
  InterpretedProgram program_;
};

class InterpreterDevice final : public HostDevice {
 public:
  explicit InterpreterDevice(const InterpreterPlugin& plugin)
      : plugin_(plugin), dtypes_(plugin.describe().storage_dtypes) {}

  std::optional<std::string> refuse(const OpView& op) const override {
    const auto refusal = [&](const std::string& reason) { return std::string(op.name()) + ": " + reason; };
    std::vector<ir::DType> used;
    for (std::size_t i = 0; i < op.operands().size(); ++i) used.push_back(op.operand_type(i).dtype);
    for (std::size_t i = 0; i < op.result_count(); ++i) used.push_back(op.result_type(i).dtype);
    for (const ir::DType dtype : used) {
      if ((dtypes_ & ir::dtype_bit(dtype)) == 0)
        return refusal(ir::dtype_name(dtype) + std::string(" is not done here"));
    }
    if (!needs_kernel(op.kind())) return std::nullopt;
    const KernelChoice choice = plugin_.find(op);
    if (choice.kernel() != nullptr) return std::nullopt;
    return refusal(choice.refusal().empty() ? "is not done here" : choice.refusal());
  }

  // It always runs op by op, so THRT_COMPILE_DEBUG changes nothing.
  std::unique_ptr<HostExecutable> compile(const ProgramView& program, std::uint32_t flags) override {
    return std::make_unique<InterpreterExecutable>(plugin_, program, (flags & THRT_COMPILE_CHECK_FINITE) != 0);
  }

 private:
  const InterpreterPlugin& plugin_;  // outlives its contexts
  std::uint32_t dtypes_;
};

}  // namespace detail

inline std::vector<thrt_device_info> InterpreterPlugin::devices() {
  return {describe()};
}

inline std::unique_ptr<HostDevice> InterpreterPlugin::open_device(const thrt_context_options&) {
  return std::make_unique<detail::InterpreterDevice>(*this);
}

inline thrt_device_info describe_processor(std::string_view name, std::initializer_list<ir::DType> dtypes) {
  const HostMemory memory = host_memory();
  thrt_device_info info{};
  info.kind = THRT_DEVICE_CPU;
  info.available = 1;
  info.compute_units = 1;
  info.memory_total = memory.total;
  info.memory_free = memory.available;
  info.max_buffer_bytes = memory.total;
  for (const ir::DType dtype : dtypes) info.storage_dtypes |= ir::dtype_bit(dtype);
  info.precisions = 1u << THRT_PRECISION_F32;
  info.subgroup_size = 1;
  set_text(info.name, name);
  set_text(info.driver, "interpreter");
  set_text(info.architecture, "any");
  return info;
}

}  // namespace thrt::sdk
