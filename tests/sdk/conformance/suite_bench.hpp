// The bench of the suite's own tests: a plugin of the build tree, and the reference to compare with.
#pragma once

#include "case.hpp"

#include <memory>
#include <string>

namespace thrt::conformance::test {

inline std::shared_ptr<LoadedPlugin> load(const std::string& file) {
  return std::make_shared<LoadedPlugin>(THRT_BUILD_DIR + ("/" + file));
}

inline const std::shared_ptr<LoadedPlugin>& reference() {
  static const std::shared_ptr<LoadedPlugin> plugin = load("lib/thrust/plugins/libthrust_backend_reference.so");
  return plugin;
}

inline Bench bench_of(const std::string& file) {
  return {load(file), reference(), 0};
}

}  // namespace thrt::conformance::test
