// Which backends there are, and the one that the user asked for.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thrt/plugin/loaded_plugin.hpp>
#include <thrt/plugin/probe.hpp>
#include <thrt/plugin/search.hpp>
#include <vector>

namespace thrt {

struct Backend {
  std::filesystem::path file;
  Manifest manifest;
  std::vector<DeviceInfo> devices;  // may be empty: no device is a result, not an error
};

struct UnusableFile {
  std::filesystem::path file;
  std::string reason;   // one sentence without the file's name
  std::string next;     // what to try, may be empty
  std::string printed;  // the start of what it wrote to stderr while probed, may be empty
};

struct Discovery {
  std::vector<Backend> backends;
  std::vector<UnusableFile> unusable;
  std::vector<SearchedFolder> folders;
};

// Looks at every plugin and probes each that the rules admit. A bad one becomes an entry of `unusable` and hides no
// other. Two files of one id are both unusable, except that a file named by the user wins. Throws thrt::Error for what
// search_plugins refuses.
Discovery discover(const SearchOptions& search, const Prober& prober);

// What --backend takes: ID, ID:INDEX or ID:NAME.
struct BackendSpec {
  std::string id;
  std::string device;  // "", an index, or a part of a device's name in any case

  static BackendSpec parse(std::string_view text);  // throws thrt::Error
  std::string text() const;
};

// The index of the device that `spec` asks for. Without one: the first available device, a discrete GPU before others;
// a software device (a GPU API run on the processor) is taken only when it is asked for, by name or index. Throws thrt::Error that lists the devices.
uint32_t select_device(const BackendSpec& spec, const std::vector<DeviceInfo>& devices);

struct SelectedBackend {
  std::shared_ptr<LoadedPlugin> plugin;
  uint32_t device_index = 0;

  const DeviceInfo& device() const { return plugin->devices()[device_index]; }
};

// Finds the plugin by the manifests in the files, probes that one alone and loads it into this process.
// Throws thrt::Error: an unknown id lists the backends found, the files that cannot be used with the reason of each,
// and where it looked; a file named by the user that is no plugin is an error whatever the id.
SelectedBackend load_backend(const BackendSpec& spec, const SearchOptions& search, const Prober& prober,
                             const LoadOptions& options = {});

}  // namespace thrt
