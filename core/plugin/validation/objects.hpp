// What the validation layer's handles point at.
#pragma once

#include <thrt/abi.h>
#include <thrt/describe.h>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace thrt::validation {

struct Context;

struct Buffer {
  thrt_buffer* inner = nullptr;
  uint64_t bytes = 0;
  bool alive = true;
  uint32_t live_bindings = 0;
};

struct SlotShape {
  uint64_t bytes = 0;
  bool written = false;
};

struct Executable {
  thrt_executable* inner = nullptr;
  bool alive = true;
  uint32_t live_bindings = 0;
  uint64_t ops = 0;
  std::vector<SlotShape> slots;
};

struct Binding {
  thrt_binding* inner = nullptr;
  bool alive = true;
  Executable* executable = nullptr;
  std::vector<Buffer*> buffers;  // one per slot
};

struct Plugin {
  static constexpr uint64_t kMagic = 0x6C50'7472'6874'6C56;
  uint64_t magic = kMagic;
  thrt_backend_api inner_api{};
  const thrt_describe_api* inner_describe = nullptr;  // null: not offered
  thrt_plugin* inner = nullptr;
  std::function<void(const std::string&)> on_violation;
  std::atomic<bool> alive{true};
  std::atomic<bool> busy{false};  // a [plugin] call runs

  std::mutex mutex;  // guards what follows
  std::vector<std::unique_ptr<Context>> contexts;
  std::vector<std::string> violations;
  std::string pending;  // of a destroy call, for the next call that can answer
};

struct Context {
  static constexpr uint64_t kMagic = 0x7843'7472'6874'6C56;
  uint64_t magic = kMagic;
  Plugin* plugin = nullptr;
  thrt_context* inner = nullptr;
  std::atomic<bool> alive{true};
  std::atomic<bool> busy{false};         // a [context] call runs; it owns the maps below
  std::atomic<uint32_t> waiting{0};      // calls of wait, which is [any]
  std::atomic<uint64_t> last_ticket{0};  // the highest handed out
  std::atomic<bool> lost{false};         // a call answered THRT_DEVICE_LOST

  // By the handle the host has, which is the object's own address.
  std::unordered_map<void*, std::unique_ptr<Buffer>> buffers;
  std::unordered_map<void*, std::unique_ptr<Executable>> executables;
  std::unordered_map<void*, std::unique_ptr<Binding>> bindings;
};

// Null when the handle is null or not one of this layer's.
Plugin* plugin_of(thrt_plugin* handle);
Context* context_of(thrt_context* handle);

template <typename T>
uint32_t count_alive(const std::unordered_map<void*, std::unique_ptr<T>>& objects) {
  uint32_t count = 0;
  for (const auto& entry : objects) count += entry.second->alive ? 1u : 0u;
  return count;
}

// Enters one of the marks of abi.h; not entered when another call is inside.
class Mark {
 public:
  explicit Mark(std::atomic<bool>& busy) : busy_(busy), entered_(!busy.exchange(true)) {}
  ~Mark() {
    if (entered_) busy_ = false;
  }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  bool entered() const { return entered_; }

 private:
  std::atomic<bool>& busy_;
  bool entered_;
};

// The layer's table: each function checks, calls the inner one, checks again.
thrt_backend_api wrapped_table();
extern const thrt_describe_api kDescribeTable;  // for plugins whose inner_describe is not null
void fill_device_calls(thrt_backend_api& table);
void fill_memory_calls(thrt_backend_api& table);
void fill_program_calls(thrt_backend_api& table);

}  // namespace thrt::validation
