// What a run of a program costs a device, as JSON.
#pragma once

#include <thrt/describe.h>

#include <nlohmann/json.hpp>

#include <optional>

namespace thrt::cli {

// {"launches", "barriers", "bytes_read", "bytes_written"}, or null where a backend does not count.
inline nlohmann::ordered_json counters_json(const std::optional<thrt_program_counters>& counters) {
  if (!counters) return nullptr;
  return {{"launches", counters->launches},
          {"barriers", counters->barriers},
          {"bytes_read", counters->bytes_read},
          {"bytes_written", counters->bytes_written}};
}

}  // namespace thrt::cli
