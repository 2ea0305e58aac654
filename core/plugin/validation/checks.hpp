// How a call through the validation layer is checked on both sides.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>

#include "plugin/process_state.hpp"
#include "plugin/validation/objects.hpp"

namespace thrt::validation {

// One call: where its mistakes are reported.
class Call {
 public:
  // `plugin` may be null when the handle was no good; `error` is the host's and may be null.
  Call(const char* function, Plugin* plugin, thrt_error* error) : function_(function), plugin_(plugin), error_(error) {}

  // Both record the rule, fill in the host's error and return the status to answer with.
  thrt_status host_mistake(const std::string& rule, thrt_status status = THRT_INVALID_ARGUMENT);
  thrt_status plugin_mistake(const std::string& rule);

  // The same for a call without a status: the next call that has one answers with it.
  void host_mistake_later(const std::string& rule);
  void plugin_mistake_later(const std::string& rule);

  // Something a destroy call left to report, as a status; THRT_OK when nothing.
  thrt_status take_pending();

  // Calls inner(&error) and checks what it answers: a known status; on failure a filled-in error, on success an
  // untouched one; no exception; the floating-point environment as before; a lost device stays lost. `ops`: of the
  // program concerned, when known.
  template <typename Inner>
  thrt_status forward(Context* context, std::optional<uint64_t> ops, Inner inner) {
    thrt_error answer{};
    const FloatingPointState before = FloatingPointState::now();
    thrt_status status = THRT_OK;
    try {
      status = inner(&answer);
    } catch (...) {
      return plugin_mistake("lets an exception out");
    }
    const std::string change = before.difference(FloatingPointState::now());
    if (!change.empty()) {
      before.restore();
      return plugin_mistake(fmt::format("changes the floating-point environment ({})", change));
    }
    return check_answer(context, status, answer, ops);
  }

  // The same for a function without a status.
  template <typename Inner>
  void forward_destroy(Inner inner) {
    try {
      inner();
    } catch (...) {
      plugin_mistake_later("lets an exception out");
    }
  }

 private:
  thrt_status check_answer(Context* context, thrt_status status, const thrt_error& answer, std::optional<uint64_t> ops);
  void record(const std::string& message);
  thrt_status report(thrt_status status, const std::string& message);

  const char* function_;
  Plugin* plugin_;
  thrt_error* error_;
};

// An output struct with bytes after it that must stay as they are.
template <typename T>
struct Guarded {
  static constexpr unsigned char kCanary = 0xA5;
  T value{};
  unsigned char after[256];

  Guarded() { std::fill(std::begin(after), std::end(after), kCanary); }
  bool intact() const {
    return std::all_of(std::begin(after), std::end(after), [](unsigned char b) { return b == kCanary; });
  }
};

// Calls fill(&value) with a guarded copy and hands it to the host when the plugin kept to its bounds.
template <typename T, typename Fill>
thrt_status fill_output(Call& call, T* out, const char* name, Fill fill) {
  if (out == nullptr) return call.host_mistake(fmt::format("{} is null", name));
  if (out->struct_size < sizeof(T))
    return call.host_mistake(fmt::format("{}'s struct_size is {}", name, out->struct_size));
  Guarded<T> guarded;
  guarded.value.struct_size = sizeof(T);
  const thrt_status status = fill(&guarded.value);
  if (!guarded.intact()) return call.plugin_mistake("writes past struct_size");
  if (guarded.value.struct_size != sizeof(T)) return call.plugin_mistake("changes struct_size");
  if (status == THRT_OK) {
    const uint32_t capacity = out->struct_size;
    *out = guarded.value;
    out->struct_size = capacity;
  }
  return status;
}

// An output handle: set to neither null nor an object before the call, so that one left alone is seen.
template <typename T>
class OutHandle {
 public:
  T** slot() { return &handle_; }
  T* get() const { return handle_; }

  // "" when it agrees with the status, else the rule that the plugin broke.
  std::string check(thrt_status status, const char* name) const {
    if (status == THRT_OK && (handle_ == nullptr || handle_ == poison())) {
      return fmt::format("answered OK and left the {} {}", name, handle_ == nullptr ? "null" : "as it was");
    }
    if (status != THRT_OK && handle_ != nullptr) return fmt::format("failed and did not set the {} to null", name);
    return {};
  }

 private:
  static T* poison() {
    alignas(64) static char nobody;  // an address that no object has
    return reinterpret_cast<T*>(&nobody);
  }
  T* handle_ = poison();
};

template <size_t N>
bool is_terminated(const char (&array)[N]) {
  return std::memchr(array, 0, N) != nullptr;
}

// Ops of the program with its sub-programs, numbered as abi.h says; nothing when the program is too malformed to count.
std::optional<uint64_t> count_ops(const thrt_program& program);
// Bytes and direction of each slot; nothing when the program is malformed.
std::optional<std::vector<SlotShape>> slot_shapes(const thrt_program& program);

}  // namespace thrt::validation
