// A program on the device under test: compiled, bound to guarded buffers, filled, run and read back, straight through the
// function table.
#pragma once

#include "case.hpp"

#include <thrt/graph/program.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace thrt::conformance {

using Bytes = std::vector<std::byte>;

// The backend says that it does not do this: by check(), or as an option that it does not have.
class Refused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A call of the table failed; what() names the call and has the backend's words.
class CallFailed : public std::runtime_error {
 public:
  CallFailed(const std::string& what, const thrt_error& raw) : std::runtime_error(what), error(raw) {}
  thrt_error error;
};

// What came breaks the contract.
class Broken : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What `tried` returns, or what one of the three above says when it throws.
Outcome outcome_of(const std::function<Outcome()>& tried);

class DeviceContext {
 public:
  explicit DeviceContext(const Bench& bench);
  ~DeviceContext();
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;

  // Throws CallFailed when `status` is a failure.
  void require(thrt_status status, const std::string& call) const;
  void wait(thrt_ticket ticket) const;
  // A device that may flush denormals: any but a processor (ops.def).
  bool flushes_denormals() const;

  const thrt_backend_api& api;
  thrt_context* handle = nullptr;
  thrt_error* error() const { return &error_; }

 private:
  std::uint32_t device_kind_ = 0;
  mutable thrt_error error_{};
};

// Device memory with guard bytes before and behind.
class GuardedBuffer {
 public:
  GuardedBuffer(const DeviceContext& context, std::uint64_t bytes);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  // Nothing: bytes that no result has, for outputs.
  void write(std::span<const std::byte> content);
  // Throws Broken, with `name`, when a guard byte has changed.
  Bytes read(const std::string& name) const;
  thrt_slot_buffer place() const;

 private:
  const DeviceContext& context_;
  std::uint64_t bytes_;
  thrt_buffer* buffer_ = nullptr;
};

class DeviceProgram {
 public:
  // `shared`: a buffer for each slot, or null where a new one is to be made; may be empty. Throws Refused.
  DeviceProgram(const DeviceContext& context, Program program, std::uint32_t flags = 0,
                std::vector<std::shared_ptr<GuardedBuffer>> shared = {});

  const Program& program() const { return program_; }
  std::size_t slot(std::string_view name) const;
  std::shared_ptr<GuardedBuffer> buffer(std::size_t slot) const { return buffers_[slot]; }
  // Queues `count` runs with one call.
  thrt_ticket enqueue(std::uint32_t count = 1);
  // The same, and waits.
  void run(std::uint32_t count = 1) { context_.wait(enqueue(count)); }

 private:
  void refuse_what_check_refuses() const;
  void compile(std::uint32_t flags);

  // Frees what it was made with by `destroy`.
  template <typename Handle>
  struct Destroy {
    thrt_context* context;
    void (*destroy)(thrt_context*, Handle*);
    void operator()(Handle* handle) const { destroy(context, handle); }
  };
  template <typename Handle>
  using Owned = std::unique_ptr<Handle, Destroy<Handle>>;

  const DeviceContext& context_;
  Program program_;
  std::vector<std::shared_ptr<GuardedBuffer>> buffers_;
  // In this order, so that a binding goes before its executable and its buffers, also when the constructor throws.
  Owned<thrt_executable> executable_;
  Owned<thrt_binding> binding_;
};

}  // namespace thrt::conformance
