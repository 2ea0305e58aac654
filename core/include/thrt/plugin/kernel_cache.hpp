// Where a plugin may keep the kernels it compiled, so that the next process need not compile them again.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace thrt {

// What decides it, apart from the backend.
struct KernelCacheSettings {
  std::string xdg_cache_home;  // XDG_CACHE_HOME, "" when unset
  std::string home;            // HOME, likewise
  bool secure = false;         // the process has other rights than the user who set them (setuid)
};

// XDG_CACHE_HOME/thrust/ID, without an absolute XDG_CACHE_HOME HOME/.cache/thrust/ID (XDG Base Directory Specification
// 0.8, which ignores relative paths), and nothing without either or when secure. The plugin makes the folder when it
// has something to keep.
std::optional<std::filesystem::path> kernel_cache(std::string_view backend_id, const KernelCacheSettings& settings);

// The same for this process's environment, as LoadOptions::cache_dir takes it: "" for nowhere.
std::string kernel_cache_of_this_process(std::string_view backend_id);

}  // namespace thrt
