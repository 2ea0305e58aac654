// A program as a list of calls: compile() decides which kernel runs on which memory, prepare() fills in the addresses, run()
// makes the calls one after another.
#pragma once

#include "kernel.hpp"

#include <thrt/sdk/host_memory.hpp>
#include <thrt/sdk/plan_memory.hpp>
#include <thrt/sdk/program.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace thrt::reference {

// One program or sub-program, independent of where its memory will be.
class CompiledProgram {
 public:
  CompiledProgram(const sdk::ProgramView& program, bool check_finite);

  std::uint64_t workspace_bytes() const { return plan_.workspace_bytes; }
  std::uint64_t constant_bytes() const;  // sub-programs included
  std::uint32_t step_count() const;      // sub-programs included

 private:
  friend class BoundProgram;

  struct Step {
    OpKind kind;
    std::uint32_t flat_index;
    Kernel kernel;  // null: nothing to do (constant, reshape)
    std::vector<std::uint32_t> operands;
    std::vector<std::uint32_t> results;
    std::vector<std::int64_t> attributes;
    std::unique_ptr<CompiledProgram> body;  // of a repeat
  };

  std::vector<Type> types_;  // by value
  std::vector<Step> steps_;
  sdk::MemoryPlan plan_;
  std::vector<std::byte> constants_;  // with room to start at a multiple of 64
  bool check_finite_;
};

// The same with addresses.
class BoundProgram {
 public:
  BoundProgram(const CompiledProgram& program, std::span<std::byte* const> slots, std::byte* workspace);
  void run() const;

 private:
  struct Step {
    const CompiledProgram::Step* compiled;
    Call call;
    std::unique_ptr<BoundProgram> body;
    std::int32_t* iteration = nullptr;  // the memory of the body's first slot
  };
  struct Copy {
    std::byte* to;
    const std::byte* from;
    std::size_t bytes;
  };

  void run_repeat(const Step& step) const;

  const CompiledProgram& program_;
  std::vector<Step> steps_;
  std::vector<Copy> final_copies_;
};

}  // namespace thrt::reference
