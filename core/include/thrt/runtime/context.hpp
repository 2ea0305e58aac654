// The ABI's objects as C++ values that free themselves: Context, Buffer, Executable, Binding.
//
// Every function throws Error with the backend's own words when the backend reports a failure. Objects keep what they
// depend on alive, so the order in which they are destroyed does not matter. One thread at a time per context.
#pragma once

#include <thrt/abi.h>
#include <thrt/describe.h>
#include <thrt/graph/program.hpp>
#include <thrt/plugin/loaded_plugin.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace thrt {

struct ContextOptions {
  std::uint32_t device_index = 0;
  std::uint64_t memory_budget = 0;  // bytes; 0: the device's memory
  std::uint32_t threads = 0;        // 0: the backend's choice
  std::uint32_t precision = THRT_PRECISION_F32;
};

using Ticket = thrt_ticket;

class Context {
 public:
  // `plugin` stays loaded as long as the context and all that was made from it.
  explicit Context(std::shared_ptr<LoadedPlugin> plugin, const ContextOptions& options = {});

  const std::string& backend_id() const;
  thrt_device_info device_info() const;
  thrt_stats stats() const;
  // Waits for ever; reports failures of queued work.
  void wait(Ticket ticket) const;
  // What the device refuses of a program, one line an op: "op 12 conv2d (pi/conv1): dilation 3 exceeds 2".
  std::vector<std::string> refusals(const Program& program) const;

 private:
  friend class Buffer;
  friend class Executable;
  friend class Binding;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

class Buffer {
 public:
  Buffer(const Context& context, std::uint64_t bytes, std::uint32_t memory_kind = THRT_MEMORY_DEVICE);
  std::uint64_t bytes() const;

  // Queue a copy; the host memory must live until the ticket is waited for.
  Ticket upload(std::span<const std::byte> source, std::uint64_t offset = 0);
  Ticket download(std::span<std::byte> destination, std::uint64_t offset = 0) const;
  // Copy and wait.
  void write(std::span<const std::byte> source);
  void read(std::span<std::byte> destination) const;

  template <typename T>
  void write(std::span<const T> source) {
    write(std::as_bytes(source));
  }
  template <typename T>
  std::vector<T> read() const {
    std::vector<T> result(static_cast<std::size_t>(bytes() / sizeof(T)));
    read(std::as_writable_bytes(std::span<T>(result)));
    return result;
  }

 private:
  friend class Binding;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

class Executable {
 public:
  // `flags`: THRT_COMPILE_...
  Executable(const Context& context, Program program, std::uint32_t flags = 0);
  const Program& program() const;
  const thrt_executable_info& info() const;
  // "ppo_update: backend=cpu ops=41/41 steps=30 launches=1 workspace=12.0 KiB compile=1.2 ms (closures)"
  std::string summary() const;
  // What it became, a line a kernel or step; nothing when the backend does not say (thrt/describe.h).
  std::optional<std::string> describe() const;
  // Of one run; nothing when the backend does not count.
  std::optional<thrt_program_counters> counters() const;

 private:
  friend class Binding;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

class Binding {
 public:
  // One buffer per slot, in the program's order.
  Binding(const Executable& executable, std::span<const Buffer> slots);
  // Queues `repeat` runs; allocates nothing.
  Ticket enqueue(std::uint32_t repeat = 1);
  // enqueue and wait.
  void run(std::uint32_t repeat = 1);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace thrt
