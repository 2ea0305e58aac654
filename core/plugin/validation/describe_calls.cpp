// thrt/describe.h through the validation layer.
#include "plugin/validation/context_call.hpp"

namespace thrt::validation {
namespace {

// body(call, context, executable) under the conditions of a [context] call.
template <typename Body>
thrt_status of_executable(const char* function, thrt_context* handle, thrt_executable* executable, thrt_error* error,
                          Body body) {
  return in_context(function, handle, error, [&](Call& call, Context& context) {
    const Found<Executable> object = find_alive(context.executables, executable, "executable");
    if (!object) return call.host_mistake(object.fault);
    return body(call, context, *object);
  });
}

thrt_status describe(thrt_context* handle, thrt_executable* executable, char* text, uint64_t capacity, uint64_t* needed,
                     thrt_error* error) {
  return of_executable("describe", handle, executable, error, [&](Call& call, Context& context, Executable& object) {
    if (needed == nullptr) return call.host_mistake("needed is null");
    if (text == nullptr && capacity > 0) return call.host_mistake("text is null");
    // One byte more than the plugin is told of, to see whether it stops.
    constexpr char kCanary = '\x5A';
    std::vector<char> written(capacity + size_t{1}, kCanary);
    uint64_t bytes = 0;
    const thrt_status status = call.forward(&context, {}, [&](thrt_error* answer) {
      return context.plugin->inner_describe->describe(context.inner, object.inner, written.data(), capacity, &bytes,
                                                      answer);
    });
    if (written.back() != kCanary) return call.plugin_mistake("writes past capacity");
    if (status != THRT_OK) return status;
    if (bytes < 2) return call.plugin_mistake("answered OK and describes nothing");
    if (bytes <= capacity) {
      const auto length = static_cast<size_t>(std::find(written.begin(), written.end(), '\0') - written.begin());
      if (length + 1 != bytes) return call.plugin_mistake("does not end the text where it says");
      std::copy_n(written.begin(), bytes, text);
    }
    *needed = bytes;
    return status;
  });
}

thrt_status counters(thrt_context* handle, thrt_executable* executable, thrt_program_counters* counters,
                     thrt_error* error) {
  return of_executable("counters", handle, executable, error, [&](Call& call, Context& context, Executable& object) {
    return fill_output(call, counters, "counters", [&](thrt_program_counters* filled) {
      const thrt_status status = call.forward(&context, {}, [&](thrt_error* answer) {
        return context.plugin->inner_describe->counters(context.inner, object.inner, filled, answer);
      });
      if (status == THRT_OK && filled->reserved != 0) return call.plugin_mistake("sets the counters' reserved field");
      return status;
    });
  });
}

}  // namespace

const thrt_describe_api kDescribeTable = {sizeof(thrt_describe_api), 0, describe, counters};

}  // namespace thrt::validation
