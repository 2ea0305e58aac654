#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/dll/shared_library.hpp>
#include <cstring>
#include <optional>
#include <thrt/error.hpp>
#include <thrt/plugin/loaded_plugin.hpp>
#include <thrt/plugin/validation.hpp>

#include "plugin/process_state.hpp"

namespace thrt {
namespace {

constexpr uint32_t kMaxDevices = 64;  // abi.h, device_count
constexpr const char* kTellVendor = "report this to the plugin's vendor";

Error broken(const std::string& what) {
  return Error(what, "the plugin breaks a rule of thrt/abi.h", kTellVendor);
}

template <size_t N>
std::string terminated(const char (&array)[N], const std::string& where) {
  const void* end = std::memchr(array, 0, N);
  if (end == nullptr) throw broken(fmt::format("{} does not end within its {} bytes", where, N));
  return array;
}

const char* status_name(thrt_status status) {
  static constexpr const char* kNames[] = {
      "OK",          "INVALID_ARGUMENT", "INVALID_PROGRAM", "UNSUPPORTED", "OUT_OF_MEMORY", "OVER_BUDGET",
      "UNAVAILABLE", "INCOMPATIBLE",     "DEVICE_LOST",     "TIMEOUT",     "INVALID_STATE", "NON_FINITE",
      "INTERNAL"};
  return status < std::size(kNames) ? kNames[status] : "an unknown status";
}

// Throws what the plugin says about its failure.
void check_status(thrt_status status, const thrt_error& error, const char* function) {
  if (status == THRT_OK) return;
  if (status > THRT_INTERNAL) throw broken(fmt::format("{} answered {}, which is no status", function, status));
  const std::string message = terminated(error.message, fmt::format("{}'s error message", function));
  if (error.code != status || message.empty()) {
    throw broken(fmt::format("{} failed with {} and did not fill in the error", function, status_name(status)));
  }
  throw Error(fmt::format("{} failed with {}: {}", function, status_name(status), message));
}

// The functions of version 1.0, whose absence makes a table useless, by place.
constexpr const char* kFunctionsV1[] = {
    "plugin_open",    "plugin_close",    "get_extension", "device_count",  "device_info",
    "context_create", "context_destroy", "context_stats", "buffer_create", "buffer_destroy",
    "upload",         "download",        "check",         "compile",       "executable_destroy",
    "bind",           "binding_destroy", "enqueue",       "wait"};
static_assert(offsetof(thrt_backend_api, wait) == 8 + sizeof(void*) * (std::size(kFunctionsV1) - 1));

// The table in this host's size: functions the plugin does not have become null, later ones are left out.
thrt_backend_api copy_table(const thrt_backend_api& theirs, uint32_t size_in_manifest) {
  constexpr size_t kSizeV1 = 8 + sizeof(void*) * std::size(kFunctionsV1);
  if (theirs.struct_size < kSizeV1 || theirs.struct_size % 8 != 0) {
    throw broken(
        fmt::format("its function table has struct_size {}, version 1.0's has {}", theirs.struct_size, kSizeV1));
  }
  if (theirs.struct_size != size_in_manifest) {
    throw broken(
        fmt::format("its function table has {} bytes, its manifest says {}", theirs.struct_size, size_in_manifest));
  }
  if (theirs.reserved != 0) throw broken("its function table sets the reserved field");
  thrt_backend_api ours{};
  std::memcpy(&ours, &theirs, std::min<size_t>(theirs.struct_size, sizeof ours));
  ours.struct_size = sizeof ours;
  const char* functions = reinterpret_cast<const char*>(&ours) + 8;
  for (size_t i = 0; i < std::size(kFunctionsV1); ++i) {
    void* function = nullptr;
    std::memcpy(&function, functions + i * sizeof function, sizeof function);
    if (function == nullptr) throw broken(fmt::format("its function table lacks {}", kFunctionsV1[i]));
  }
  return ours;
}

// The extension's table in this host's size; nothing when the plugin has none.
std::optional<thrt_describe_api> find_describe(const thrt_backend_api& api) {
  const auto* theirs = static_cast<const thrt_describe_api*>(api.get_extension(THRT_DESCRIBE_ID));
  if (theirs == nullptr) return std::nullopt;
  constexpr size_t kSizeV1 = 8 + 2 * sizeof(void*);
  const std::string where = std::string("its table of ") + THRT_DESCRIBE_ID;
  if (theirs->struct_size < kSizeV1 || theirs->struct_size % 8 != 0) {
    throw broken(fmt::format("{} has struct_size {}, the first version's has {}", where, theirs->struct_size, kSizeV1));
  }
  if (theirs->reserved != 0) throw broken(where + " sets the reserved field");
  if (theirs->describe == nullptr || theirs->counters == nullptr) throw broken(where + " lacks a function");
  thrt_describe_api ours{};
  std::memcpy(&ours, theirs, std::min<size_t>(theirs->struct_size, sizeof ours));
  ours.struct_size = sizeof ours;
  return ours;
}

DeviceInfo read_device(const thrt_backend_api& api, thrt_plugin* plugin, uint32_t index) {
  // The bytes after the struct show whether the plugin writes past struct_size.
  constexpr unsigned char kCanary = 0xA5;
  struct {
    thrt_device_info info;
    unsigned char after[256];
  } out{};
  std::fill(std::begin(out.after), std::end(out.after), kCanary);
  out.info.struct_size = sizeof out.info;
  thrt_error error{};
  const thrt_status status = api.device_info(plugin, index, &out.info, &error);
  if (std::any_of(std::begin(out.after), std::end(out.after), [](unsigned char b) { return b != kCanary; })) {
    throw broken(fmt::format("device_info({}) writes past struct_size", index));
  }
  check_status(status, error, fmt::format("device_info({})", index).c_str());
  const thrt_device_info& info = out.info;
  const std::string where = fmt::format("device {}'s ", index);
  if (info.struct_size != sizeof info) throw broken(fmt::format("device_info({}) changes struct_size", index));
  if (info.reserved != 0) throw broken(where + "reserved field is not zero");
  if (info.kind < THRT_DEVICE_CPU || info.kind > THRT_DEVICE_SOFTWARE) {
    throw broken(fmt::format("{}kind is {}, which abi.h does not know", where, info.kind));
  }
  if (info.available > 1) throw broken(fmt::format("{}`available` is {}, not 0 or 1", where, info.available));
  DeviceInfo device{index,
                    info.kind,
                    info.available == 1,
                    info.compute_units,
                    info.memory_total,
                    info.memory_free,
                    info.max_buffer_bytes,
                    info.storage_dtypes,
                    info.precisions,
                    info.subgroup_size,
                    terminated(info.name, where + "name"),
                    terminated(info.driver, where + "driver"),
                    terminated(info.architecture, where + "architecture"),
                    terminated(info.unavailable_reason, where + "unavailable_reason")};
  if (device.name.empty()) throw broken(where + "name is empty");
  if (!device.available && device.unavailable_reason.empty()) {
    throw broken(fmt::format("device {} is unavailable without a reason", index));
  }
  return device;
}

}  // namespace

struct LoadedPlugin::Impl {
  std::filesystem::path file;
  Manifest manifest;
  boost::dll::shared_library library;
  thrt_backend_api table{};
  std::optional<thrt_describe_api> describe;
  thrt_plugin* plugin = nullptr;
  std::vector<DeviceInfo> devices;
  std::unique_ptr<ValidationLayer> validation;

