#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <thrt/error.hpp>
#include <thrt/plugin/registry.hpp>

namespace thrt {
namespace {

constexpr const char* kForms = "use ID, ID:INDEX or ID:NAME, as in cpu, cuda:1 or vulkan:llvmpipe";

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// "0: NVIDIA H200 (discrete gpu)", one a line.
std::string list_devices(const std::vector<DeviceInfo>& devices) {
  if (devices.empty()) return "the backend has no devices";
  std::string text = "its devices:";
  for (const DeviceInfo& device : devices) {
    text += fmt::format("\n    {}: {} ({}{}{})", device.index, device.name, device_kind_name(device.kind),
                        device.available ? "" : ", unavailable: ", device.unavailable_reason);
  }
  return text;
}

uint32_t available(const BackendSpec& spec, const DeviceInfo& device) {
  if (device.available) return device.index;
  throw Error(fmt::format("backend '{}': device {} ({}) is unavailable", spec.text(), device.index, device.name),
              device.unavailable_reason, "run `thrust backends` to see what there is");
}

// How to ask for a software device: its index, and the first word of its name where that is no other's.
std::string ways_to_name(const BackendSpec& spec, const DeviceInfo& device, const std::vector<DeviceInfo>& devices) {
  std::string text = fmt::format("--backend {}:{}", spec.id, device.index);
  const std::string word = lower(device.name.substr(0, device.name.find(' ')));
  const bool number = std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c); });
  const auto holders = std::count_if(devices.begin(), devices.end(), [&](const DeviceInfo& other) {
    return lower(other.name).find(word) != std::string::npos;
  });
  if (holders == 1 && !number) text += fmt::format(" or --backend {}:{}", spec.id, word);
  return text;
}

// A card before what is built into the processor, whatever order the driver lists them in.
uint32_t select_by_default(const BackendSpec& spec, const std::vector<DeviceInfo>& devices) {
  const DeviceInfo* first = nullptr;
  for (const DeviceInfo& device : devices) {
    if (!device.available || device.kind == THRT_DEVICE_SOFTWARE) continue;
    if (device.kind == THRT_DEVICE_DISCRETE) return device.index;
    if (first == nullptr) first = &device;
  }
  if (first != nullptr) return first->index;
  const auto software = std::find_if(devices.begin(), devices.end(), [](const DeviceInfo& device) {
    return device.available && device.kind == THRT_DEVICE_SOFTWARE;
  });
  if (software == devices.end()) {
    throw Error(fmt::format("backend '{}' has no device to use", spec.id), list_devices(devices),
                "another backend; `thrust backends` lists them");
  }
  throw Error(fmt::format("backend '{}' has no device but software that imitates one", spec.id), list_devices(devices),
              fmt::format("software runs on the processor and is used only when asked for: {}",
                          ways_to_name(spec, *software, devices)));
}

uint32_t select_by_index(const BackendSpec& spec, const std::vector<DeviceInfo>& devices) {
  uint32_t index = 0;
  const char* end = spec.device.data() + spec.device.size();
  const auto parsed = std::from_chars(spec.device.data(), end, index);
  if (parsed.ec != std::errc{} || parsed.ptr != end || index >= devices.size()) {
    throw Error(fmt::format("backend '{}' has no device {}", spec.id, spec.device), list_devices(devices),
                devices.empty() ? "another backend; `thrust backends` lists them"
                                : fmt::format("an index from 0 to {}", devices.size() - 1));
  }
  return available(spec, devices[index]);
}

uint32_t select_by_name(const BackendSpec& spec, const std::vector<DeviceInfo>& devices) {
  const std::string wanted = lower(spec.device);
  std::vector<const DeviceInfo*> matches, exact;
  for (const DeviceInfo& device : devices) {
    const std::string name = lower(device.name);
    if (name == wanted) exact.push_back(&device);
    if (name.find(wanted) != std::string::npos) matches.push_back(&device);
  }
  if (exact.size() == 1) return available(spec, *exact[0]);
  if (matches.empty()) {
    throw Error(fmt::format("backend '{}' has no device named '{}'", spec.id, spec.device), list_devices(devices),
                kForms);
  }
  if (matches.size() > 1) {
    throw Error(fmt::format("backend '{}' has {} devices named '{}'", spec.id, matches.size(), spec.device),
                list_devices(devices), "give an index or more of the name");
  }
  return available(spec, *matches[0]);
}

}  // namespace

BackendSpec BackendSpec::parse(std::string_view text) {
  const size_t colon = text.find(':');
  BackendSpec spec{std::string(text.substr(0, colon)), {}};
  if (colon != std::string_view::npos) spec.device = text.substr(colon + 1);
  if (spec.id.empty() || (colon != std::string_view::npos && spec.device.empty())) {
    throw Error(fmt::format("'{}' is no backend", text), spec.id.empty() ? "it has no id" : "nothing follows the ':'",
                kForms);
  }
  return spec;
}

std::string BackendSpec::text() const {
  return device.empty() ? id : id + ":" + device;
}

uint32_t select_device(const BackendSpec& spec, const std::vector<DeviceInfo>& devices) {
  if (spec.device.empty()) return select_by_default(spec, devices);
  const bool index =
      std::all_of(spec.device.begin(), spec.device.end(), [](unsigned char c) { return std::isdigit(c); });
  return index ? select_by_index(spec, devices) : select_by_name(spec, devices);
}

}  // namespace thrt
