// What a plugin says about itself before any of its code runs: thrt_manifest (abi.h), checked.
#pragma once

#include <thrt/abi.h>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace thrt {

struct Manifest {
  std::string id;
  std::string version;
  std::string vendor;
  std::string description;
  uint32_t abi_major = 0;
  uint32_t abi_minor = 0;
  uint32_t api_size = 0;  // bytes of the function table the plugin was built with
  uint32_t opset_min = 0;
  uint32_t opset_max = 0;
};

// The ID of libthrust_backend_ID.so, or "" when the file is not named so.
std::string id_of_file_name(const std::filesystem::path& file);

// `bytes`: the manifest as it lies in the file, which is longer than thrt_manifest when the plugin is newer than this
// host. Throws thrt::Error that says which rule is broken and, for versions, which side to upgrade.
Manifest check_manifest(std::span<const std::byte> bytes, std::string_view id_in_file_name);

// The bytes of thrt_backend_manifest_v1, read from the ELF file: nothing of the plugin is run. Every offset is checked
// against the file, which may be hostile. Throws thrt::Error that says what kind of file it is instead of a plugin.
std::vector<std::byte> read_manifest_bytes(const std::filesystem::path& file);

// read_manifest_bytes and check_manifest. The file's name must be libthrust_backend_ID.so with the manifest's id.
Manifest read_manifest(const std::filesystem::path& file);

}  // namespace thrt
