// Contexts, buffers and bindings for devices whose memory is the host's: processors. The author of such a backend
// derives from HostPlugin, HostDevice, HostExecutable and HostRun, and writes nothing else.
//
// Runs are synchronous: enqueue runs the program before it returns, and a failure of the run is kept for wait(), as
// abi.h says. A failure is reported once, by the first wait for its ticket or a later one.
#pragma once

#include <thrt/sdk/plugin.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace thrt::sdk {

// A program with all its pointers resolved: made once per binding, run once per launch.
class HostRun {
 public:
  virtual ~HostRun() = default;
  // Must not allocate. May throw (THRT_NON_FINITE with the op, say).
  virtual void run() = 0;
};

class HostExecutable {
 public:
  virtual ~HostExecutable() = default;
  virtual std::uint64_t workspace_bytes() const = 0;  // what each binding needs, 64-byte aligned
  virtual std::uint64_t constant_bytes() const = 0;   // what the executable itself holds
  // Fills steps, launches and kind.
  virtual void info(thrt_executable_info& info) const = 0;
  // As Executable::describe.
  virtual std::string describe() const { return ""; }
  // Called by bind: `slots` has one pointer per slot, 64-byte aligned. The pointers stay valid, and this executable
  // stays alive, as long as the result.
  virtual std::unique_ptr<HostRun> prepare(std::span<std::byte* const> slots, std::byte* workspace) = 0;
};

// One per context: holds what the context's programs share (threads, libraries' handles).
class HostDevice {
 public:
  virtual ~HostDevice() = default;
  // Why this device does not do the op, or nothing. Called for every op, those of sub-programs included.
  virtual std::optional<std::string> refuse(const OpView& op) const = 0;
  virtual std::unique_ptr<HostExecutable> compile(const ProgramView& program, std::uint32_t flags) = 0;
};

class HostPlugin : public Plugin {
 public:
  // All fields but struct_size. Read anew at each call, so memory_free may change.
  virtual std::vector<thrt_device_info> devices() = 0;
  // The device is available and has the asked precision and memory.
  virtual std::unique_ptr<HostDevice> open_device(const thrt_context_options& options) = 0;

  std::uint32_t device_count() final { return static_cast<std::uint32_t>(devices().size()); }
  void device_info(std::uint32_t index, thrt_device_info& info) final { info = devices()[index]; }
  inline std::unique_ptr<Context> create_context(const thrt_context_options& options) final;
};

// The machine's memory in bytes, now, from /proc/meminfo; 0 where it cannot be read.
struct HostMemory {
  std::uint64_t total = 0;
  std::uint64_t available = 0;
};
inline HostMemory host_memory();

// For THRT_COMPILE_CHECK_FINITE: throws THRT_NON_FINITE, naming op and element, when a float value has a NaN or an
// infinity. Other dtypes pass.
inline void require_finite(const ir::Type& type, const void* data, std::uint32_t flat_op_index,
                           std::string_view op_name, std::uint32_t value);

}  // namespace thrt::sdk

#include <thrt/sdk/host_memory_impl.hpp>
