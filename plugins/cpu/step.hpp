// What a program becomes: steps that know their shapes and kernels at compile time, get their addresses at bind time,
// and then are closures without arguments that allocate nothing.
//
// A step may come in parts, which the threads of the context share. How many there are is settled at compile time, from
// CompileSettings::threads and from what the kernel at hand needs to gain by it, so that results depend on the number
// of threads only where a sum is split, and are the same bits for the same number.
#pragma once

#include "kernels/kernels.hpp"

#include <thrt/sdk/plan_memory.hpp>
#include <thrt/sdk/program.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace thrt::cpu {

using Task = std::function<void()>;

// What a step has to do in one binding. Each part runs on one thread and is independent of the others: they may run at
// once, in any order, on any thread. The step is complete when all parts and then `finish` have run.
struct Work {
  std::vector<Task> parts;
  Task finish;  // may be null

  // The same work another way, for threads that all run at once and wait for each other (a loop whose body is spread
  // over them), one task each; `together_cost` is from start to end, in nanoseconds. May be empty.
  std::vector<Task> together;
  double together_cost = 0;

  Work() = default;
  // One part, or nothing to do. Not explicit, so that a step of one part can return its closure.
  Work(Task task) {
    if (task) parts.push_back(std::move(task));
  }
  explicit Work(std::vector<Task> all, Task last = nullptr) : parts(std::move(all)), finish(std::move(last)) {}
};

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
  std::function<Work(const Addresses& addresses, std::byte* scratch)> bind;
  sdk::PlanStep memory;
  // How many parts `bind` returns; their scratch is the step's, divided among them by the step.
  std::uint32_t parts = 1;
  // Of all parts and `finish`, on one thread, in nanoseconds; 0: guessed from the bytes it touches. An estimate for the
  // schedule: no result depends on it.
  double cost = 0;
  std::uint32_t kernels = 1;         // how many this counts for in thrt_executable_info.steps
  std::uint64_t constant_bytes = 0;  // of a sub-program
  std::string what;                  // for a person: "matmul add tanh : f32[64,64] (pi/fc1)"
  std::string inside;                // what a sub-program became

  void reads(std::uint32_t value) { memory.reads.push_back(value); }
  void writes(std::uint32_t value) { memory.writes.push_back(value); }
};

class Lanes;

// A routine with addresses.
struct BoundRoutine {
  std::vector<Task> sequence;  // in the order for one thread
  double sequence_cost = 0;    // ns, estimated

  // The same for several threads, where that is expected to be faster; else null.
  std::shared_ptr<Lanes> lanes;
  std::shared_ptr<const std::vector<Task>> together;  // what only `lanes` runs
  double lanes_cost = 0;

  void run_alone() const {
    for (const Task& task : sequence) task();
  }
};

// A compiled (sub-)program. Movable; does not refer to the program it came from.
struct Routine {
  std::vector<Step> steps;
  sdk::MemoryPlan plan;
  std::vector<std::uint64_t> value_bytes;
  std::shared_ptr<const std::byte> constants;  // 64-byte aligned
  std::uint64_t constant_bytes = 0;            // of sub-programs too
  std::uint32_t kernel_count = 0;
  int threads = 1;
  bool always_spread = false;

  double cost() const;
  std::string describe() const;  // a line a step, in the order for one thread

  // `this` must outlive the result. `first`, if not null, runs before all else and writes slot 0.
  BoundRoutine bind(std::span<std::byte* const> slots, std::byte* workspace, const Task& first = nullptr) const;
};

// Puts steps in the order in which they begin on several threads if memory is no obstacle, and notes which run beside each
// other, so that the memory plan makes it none.
void order_for_threads(std::vector<Step>& steps, std::uint32_t value_count, int threads);

struct CompileSettings {
  const Kernels* kernels;
  std::uint32_t flags;  // THRT_COMPILE_...
  int threads;
  std::uint32_t precision = THRT_PRECISION_F32;  // of matmul and convolution; sums are f32 in any case
  bool always_spread = false;                    // over the threads, also where that is not expected to pay: for tests

  bool op_by_op() const { return (flags & (THRT_COMPILE_DEBUG | THRT_COMPILE_CHECK_FINITE)) != 0; }
};

Routine compile_routine(const sdk::ProgramView& program, const CompileSettings& settings);

// One step for one op that is neither elementwise nor a view of its operand. Operands are dense.
Step compile_op(const sdk::OpView& op, const CompileSettings& settings);

}  // namespace thrt::cpu
