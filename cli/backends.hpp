// `thrust backends`: every plugin that was seen, what it offers or why it cannot be used, and where was looked.
#pragma once

#include <string>
#include <thrt/plugin/registry.hpp>
#include <vector>

namespace thrt::cli {

struct BackendsOptions {
  bool json = false;
  std::vector<std::string> plugins;  // --plugin FILE, in order
};

// Prints to standard output. Returns the exit code. Throws thrt::Error for a bad THRUST_PLUGIN_PATH or a missing file.
int run_backends(const BackendsOptions& options);

std::string backends_as_text(const Discovery& discovery);
std::string backends_as_json(const Discovery& discovery);  // one object, with a newline at its end

}  // namespace thrt::cli
