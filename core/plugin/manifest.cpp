#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <thrt/error.hpp>
#include <thrt/ir/opset.hpp>
#include <thrt/plugin/manifest.hpp>

namespace thrt {
namespace {

constexpr std::string_view kPrefix = "libthrust_backend_";
constexpr std::string_view kSuffix = ".so";
constexpr size_t kManifestSizeV1 = 360;  // of ABI 1.0: a plugin older than this binary has no more
static_assert(sizeof(thrt_manifest) >= kManifestSizeV1);
constexpr const char* kRebuild = "rebuild the plugin with this version's thrt/abi.h";

// A string that ends within its array and is printable ASCII, as abi.h demands.
template <size_t N>
std::string read_string(const char (&array)[N], const char* field) {
  const char* end = static_cast<const char*>(std::memchr(array, 0, N));
  if (end == nullptr) {
    throw Error(fmt::format("the manifest's {} does not end within its {} bytes", field, N), {}, kRebuild);
  }
  if (!std::all_of(static_cast<const char*>(array), end, [](char c) { return c >= 0x20 && c < 0x7f; })) {
    throw Error(fmt::format("the manifest's {} has characters that are not printable ASCII", field), {}, kRebuild);
  }
  return {array, end};
}

bool is_id(std::string_view id) {
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !id.empty() && id[0] >= 'a' && id[0] <= 'z' && std::all_of(id.begin(), id.end(), allowed);
}

// Sizes first: until they hold no other field means anything.
thrt_manifest read_fields(std::span<const std::byte> bytes) {
  thrt_manifest manifest{};
  if (bytes.size() < kManifestSizeV1) {
    throw Error(fmt::format("its manifest is too short: {} bytes, thrt_manifest has {}", bytes.size(), kManifestSizeV1),
                {}, kRebuild);
  }
  std::memcpy(&manifest, bytes.data(), std::min(bytes.size(), sizeof manifest));
  if (manifest.magic != THRT_MANIFEST_MAGIC) {
    throw Error(fmt::format("its manifest has the wrong magic number: 0x{:016x} instead of 0x{:016x}", manifest.magic,
                            THRT_MANIFEST_MAGIC),
                {}, kRebuild);
  }
  if (manifest.struct_size < kManifestSizeV1 || manifest.struct_size > bytes.size()) {
    throw Error(fmt::format("its manifest's struct_size is {}: thrt_manifest has {} bytes and the symbol has {}",
                            manifest.struct_size, kManifestSizeV1, bytes.size()),
                {}, kRebuild);
  }
  return manifest;
}

void check_versions(const thrt_manifest& manifest) {
  if (manifest.abi_major != THRT_ABI_MAJOR) {
    const bool plugin_is_old = manifest.abi_major < THRT_ABI_MAJOR;
    throw Error(fmt::format("built for ABI {}.{}, this binary has ABI {}.{}", manifest.abi_major, manifest.abi_minor,
                            THRT_ABI_MAJOR, THRT_ABI_MINOR),
                {}, plugin_is_old ? "upgrade the plugin" : "upgrade thrust");
  }
  if (manifest.host_minor_needed > THRT_ABI_MINOR) {
    throw Error(fmt::format("needs a host with ABI {}.{} or newer, this binary has ABI {}.{}", manifest.abi_major,
                            manifest.host_minor_needed, THRT_ABI_MAJOR, THRT_ABI_MINOR),
                {}, "upgrade thrust");
  }
  if (manifest.opset_min > manifest.opset_max) {
    throw Error(fmt::format("its op-set range is empty: {} to {}", manifest.opset_min, manifest.opset_max), {},
                kRebuild);
  }
  if (manifest.opset_min > THRT_OPSET || manifest.opset_max < ir::kOldestOpset) {
    throw Error(fmt::format("understands op sets {} to {}, this binary writes op sets {} to {}", manifest.opset_min,
                            manifest.opset_max, ir::kOldestOpset, THRT_OPSET),
                {}, manifest.opset_max < ir::kOldestOpset ? "upgrade the plugin" : "upgrade thrust");
  }
  if (manifest.pointer_bits != 8 * sizeof(void*)) {
    throw Error(
        fmt::format("built for {}-bit pointers, this binary has {}-bit ones", manifest.pointer_bits, 8 * sizeof(void*)),
        {}, "build the plugin for this machine");
  }
  // thrt_backend_api of 1.0; a later host knows a larger table and fills what an older plugin lacks.
  constexpr size_t kApiSizeV1 = 8 + 19 * sizeof(void*);
  if (manifest.api_size < kApiSizeV1) {
    throw Error(
        fmt::format("its function table is too small: {} bytes, version 1.0's has {}", manifest.api_size, kApiSizeV1),
        {}, kRebuild);
  }
}

void check_reserved(const thrt_manifest& manifest, std::span<const std::byte> bytes) {
  const bool reserved_set =
      std::any_of(std::begin(manifest.reserved), std::end(manifest.reserved), [](uint8_t b) { return b != 0; });
  const size_t known = std::min<size_t>(sizeof manifest, manifest.struct_size);
  const auto tail = bytes.subspan(known, manifest.struct_size - known);
  if (reserved_set || std::any_of(tail.begin(), tail.end(), [](std::byte b) { return b != std::byte{0}; })) {
    throw Error("its manifest sets a field that this binary does not know", {},
                "upgrade thrust, or rebuild the plugin with this version's thrt/abi.h");
  }
}

}  // namespace

std::string id_of_file_name(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  if (name.size() <= kPrefix.size() + kSuffix.size() || name.compare(0, kPrefix.size(), kPrefix) != 0 ||
      name.compare(name.size() - kSuffix.size(), kSuffix.size(), kSuffix) != 0) {
    return {};
  }
  return name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
}

Manifest check_manifest(std::span<const std::byte> bytes, std::string_view id_in_file_name) {
  const thrt_manifest raw = read_fields(bytes);
  check_versions(raw);
  Manifest manifest{read_string(raw.id, "id"),
                    read_string(raw.version, "version"),
                    read_string(raw.vendor, "vendor"),
                    read_string(raw.description, "description"),
                    raw.abi_major,
                    raw.abi_minor,
                    raw.api_size,
                    raw.opset_min,
                    raw.opset_max};
  if (!is_id(manifest.id)) {
    throw Error(
        fmt::format("its id '{}' is not a lower-case letter followed by lower-case letters, digits and _", manifest.id),
        {}, "give the plugin another id");
  }
  if (manifest.id != id_in_file_name) {
    throw Error(fmt::format("its id is '{}', its file name says '{}'", manifest.id, id_in_file_name), {},
                fmt::format("name the file {}{}{}", kPrefix, manifest.id, kSuffix));
  }
  check_reserved(raw, bytes);
  return manifest;
}

Manifest read_manifest(const std::filesystem::path& file) {
  const std::vector<std::byte> bytes = read_manifest_bytes(file);
  const std::string id = id_of_file_name(file);
  if (id.empty()) {
    throw Error(
        fmt::format("a plugin's file is named {}ID{}, this one '{}'", kPrefix, kSuffix, file.filename().string()), {},
        "rename the file");
  }
  return check_manifest(bytes, id);
}

}  // namespace thrt
