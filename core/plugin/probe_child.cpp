#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <thrt/error.hpp>
#include <thrt/plugin/loaded_plugin.hpp>
#include <thrt/plugin/probe.hpp>

namespace thrt {
namespace {

// One write per line, unbuffered: what was written is there after a crash.
void write_line(int descriptor, const nlohmann::json& object) {
  std::string line = object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  line += '\n';
  size_t done = 0;
  while (done < line.size()) {
    const ssize_t wrote = write(descriptor, line.data() + done, line.size() - done);
    if (wrote <= 0) return;  // the parent is gone or has lost patience
    done += static_cast<size_t>(wrote);
  }
}

nlohmann::json to_json(const DeviceInfo& device) {
  return {{"index", device.index},
          {"kind", device.kind},
          {"available", device.available},
          {"compute_units", device.compute_units},
          {"memory_total", device.memory_total},
          {"memory_free", device.memory_free},
          {"max_buffer_bytes", device.max_buffer_bytes},
          {"storage_dtypes", device.storage_dtypes},
          {"precisions", device.precisions},
          {"subgroup_size", device.subgroup_size},
          {"name", device.name},
          {"driver", device.driver},
          {"architecture", device.architecture},
          {"unavailable_reason", device.unavailable_reason}};
}

void prepare_process() {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // a killed host leaves no hanging probe behind
  // A crash must be seen as the signal it is, whatever handler the executable came with.
  for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS}) std::signal(number, SIG_DFL);
}

}  // namespace

int probe_main(const char* plugin_file, int descriptor) {
  prepare_process();
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  std::string last_stage = "start";
  const auto stage = [&](const char* name) {
    last_stage = name;
    write_line(descriptor, {{"stage", name}});
  };
  const auto refuse = [&](const std::string& reason, const std::string& next) {
    write_line(descriptor, {{"usable", false}, {"reason", reason}, {"next", next}});
    _exit(0);  // the plugin broke a rule: run no more of it
  };
  try {
    LoadOptions options;
    options.on_stage = stage;
    auto plugin = std::make_unique<LoadedPlugin>(plugin_file, options);
    nlohmann::json devices = nlohmann::json::array();
    for (const DeviceInfo& device : plugin->devices()) devices.push_back(to_json(device));
    stage("close");
    plugin.reset();
    stage("exit");
    write_line(descriptor, {{"usable", true}, {"devices", devices}});
    return 0;  // not _exit: the plugin's destructors run here as they will in the host
  } catch (const Error& error) {
    refuse(error.what(), error.next());
  } catch (const std::exception& error) {
    refuse(fmt::format("an exception left the plugin during {}: {}", last_stage, error.what()), {});
  } catch (...) {
    refuse(fmt::format("an exception left the plugin during {}", last_stage), {});
  }
  return 1;
}

}  // namespace thrt
