// The classes that a backend's author derives from, one for each object of abi.h. What abi.h asks of every backend
// alike (argument and struct checks, verifying programs, lifetimes, turning exceptions into errors) is done before a
// call reaches them, by backend_table.hpp. Virtual functions may throw anything; sdk::Error says most.
#pragma once

#include <thrt/abi.h>
#include <thrt/describe.h>
#include <thrt/sdk/error.hpp>
#include <thrt/sdk/program.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace thrt::sdk {

class Buffer {
 public:
  virtual ~Buffer() = default;  // waits for queued work that uses it
};

// Owns what it needs of the program: the program is gone after compile().
class Executable {
 public:
  virtual ~Executable() = default;
  // Fills steps, launches, workspace_bytes, constant_bytes and kind; the rest is filled in for it.
  virtual void info(thrt_executable_info& info) const = 0;
  // What thrt/describe.h asks. A backend that does not answer overrides nothing.
  // A line for each kernel or step, in the order in which they run; "": no answer.
  virtual std::string describe() const { return ""; }
  // Fills launches, barriers, bytes_read and bytes_written of one run; false: no answer.
  virtual bool counters(thrt_program_counters& /*counters*/) const { return false; }
};

class Binding {
 public:
  virtual ~Binding() = default;  // waits for queued runs of it
};

// What a slot was bound to: buffer[offset .. offset + bytes).
struct SlotRegion {
  Buffer* buffer;
  std::uint64_t offset;
  std::uint64_t bytes;
};

// An op that the device refuses.
struct Refusal {
  std::uint32_t op_index;  // OpView::flat_index
  std::string reason;      // "conv2d: dilation 3 exceeds 2"
};

// One device, one in-order queue, one memory budget. Its buffers, executables and bindings are gone before its
// destructor runs. Calls come one at a time, but for wait().
class Context {
 public:
  virtual ~Context() = default;  // waits for queued work

  // Fills the bytes_* and runs fields.
  virtual void stats(thrt_stats& stats) = 0;

  // options.alignment is a power of two, at least 64.
  virtual std::unique_ptr<Buffer> create_buffer(const thrt_buffer_options& options) = 0;
  // The range lies inside the buffer. Both queue, and return the ticket that is reached when the copy is done.
  virtual thrt_ticket upload(Buffer& buffer, std::uint64_t offset, std::span<const std::byte> source) = 0;
  virtual thrt_ticket download(Buffer& buffer, std::uint64_t offset, std::span<std::byte> destination) = 0;

  // The program is verified. All refusals; for a repeat also those of its body.
  virtual std::vector<Refusal> check(const ProgramView& program) = 0;
  // The program is verified and nothing in it is refused. flags: THRT_COMPILE_...
  virtual std::unique_ptr<Executable> compile(const ProgramView& program, std::uint32_t flags) = 0;
  // One region per slot, checked for size, alignment and overlap. They and the executable outlive the binding.
  virtual std::unique_ptr<Binding> bind(Executable& executable, std::span<const SlotRegion> slots) = 0;
  // repeat >= 1. Allocates nothing and waits for nothing; failures found later are reported by wait().
  virtual thrt_ticket enqueue(Binding& binding, std::uint32_t repeat) = 0;
  // From any thread. False: not reached in time. Throws the failure of queued work; status DEVICE_LOST is remembered.
  virtual bool wait(thrt_ticket ticket, std::uint64_t timeout_ns) = 0;
};

// Also has: a constructor that takes `const PluginOptions&` and, if it offers extensions, `static const void*
// extension(std::string_view id)`.
class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual std::uint32_t device_count() = 0;                                                  // at most 64
  virtual void device_info(std::uint32_t index, thrt_device_info& info) = 0;                 // index < device_count()
  virtual std::unique_ptr<Context> create_context(const thrt_context_options& options) = 0;  // device_index is in range
  // What a context that asks for a precision the device does not list is told beyond that; "" for nothing.
  virtual std::string why_no_precision(std::uint32_t /*precision*/) { return ""; }
};

struct PluginOptions {
  std::string cache_dir;  // "": keep nothing
};

}  // namespace thrt::sdk