  ~Impl() {
    if (validation) {
      validation->api().plugin_close(validation->plugin());  // checks that no context is left
    } else if (plugin != nullptr) {
      table.plugin_close(plugin);
    }
  }

  // Every step may run the plugin's code, so after each the process must be as before.
  template <typename Step>
  void run(const char* stage, const LoadOptions& options, Step step) {
    if (options.on_stage) options.on_stage(stage);
    const ProcessState before = ProcessState::now();
    step();
    const std::string change = before.restore_and_compare();
    if (!change.empty()) throw broken(fmt::format("changes {} during {}", change, stage));
  }

  void load() {
    std::error_code code;
    library.load(file, code, boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local);
    if (code) {
      const char* words = dlerror();
      throw Error(fmt::format("the loader refuses it: {}", words != nullptr ? words : code.message()), {},
                  "install what it names, or rebuild the plugin on this machine");
    }
    // Unloading code that threads, caches or exit handlers of a vendor's library still refer to crashes at exit: a
    // plugin stays until the process ends. This raises the count of the library that is loaded already.
    if (void* pinned = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD | RTLD_NODELETE)) dlclose(pinned);
  }

  void shake_hands(const std::vector<std::byte>& manifest_in_file) {
    const void* manifest_in_memory = dlsym(library.native(), "thrt_backend_manifest_v1");
    if (manifest_in_memory == nullptr ||
        std::memcmp(manifest_in_memory, manifest_in_file.data(), manifest_in_file.size()) != 0) {
      throw broken("its manifest in memory differs from the one in the file");
    }
    const auto entry = reinterpret_cast<thrt_backend_entry_fn>(dlsym(library.native(), "thrt_backend_entry_v1"));
    if (entry == nullptr) throw broken("does not export thrt_backend_entry_v1");
    const thrt_backend_api* api = nullptr;
    thrt_error error{};
    check_status(entry(THRT_ABI_MAJOR, THRT_ABI_MINOR, &api, &error), error, "thrt_backend_entry_v1");
    if (api == nullptr) throw broken("thrt_backend_entry_v1 answered OK and left the table null");
    table = copy_table(*api, manifest.api_size);
    describe = find_describe(table);
  }

