// The reference backend: one device, the host's processor, one thread, no fusion. Slow, and right.
#include "interpreter.hpp"

#include <thrt/sdk/host_memory.hpp>

#include <optional>

namespace thrt::reference {
namespace {

class Run final : public sdk::HostRun {
 public:
  Run(const CompiledProgram& program, std::span<std::byte* const> slots, std::byte* workspace)
      : bound_(program, slots, workspace) {}
  void run() override { bound_.run(); }

 private:
  BoundProgram bound_;
};

class Executable final : public sdk::HostExecutable {
 public:
  Executable(const sdk::ProgramView& program, bool check_finite) : program_(program, check_finite) {}

  std::uint64_t workspace_bytes() const override { return program_.workspace_bytes(); }
  std::uint64_t constant_bytes() const override { return program_.constant_bytes(); }
  void info(thrt_executable_info& info) const override {
    info.steps = program_.step_count();
    info.launches = 1;
    sdk::set_text(info.kind, "interpreter");
  }
  std::unique_ptr<sdk::HostRun> prepare(std::span<std::byte* const> slots, std::byte* workspace) override {
    return std::make_unique<Run>(program_, slots, workspace);
  }

 private:
  CompiledProgram program_;
};

class Device final : public sdk::HostDevice {
 public:
  // Everything that is well formed.
  std::optional<std::string> refuse(const sdk::OpView&) const override { return std::nullopt; }

  // It always runs op by op, so THRT_COMPILE_DEBUG changes nothing.
  std::unique_ptr<sdk::HostExecutable> compile(const sdk::ProgramView& program, std::uint32_t flags) override {
    return std::make_unique<Executable>(program, (flags & THRT_COMPILE_CHECK_FINITE) != 0);
  }
};

class Plugin final : public sdk::HostPlugin {
 public:
  explicit Plugin(const sdk::PluginOptions&) {}

  std::vector<thrt_device_info> devices() override {
    const sdk::HostMemory memory = sdk::host_memory();
    thrt_device_info info{};
    info.kind = THRT_DEVICE_CPU;
    info.available = 1;
    info.compute_units = 1;
    info.memory_total = memory.total;
    info.memory_free = memory.available;
    info.max_buffer_bytes = memory.total;
    for (const DType dtype : ir::kAllDTypes) info.storage_dtypes |= ir::dtype_bit(dtype);
    info.precisions = 1u << THRT_PRECISION_F32;
    info.subgroup_size = 1;
    sdk::set_text(info.name, "reference interpreter");
    sdk::set_text(info.driver, "plain loops in f64");
    sdk::set_text(info.architecture, "any");
    return {info};
  }

  std::unique_ptr<sdk::HostDevice> open_device(const thrt_context_options&) override {
    return std::make_unique<Device>();
  }
};

}  // namespace
}  // namespace thrt::reference

THRT_BACKEND(thrt::reference::Plugin, "reference", "0.1.0", "Thrust RL",
             "Every op in plain loops, computed in f64: what other backends are compared with");
