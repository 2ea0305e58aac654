// A folder of plugin files that only the test's own search looks into.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thrt/error.hpp>
#include <thrt/plugin/registry.hpp>
#include <vector>

namespace thrt {

namespace fs = std::filesystem;

inline fs::path built_plugin(const std::string& id) {
  return fs::path(THRT_BUILD_DIR "/tests/plugins") / ("libthrust_backend_" + id + ".so");
}

inline std::vector<char> bytes_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class PluginFolder {
 public:
  PluginFolder() {
    std::string pattern = testing::TempDir() + "thrt_plugins_XXXXXX";
    path_ = fs::canonical(mkdtemp(pattern.data()));  // mode 0700
  }
  ~PluginFolder() { fs::remove_all(path_); }
  PluginFolder(const PluginFolder&) = delete;
  PluginFolder& operator=(const PluginFolder&) = delete;

  const fs::path& path() const { return path_; }
  fs::path file(const std::string& id) const { return path_ / ("libthrust_backend_" + id + ".so"); }

  // A copy of a plugin of tests/plugins, under another id when `as` is given.
  fs::path add(const std::string& id, const std::string& as = "") const {
    const fs::path copy = file(as.empty() ? id : as);
    fs::copy_file(built_plugin(id), copy);
    fs::permissions(copy, fs::perms::owner_all);
    return copy;
  }
  fs::path write(const std::string& id, const std::vector<char>& bytes) const {
    const fs::path made = file(id);
    std::ofstream(made, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    fs::permissions(made, fs::perms::owner_all);
    return made;
  }

  SearchOptions search() const { return {{}, {}, {path_}}; }

 private:
  fs::path path_;
};

inline Prober test_prober(std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
  return Prober(THRT_BUILD_DIR "/tests/thrt_probe_host", timeout);
}

// The reason why the one unusable file of `discovery` is unusable.
inline std::string only_reason(const Discovery& discovery) {
  return discovery.unusable.size() == 1 ? discovery.unusable[0].reason
                                        : "there are " + std::to_string(discovery.unusable.size()) + " unusable files";
}

template <typename Function>
Error error_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error;
  }
  return Error("nothing was thrown");
}

}  // namespace thrt
