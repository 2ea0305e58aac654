// What the handles of the ABI point at, and how a call with one of them begins: it is checked, and what is thrown inside
// becomes a status. For backend_table.hpp and the tables of extensions.
//
// Lifetimes: a binding keeps its executable and buffers alive, so a host that destroys in the wrong order does no harm;
// what is left is freed with its context, and contexts with their plugin.
#pragma once

#include <thrt/sdk/objects.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace thrt::sdk::table {

struct ContextHandle;

struct BufferHandle {
  ContextHandle* owner;
  std::uint64_t bytes;
  std::unique_ptr<Buffer> object;
};

struct SlotNeeds {
  std::string name;
  std::uint64_t bytes;
  bool written;
};

struct ExecutableHandle {
  ContextHandle* owner;
  std::vector<SlotNeeds> slots;
  std::unique_ptr<Executable> object;
};

// Members are destroyed from the last to the first: the binding goes before what it runs on.
struct BindingHandle {
  ContextHandle* owner;
  std::shared_ptr<ExecutableHandle> executable;
  std::vector<std::shared_ptr<BufferHandle>> buffers;
  std::unique_ptr<Binding> object;
};

template <typename Handle>
using HandleSet = std::unordered_map<const Handle*, std::shared_ptr<Handle>>;

struct PluginHandle;

struct ContextHandle {
  PluginHandle* owner;
  std::unique_ptr<Context> object;
  HandleSet<BufferHandle> buffers;
  HandleSet<ExecutableHandle> executables;
  HandleSet<BindingHandle> bindings;

  // DEVICE_LOST is sticky. `lost` is read without the lock on every call; the error is written once, under it.
  std::atomic<bool> lost{false};
  std::mutex lost_mutex;
  std::optional<Error> lost_error;

  ~ContextHandle() {
    bindings.clear();
    executables.clear();
    buffers.clear();
  }
};

struct PluginHandle {
  std::unique_ptr<Plugin> object;
  HandleSet<ContextHandle> contexts;
};

inline PluginHandle* unwrap(thrt_plugin* p) {
  return reinterpret_cast<PluginHandle*>(p);
}
inline ContextHandle* unwrap(thrt_context* p) {
  return reinterpret_cast<ContextHandle*>(p);
}
inline BufferHandle* unwrap(thrt_buffer* p) {
  return reinterpret_cast<BufferHandle*>(p);
}
inline ExecutableHandle* unwrap(thrt_executable* p) {
  return reinterpret_cast<ExecutableHandle*>(p);
}
inline BindingHandle* unwrap(thrt_binding* p) {
  return reinterpret_cast<BindingHandle*>(p);
}

template <typename Handle>
Handle& owned(Handle* handle, const ContextHandle* context, const char* what) {
  if (handle == nullptr) throw Error(THRT_INVALID_ARGUMENT, std::string(what) + " is null");
  if (handle->owner != context) {
    throw Error(THRT_INVALID_STATE, std::string(what) + " belongs to another context");
  }
  return *handle;
}

template <typename Object>
std::unique_ptr<Object> made(std::unique_ptr<Object> object, const char* what) {
  if (object == nullptr) throw Error(THRT_INTERNAL, std::string("the backend returned no ") + what);
  return object;
}

// `body(ContextHandle&)`, guarded; a lost device is remembered and answered again.
template <typename Body>
thrt_status in_context(thrt_context* context, thrt_error* error, Body&& body) noexcept {
  ContextHandle* handle = unwrap(context);
  if (handle == nullptr) return fill_error(error, THRT_INVALID_ARGUMENT, "context is null");
  const auto lost_again = [&] {
    const std::lock_guard<std::mutex> lock(handle->lost_mutex);
    throw Error(*handle->lost_error);
  };
  return guarded(error, [&] {
    if (handle->lost.load(std::memory_order_acquire)) lost_again();
    try {
      body(*handle);
    } catch (const Error& e) {
      if (e.status() == THRT_DEVICE_LOST) {
        const std::lock_guard<std::mutex> lock(handle->lost_mutex);
        if (!handle->lost_error) {
          handle->lost_error = e;
          handle->lost.store(true, std::memory_order_release);
        }
      }
      throw;
    }
  });
}

}  // namespace thrt::sdk::table
