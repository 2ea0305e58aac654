// Tries a plugin in a child process first, so that one that crashes, hangs or exits harms nothing.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <thrt/plugin/device_info.hpp>
#include <vector>

namespace thrt {

struct ProbeReport {
  bool usable = false;
  std::string reason;   // when not usable: "crashed (SIGSEGV) during load"
  std::string next;     // what to try, may be empty
  std::string printed;  // the start of what the plugin wrote to stderr, a hint
  std::vector<DeviceInfo> devices;
};

// The file that this process runs. Not /proc/self/exe as long as there is another name for it: in a child that a tool such
// as valgrind starts, that link leads to the tool.
std::filesystem::path own_executable();

class Prober {
 public:
  // `executable`: started as `executable __probe FILE DESCRIPTOR`, must call probe_main then.
  explicit Prober(std::filesystem::path executable = own_executable(),
                  std::chrono::milliseconds timeout = std::chrono::seconds(5))
      : executable_(std::move(executable)), timeout_(timeout) {}

  // Throws thrt::Error only when no child can be started at all.
  ProbeReport probe(const std::filesystem::path& plugin_file) const;

 private:
  std::filesystem::path executable_;
  std::chrono::milliseconds timeout_;
};

// The child's side: loads, shakes hands, opens, lists devices, closes, and writes what it finds to `descriptor`, one
// JSON object per line: {"stage": NAME} before each step, then one with the verdict. Returns the exit code of the
// process.
int probe_main(const char* plugin_file, int descriptor);

}  // namespace thrt
