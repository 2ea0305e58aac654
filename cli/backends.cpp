#include "backends.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <nlohmann/json.hpp>

namespace thrt::cli {
namespace {

// "15.5 GiB", "128.0 MiB".
std::string binary_bytes(uint64_t bytes) {
  constexpr uint64_t kGibi = uint64_t{1} << 30;
  if (bytes >= kGibi) return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / static_cast<double>(kGibi));
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1u << 20));
}

std::string width(const DeviceInfo& device) {
  std::string text;  // of what the backend knows
  if (device.compute_units != 0) text = fmt::format("{} compute units", device.compute_units);
  if (device.subgroup_size == 0) return text;
  const char* what = device.kind == THRT_DEVICE_CPU ? "f32 lanes in a register" : "lanes in a subgroup";
  return text + fmt::format("{}{} {}", text.empty() ? "" : ", ", device.subgroup_size, what);
}

std::string device_as_text(const std::string& backend_id, const DeviceInfo& device) {
  std::string text = fmt::format("  {}: {} ({})\n", device.index, device.name, device_kind_name(device.kind));
  const auto line = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += fmt::format("      {:<12} {}\n", name, value);
  };
  if (!device.available) line("unavailable", device.unavailable_reason);
  line("driver", device.driver);
  if (!device.available) return text;
  line("abilities", device.architecture);
  line("width", width(device));
  line("memory", fmt::format("{} ({} free), {} in one buffer", binary_bytes(device.memory_total),
                             binary_bytes(device.memory_free), binary_bytes(device.max_buffer_bytes)));
  line("precisions", fmt::format("{}", fmt::join(precision_names(device.precisions), " ")));
  line("values", fmt::format("{}", fmt::join(dtype_names(device.storage_dtypes), " ")));
  if (device.kind == THRT_DEVICE_SOFTWARE) {
    line("software", fmt::format("used only when asked for: --backend {}:{}", backend_id, device.index));
  }
  return text;
}

nlohmann::json device_as_json(const DeviceInfo& device) {
  return {{"index", device.index},
          {"name", device.name},
          {"kind", device_kind_name(device.kind)},
          {"available", device.available},
          {"unavailable_reason", device.unavailable_reason},
          {"compute_units", device.compute_units},
          {"memory_total", device.memory_total},
          {"memory_free", device.memory_free},
          {"max_buffer_bytes", device.max_buffer_bytes},
          {"architecture", device.architecture},
          {"driver", device.driver},
          {"subgroup_size", device.subgroup_size},
          {"precisions", precision_names(device.precisions)},
          {"dtypes", dtype_names(device.storage_dtypes)}};
}

// "a\nb" as "    a\n    b\n".
std::string indented(const std::string& text, const char* margin) {
  std::string result;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    result += fmt::format("{}{}\n", margin, text.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

}  // namespace

std::string backends_as_text(const Discovery& discovery) {
  std::string text = fmt::format("host ABI {}.{}, op set {}\n", THRT_ABI_MAJOR, THRT_ABI_MINOR, THRT_OPSET);
  if (discovery.backends.empty()) text += "\nno usable backend\n";
  for (const Backend& backend : discovery.backends) {
    const Manifest& manifest = backend.manifest;
    text += fmt::format("\n{} {} by {}, ABI {}.{}: {}\n  {}\n", manifest.id, manifest.version, manifest.vendor,
                        manifest.abi_major, manifest.abi_minor, manifest.description, backend.file.string());
    for (const DeviceInfo& device : backend.devices) text += device_as_text(manifest.id, device);
    if (backend.devices.empty()) text += "  no devices\n";
  }
  if (!discovery.unusable.empty()) text += "\nnot usable:\n";
  for (const UnusableFile& file : discovery.unusable) {
    text += fmt::format("  {}\n    {}\n", file.file.string(), file.reason);
    if (!file.next.empty()) text += fmt::format("    try: {}\n", file.next);
    if (!file.printed.empty()) text += "    it printed:\n" + indented(file.printed, "      ");
  }
  text += "\nlooked in:\n";
  for (const SearchedFolder& folder : discovery.folders) {
    text +=
        fmt::format("  {} ({}{})\n", folder.folder.string(), folder.source, folder.exists ? "" : ", no such folder");
  }
  return text;
}

std::string backends_as_json(const Discovery& discovery) {
  nlohmann::json backends = nlohmann::json::array();
  for (const Backend& backend : discovery.backends) {
    const Manifest& manifest = backend.manifest;
    nlohmann::json devices = nlohmann::json::array();
    for (const DeviceInfo& device : backend.devices) devices.push_back(device_as_json(device));
    backends.push_back({{"id", manifest.id},
                        {"version", manifest.version},
                        {"vendor", manifest.vendor},
                        {"description", manifest.description},
                        {"abi", fmt::format("{}.{}", manifest.abi_major, manifest.abi_minor)},
                        {"opset_min", manifest.opset_min},
                        {"opset_max", manifest.opset_max},
                        {"file", backend.file.string()},
                        {"devices", devices}});
  }
  nlohmann::json unusable = nlohmann::json::array();
  for (const UnusableFile& file : discovery.unusable) {
    unusable.push_back(
        {{"file", file.file.string()}, {"reason", file.reason}, {"next", file.next}, {"printed", file.printed}});
  }
  nlohmann::json folders = nlohmann::json::array();
  for (const SearchedFolder& folder : discovery.folders) {
    folders.push_back({{"folder", folder.folder.string()}, {"source", folder.source}, {"exists", folder.exists}});
  }
  const nlohmann::json all = {{"abi", fmt::format("{}.{}", THRT_ABI_MAJOR, THRT_ABI_MINOR)},
                              {"opset", THRT_OPSET},
                              {"backends", backends},
                              {"unusable", unusable},
                              {"looked_in", folders}};
  // What a plugin calls its device need not be UTF-8, which JSON must be.
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

int run_backends(const BackendsOptions& options) {
  const SearchOptions search = search_of_this_process({options.plugins.begin(), options.plugins.end()});
  const Discovery discovery = discover(search, Prober());
  const std::string text = options.json ? backends_as_json(discovery) : backends_as_text(discovery);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace thrt::cli
