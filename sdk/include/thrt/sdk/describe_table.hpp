// The table of thrt/describe.h over Executable::describe() and Executable::counters(). Every plugin has it; where an
// executable does not answer, its functions say UNSUPPORTED.
#pragma once

#include <thrt/describe.h>
#include <thrt/sdk/handles.hpp>
#include <thrt/sdk/structs.hpp>

#include <cstdint>
#include <cstring>
#include <string>

namespace thrt::sdk::table {

inline thrt_status describe(thrt_context* context, thrt_executable* executable, char* text, std::uint64_t capacity,
                            std::uint64_t* needed, thrt_error* error) noexcept {
  return in_context(context, error, [&](ContextHandle& owner) {
    require_argument(needed != nullptr, "needed is null");
    require_argument(text != nullptr || capacity == 0, "text is null with a capacity above 0");
    const std::string all = owned(unwrap(executable), &owner, "executable").object->describe();
    if (all.empty()) throw Error(THRT_UNSUPPORTED, "this backend does not describe its programs");
    *needed = all.size() + 1;
    if (*needed <= capacity) std::memcpy(text, all.c_str(), all.size() + 1);
  });
}

inline thrt_status counters(thrt_context* context, thrt_executable* executable, thrt_program_counters* counters,
                            thrt_error* error) noexcept {
  return in_context(context, error, [&](ContextHandle& owner) {
    checked_struct_size(counters, "thrt_program_counters");
    thrt_program_counters filled{};
    if (!owned(unwrap(executable), &owner, "executable").object->counters(filled)) {
      throw Error(THRT_UNSUPPORTED, "this backend does not count what its programs do");
    }
    filled.reserved = 0;
    write_output(counters, filled, "thrt_program_counters");
  });
}

inline constexpr thrt_describe_api kDescribeApi = {sizeof(thrt_describe_api), 0, &describe, &counters};

}  // namespace thrt::sdk::table
