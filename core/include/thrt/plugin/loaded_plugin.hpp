// A plugin in this process: loaded, handshake done, opened, its devices listed. The destructor closes it.
#pragma once

#include <thrt/abi.h>
#include <thrt/describe.h>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thrt/plugin/device_info.hpp>
#include <thrt/plugin/manifest.hpp>
#include <vector>

namespace thrt {

struct LoadOptions {
  std::string cache_dir;  // where the plugin may keep compiled kernels; empty: nowhere
  bool validate = false;  // put the validation layer (thrt/plugin/validation.hpp) between host and plugin
  std::function<void(const std::string&)> on_violation;  // with validation: hears each broken rule, may be empty
  // Called before each step: "load", "entry", "open", "enumerate". The probe reports them, so that a crash has a place.
  std::function<void(const char* stage)> on_stage;
};

class LoadedPlugin {
 public:
  // Runs the plugin's code here, so probe the file first (registry.hpp does). Throws thrt::Error when the loader
  // refuses it (with the loader's own words) or when the plugin breaks a rule of abi.h.
  explicit LoadedPlugin(const std::filesystem::path& file, const LoadOptions& options = {});
  ~LoadedPlugin();  // its contexts must be gone
  LoadedPlugin(const LoadedPlugin&) = delete;
  LoadedPlugin& operator=(const LoadedPlugin&) = delete;

  // A table of this host's size; all functions of abi.h 1.0 are there. With validation: the layer's.
  const thrt_backend_api& api() const;
  thrt_plugin* handle() const;
  // The extension of thrt/describe.h for what api() makes; null: the plugin has none.
  const thrt_describe_api* describe_api() const;

  const Manifest& manifest() const;
  const std::filesystem::path& file() const;
  const std::vector<DeviceInfo>& devices() const;

  // With validation: the broken rules seen so far, in order. Empty without.
  std::vector<std::string> violations() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace thrt
