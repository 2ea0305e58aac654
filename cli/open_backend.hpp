// From what --backend, --plugin and --validate say to a backend that is loaded.
#pragma once

#include <thrt/plugin/registry.hpp>
#include <thrt/rl/train/run_config.hpp>

#include <string>
#include <vector>

namespace thrt::cli {

struct PluginOptions {
  std::vector<std::string> files;  // --plugin, in order
  bool validate = false;
};

// Finds and loads config.backend. Throws Error when it is not there, or when its device lacks the precision.
SelectedBackend open_backend(const rl::RunConfig& config, const PluginOptions& options);

// With --validate: throws Error listing the rules of the ABI that were broken while it ran.
void report_violations(const SelectedBackend& backend);

}  // namespace thrt::cli
