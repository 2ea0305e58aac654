// A host that speaks the C table itself and may break its rules on purpose, so without the validation layer, which would
// answer in the backend's place. It checks what every call owes: on success an untouched error, on failure a filled-in one.
//
// It opens the plugin a second time in its process: a plugin is a handle, and one open handle forbids no other.
#pragma once

#include "case.hpp"

#include <thrt/graph/program.hpp>
#include <thrt/plugin/kernel_cache.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace thrt::conformance {

// Ends the case as failed.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Ends the case as not claimed: the backend answered UNSUPPORTED to what a case begins with.
class Declined : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <typename... Arguments>
void require(bool condition, fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  if (!condition) throw Failure(fmt::format(text, std::forward<Arguments>(arguments)...));
}

std::string status_text(thrt_status status);  // "INVALID_ARGUMENT"

// What a call is given as its error, and whether it left it as it must.
class Answer {
 public:
  Answer();
  thrt_error* slot() { return &error_; }
  const thrt_error& error() const { return error_; }

  // OK, and the error untouched. Throws Declined for UNSUPPORTED with a reason.
  void require_ok(thrt_status status, const char* what) const;
  // One of `allowed`, and the error filled in: the same code, a sentence without a newline, terminated strings.
  void require_refused(thrt_status status, const std::vector<thrt_status>& allowed, const char* what) const;

 private:
  thrt_error error_;
};

// A handle that is neither null nor an object: what an output holds before a call that must set it.
template <typename Handle>
Handle* poison() {
  alignas(16) static char place;
  return reinterpret_cast<Handle*>(&place);
}

// One program with its buffers, at the level of handles.
struct RawBinding {
  thrt_executable* executable = nullptr;
  std::vector<thrt_buffer*> buffers;  // one per slot
  thrt_binding* binding = nullptr;
};

// A context. Its methods throw Failure when a call that must succeed does not.
class RawContext {
 public:
  RawContext(const thrt_backend_api& api, thrt_plugin* plugin, std::uint32_t device, std::uint64_t budget = 0,
             std::uint32_t threads = 0);
  ~RawContext();
  RawContext(const RawContext&) = delete;
  RawContext& operator=(const RawContext&) = delete;

  const thrt_backend_api& api() const { return api_; }
  thrt_context* handle() const { return handle_; }

  thrt_stats stats() const;
  thrt_buffer* buffer(std::uint64_t bytes, std::uint32_t memory_kind = THRT_MEMORY_DEVICE) const;
  thrt_ticket upload(thrt_buffer* buffer, std::uint64_t offset, std::span<const std::byte> source) const;
  thrt_ticket download(thrt_buffer* buffer, std::uint64_t offset, std::span<std::byte> destination) const;
  void wait(thrt_ticket ticket) const;
  thrt_executable* compile(const thrt_program& program, std::uint32_t flags = 0,
                           thrt_executable_info* info = nullptr) const;
  thrt_binding* bind(thrt_executable* executable, std::span<const thrt_slot_buffer> slots) const;
  thrt_ticket enqueue(thrt_binding* binding, std::uint32_t repeat = 1) const;

  // Compiles, makes a buffer for each slot and binds.
  RawBinding prepare(const Program& program, std::uint32_t flags = 0) const;
  void destroy(const RawBinding& bound) const;  // binding, executable, buffers

  void write(thrt_buffer* buffer, std::span<const float> values) const;  // and waits
  std::vector<float> read(thrt_buffer* buffer, std::size_t count) const;

  // The status of calls that may fail; the answer has been checked against `allowed`.
  thrt_status refused_buffer(std::uint64_t bytes, const std::vector<thrt_status>& allowed, const char* what) const;
  void refused_bind(thrt_executable* executable, const thrt_slot_buffer* slots, std::uint32_t count,
                    const std::vector<thrt_status>& allowed, const char* what) const;

 private:
  thrt_backend_api api_;
  thrt_context* handle_ = nullptr;
};

// The plugin without the layer.
class RawHost {
 public:
  explicit RawHost(const Bench& bench)
      : plugin_(bench.plugin->file(), options_for(bench)), device_(bench.device_index) {}

  const thrt_backend_api& api() const { return plugin_.api(); }
  thrt_plugin* plugin() const { return plugin_.handle(); }
  std::uint32_t device() const { return device_; }
  const DeviceInfo& info() const { return plugin_.devices()[device_]; }
  std::uint32_t device_count() const { return static_cast<std::uint32_t>(plugin_.devices().size()); }
  RawContext context(std::uint64_t budget = 0) const { return {api(), plugin(), device_, budget}; }

 private:
  static LoadOptions options_for(const Bench& bench) {
    LoadOptions options;
    options.cache_dir = kernel_cache_of_this_process(bench.plugin->manifest().id);
    return options;
  }

  LoadedPlugin plugin_;
  std::uint32_t device_;
};

// y = 2 x + 1 over f32[n], by core ops.
Program line_program(std::int64_t n);
// Runs it once on 0, 1, 2, ... and checks every element: that a context still works.
void require_works(const RawContext& context);

// The case of one function that throws Failure or Declined.
Case contract_case(const std::string& name, std::function<void(const Bench&)> body, Level level = Level::kCore);

// The parts of contract_cases().
std::vector<Case> malformed_program_cases();
std::vector<Case> argument_cases();
std::vector<Case> struct_cases();
std::vector<Case> memory_cases();
std::vector<Case> contract_run_cases();
std::vector<Case> process_cases();
std::vector<Case> copy_cases();
std::vector<Case> finite_cases();
std::vector<Case> leak_cases();

}  // namespace thrt::conformance
