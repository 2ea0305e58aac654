// A program as kernels, copies and loops, with memory planned: what is known before buffers are.
#pragma once

#include "pipeline.hpp"
#include "schedule.hpp"

#include <thrt/emit/dialect.hpp>
#include <thrt/emit/plan.hpp>
#include <thrt/sdk/plan_memory.hpp>
#include <thrt/sdk/plugin.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace thrt::emit {
class Describer;
}

namespace thrt_vulkan {

// How programs are compiled for a device.
struct Target {
  Target(const Device& device, std::uint32_t flags);  // THRT_COMPILE_...

  thrt::emit::Dialect dialect;
  thrt::emit::Options options;
  std::uint64_t max_value_bytes;   // maxStorageBufferRange
  std::uint64_t max_shared_bytes;  // of a work-group
  std::uint64_t max_group_size;
  std::uint64_t max_groups;
  bool op_by_op;  // THRT_COMPILE_DEBUG, THRT_COMPILE_CHECK_FINITE
};

// The counter of a repeat that is no table's takes this much in front of its body's workspace.
inline constexpr std::uint64_t kCounterBytes = 64;

// A program or the body of a repeat.
struct Program {
  struct Repeat {
    std::unique_ptr<Program> body;
    std::int64_t trips = 0;
    bool reads_iteration = false;
    bool unrolled = false;                // recorded `trips` times
    std::vector<std::uint32_t> operands;  // carried and invariant
    std::vector<std::uint32_t> results;
  };
  struct Result {  // that a step leaves in memory, for THRT_COMPILE_CHECK_FINITE and for messages
    std::uint32_t value;
    std::uint32_t flat_index;
    std::string op;
    thrt::ir::Type type;
  };
  struct Step {
    thrt::emit::Step step;               // the texts of its kernels are gone once they are compiled
    std::vector<std::uint32_t> kernels;  // which kernel of the executable, in the order of step.kernels
    std::unique_ptr<Repeat> repeat;      // or null
    std::vector<Result> results;
    std::vector<std::string> descriptions;  // of its kernels
  };

  Program(const thrt::sdk::ProgramView& view, const Target& target);

  std::vector<thrt::ir::Type> types;  // by value
  std::uint32_t slot_count = 0;
  std::vector<Step> steps;
  thrt::sdk::MemoryPlan plan;
  std::vector<std::byte> constants;
  std::uint64_t first_constant = 0;  // where they begin in the executable's constant memory
  std::uint64_t commands = 0;        // of one run, unrolled; kEndless if a loop in it is not
  std::uint64_t depth = 0;           // about how many of them must follow one another
  static constexpr std::uint64_t kEndless = UINT64_MAX;

 private:
  void add_step(thrt::emit::Step planned, const thrt::sdk::ProgramView& view, const Target& target,
                thrt::emit::Describer& describer);
  void order_by_level();
};

// What the device refuses; for a repeat also in its body.
std::vector<thrt::sdk::Refusal> check_program(const Device& device, const thrt::sdk::ProgramView& program);

class Executable final : public thrt::sdk::Executable {
 public:
  Executable(Device& device, Kernels& kernels, const thrt::sdk::ProgramView& view, std::uint32_t flags);

  void info(thrt_executable_info& info) const override;
  std::string describe() const override;
  bool counters(thrt_program_counters& counters) const override;

  bool op_by_op() const { return target_.op_by_op; }
  bool check_finite() const { return (flags_ & THRT_COMPILE_CHECK_FINITE) != 0; }
  const Schedule& schedule() const { return schedule_; }
  const Pipeline& pipeline(std::uint32_t kernel) const { return *pipelines_[kernel]; }
  const Memory& constants() const { return *constants_; }
  std::uint64_t workspace_bytes() const { return program_.plan.workspace_bytes; }

 private:
  static void describe(const Program& program, const std::string& indent, std::string& text);
  // Numbers the distinct kernels and takes their texts.
  void collect(Program& program, std::map<std::string, std::uint32_t, std::less<>>& numbers,
               std::vector<KernelSource>& sources);
  void upload_constants(Device& device, std::uint64_t iterations, std::uint64_t stride);

  Target target_;
  std::uint32_t flags_;
  Program program_;
  std::vector<std::shared_ptr<const Pipeline>> pipelines_;
  Schedule schedule_;
  std::unique_ptr<Memory> constants_;
};

}  // namespace thrt_vulkan