  void open(const LoadOptions& options) {
    thrt_plugin_options plugin_options{sizeof(thrt_plugin_options), 0,
                                       options.cache_dir.empty() ? nullptr : options.cache_dir.c_str()};
    thrt_error error{};
    thrt_plugin* opened = nullptr;
    const thrt_status status = table.plugin_open(&plugin_options, &opened, &error);
    if (status != THRT_OK && opened != nullptr) throw broken("plugin_open failed and set the plugin");
    check_status(status, error, "plugin_open");
    if (opened == nullptr) throw broken("plugin_open answered OK and left the plugin null");
    plugin = opened;
  }

  void enumerate() {
    uint32_t count = 0;
    thrt_error error{};
    check_status(table.device_count(plugin, &count, &error), error, "device_count");
    if (count > kMaxDevices)
      throw broken(fmt::format("device_count says {}, at most {} are allowed", count, kMaxDevices));
    for (uint32_t index = 0; index < count; ++index) devices.push_back(read_device(table, plugin, index));
  }
};

LoadedPlugin::LoadedPlugin(const std::filesystem::path& file, const LoadOptions& options)
    : impl_(std::make_unique<Impl>()) {
  // Absolute: for a bare name the loader would look into its own folders.
  impl_->file = std::filesystem::absolute(file);
  impl_->manifest = read_manifest(impl_->file);
  const std::vector<std::byte> manifest_bytes = read_manifest_bytes(impl_->file);
  impl_->run("load", options, [&] { impl_->load(); });
  impl_->run("entry", options, [&] { impl_->shake_hands(manifest_bytes); });
  impl_->run("open", options, [&] { impl_->open(options); });
  impl_->run("enumerate", options, [&] { impl_->enumerate(); });
  if (options.validate) {
    impl_->validation = std::make_unique<ValidationLayer>(impl_->table, impl_->plugin, options.on_violation,
                                                          impl_->describe ? &*impl_->describe : nullptr);
  }
}

LoadedPlugin::~LoadedPlugin() = default;

const thrt_backend_api& LoadedPlugin::api() const {
  return impl_->validation ? impl_->validation->api() : impl_->table;
}
thrt_plugin* LoadedPlugin::handle() const {
  return impl_->validation ? impl_->validation->plugin() : impl_->plugin;
}
const thrt_describe_api* LoadedPlugin::describe_api() const {
  if (impl_->validation) return impl_->validation->describe_api();
  return impl_->describe ? &*impl_->describe : nullptr;
}
const Manifest& LoadedPlugin::manifest() const {
  return impl_->manifest;
}
const std::filesystem::path& LoadedPlugin::file() const {
  return impl_->file;
}
const std::vector<DeviceInfo>& LoadedPlugin::devices() const {
  return impl_->devices;
}
std::vector<std::string> LoadedPlugin::violations() const {
  return impl_->validation ? impl_->validation->violations() : std::vector<std::string>{};
}

}  // namespace thrt
