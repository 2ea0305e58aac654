// What a program becomes: steps that know their shapes and kernels at compile time, get their addresses at bind time,
// and then are closures without arguments that allocate nothing.
#pragma once

#include "kernels/kernels.hpp"

#include <thrt/sdk/plan_memory.hpp>
#include <thrt/sdk/program.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace thrt::cpu {

using Task = std::function<void()>;

// Where the values of one (sub-)program lie in one binding.
class Addresses {
 public:
  Addresses(const sdk::MemoryPlan& plan, std::span<std::byte* const> slots, std::byte* workspace,
            const std::byte* constants)
      : plan_(plan), slots_(slots), workspace_(workspace), constants_(constants) {}

  // Null for values that live nowhere. A constant's address is read only.
  std::byte* of(std::uint32_t value) const { return of(plan_.values[value]); }
  std::byte* of(const sdk::Placement& placement) const {
    switch (placement.where) {
      case sdk::Placement::Where::kSlot:
        return slots_[placement.slot] + placement.offset;
      case sdk::Placement::Where::kWorkspace:
        return workspace_ + placement.offset;
      case sdk::Placement::Where::kConstant:
        return const_cast<std::byte*>(constants_ + placement.offset);
      case sdk::Placement::Where::kNowhere:
        break;
    }
    return nullptr;
  }
  std::byte* scratch(std::size_t step) const { return workspace_ + plan_.scratch[step]; }

 private:
  const sdk::MemoryPlan& plan_;
  std::span<std::byte* const> slots_;
  std::byte* workspace_;
  const std::byte* constants_;
};

struct Step {
  // Given the addresses and the step's scratch. Null for steps that have nothing to do.
  std::function<Task(const Addresses& addresses, std::byte* scratch)> bind;
  sdk::PlanStep memory;
  std::uint32_t kernels = 1;         // how many this counts for in thrt_executable_info.steps
  std::uint64_t constant_bytes = 0;  // of a sub-program

  void reads(std::uint32_t value) { memory.reads.push_back(value); }
  void writes(std::uint32_t value) { memory.writes.push_back(value); }
};

// A compiled (sub-)program. Movable; does not refer to the program it came from.
struct Routine {
  std::vector<Step> steps;
  sdk::MemoryPlan plan;
  std::shared_ptr<const std::byte> constants;  // 64-byte aligned
  std::uint64_t constant_bytes = 0;            // of sub-programs too
  std::uint32_t kernel_count = 0;

  // The tasks of one run, in order. `this` must outlive them.
  std::vector<Task> bind(std::span<std::byte* const> slots, std::byte* workspace) const;
};

struct CompileSettings {
  const Kernels* kernels;
  std::uint32_t flags;  // THRT_COMPILE_...
  int threads;
};

Routine compile_routine(const sdk::ProgramView& program, const CompileSettings& settings);

// One step for one op that is neither elementwise nor a view of its operand. Operands are dense.
Step compile_op(const sdk::OpView& op, const CompileSettings& settings);

}  // namespace thrt::cpu
