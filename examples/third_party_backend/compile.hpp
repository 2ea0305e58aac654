// A program as kernels, copies and loops, and where its values live. Knows no buffer.
#pragma once

#include "buffer.hpp"

#include <thrt/emit/emit.hpp>
#include <thrt/sdk/plan_memory.hpp>
#include <thrt/sdk/plugin.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace thrt_opencl {

// What the driver made of kernels' texts. Programs share it: an actor and a critic have many kernels in common.
class KernelCache {
 public:
  explicit KernelCache(Device& device) : device_(device) {}
  // Compiles those that are new, all at once.
  void add(const std::vector<const thrt::emit::Kernel*>& kernels);
  // A kernel object of its own, for arguments of its own.
  Handle<cl_kernel> make(const std::string& text) const;

 private:
  struct Entry {
    std::shared_ptr<Handle<cl_program>> program;
    std::string name;
  };
  Device& device_;
  std::map<std::string, Entry> entries_;  // by text
};

// The counter of a repeat takes this much in front of its body's workspace.
inline constexpr std::uint64_t kIterationBytes = 64;

// A program or the body of a repeat.
struct Program {
  struct Repeat {
    std::unique_ptr<Program> body;
    std::int64_t trips = 0;
    bool reads_iteration = false;
    std::vector<std::uint32_t> operands;  // carried and invariant
    std::vector<std::uint32_t> results;
  };
  struct Result {  // that a step leaves in memory, for THRT_COMPILE_CHECK_FINITE
    std::uint32_t value;
    std::uint32_t flat_index;
    std::string op;
    thrt::ir::Type type;
  };
  struct Step {
    thrt::emit::Step step;
    std::unique_ptr<Repeat> repeat;  // or null
    std::vector<Result> results;
  };

  Program(const thrt::sdk::ProgramView& view, const thrt::emit::Options& options);
  void add_kernels(std::vector<const thrt::emit::Kernel*>& kernels) const;
  std::uint64_t launches() const;
  std::uint32_t steps_in_all() const;
  std::uint64_t constants_in_all() const;

  std::vector<thrt::ir::Type> types;
  std::vector<Step> steps;
  thrt::sdk::MemoryPlan plan;
  std::vector<std::byte> constants;
  std::unique_ptr<Memory> constant_memory;  // uploaded by Executable
};

class Executable final : public thrt::sdk::Executable {
 public:
  Executable(Device& device, KernelCache& cache, const thrt::sdk::ProgramView& view, std::uint32_t flags);
  void info(thrt_executable_info& info) const override;

  const Program& program() const { return program_; }
  std::uint32_t flags() const { return flags_; }

 private:
  void upload_constants(Device& device, Program& program);

  Program program_;
  std::uint32_t flags_;
};

}  // namespace thrt_opencl
