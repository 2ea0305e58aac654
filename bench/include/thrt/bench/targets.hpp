// Where the groups run: backends found as `thrust` finds them, opened with a precision and a number of threads.
#pragma once

#include <thrt/runtime/context.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace thrt::bench {

struct TargetRequest {
  std::vector<std::string> backends;    // as --backend takes them; empty: every one that is found
  std::vector<std::string> plugins;     // --plugin
  std::vector<std::string> precisions;  // "f32", "bf16"; empty: f32
  std::int64_t threads = 1;             // of each backend
};

struct Target {
  std::string label;  // "cpu", "cpu-bf16"
  bool is_f32 = true;
  std::string device;  // the device's name
  std::string plugin;  // the file
  Context context;
};

struct Targets {
  std::vector<Target> targets;
  std::vector<std::string> left_out;  // backends and precisions that are not there, with the reason, one line each
};

// Throws Error for a backend or precision that was named and is not there, and when nothing is left. Without names the
// reference backend is left out, for it is made to be right and not fast, and so is a backend without a usable device.
Targets open_targets(const TargetRequest& request);

}  // namespace thrt::bench
