// A program with its memory: a list of commands whose arguments are set.
#pragma once

#include "compile.hpp"

#include <memory>
#include <span>
#include <vector>

namespace thrt_opencl {

class Binding final : public thrt::sdk::Binding {
 public:
  Binding(Device& device, const KernelCache& cache, const Executable& executable,
          std::span<const thrt::sdk::SlotRegion> slots);
  ~Binding() override { device_.finish(); }

  // Queues one run. Throws NON_FINITE in a program compiled with THRT_COMPILE_CHECK_FINITE.
  void run() const { run(commands_); }

 private:
  struct Command {
    Handle<cl_kernel> kernel;  // a launch
    std::size_t global = 0, local = 0;

    Region from, to;  // or a copy of `bytes`
    std::uint64_t bytes = 0;

    std::vector<Command> body;  // or a loop
    std::int64_t trips = 0;
    Region iteration;  // where the loop's counter goes, if it is read

    const Program::Step* step = nullptr;  // for messages and checks
    std::vector<Region> results;          // of its results
  };

  std::vector<Command> bind(const KernelCache& cache, const Program& program, const std::vector<Region>& slots,
                            std::uint64_t workspace);
  Command launch(const KernelCache& cache, const thrt::emit::Kernel& kernel, const Program& program,
                 const std::vector<Region>& values, const Region& scratch) const;
  void run(const std::vector<Command>& commands) const;
  void run(const Command& command) const;
  void require_finite(const Command& command) const;

  Device& device_;
  const Executable& executable_;
  Memory workspace_;
  std::vector<Command> commands_;
};

}  // namespace thrt_opencl
