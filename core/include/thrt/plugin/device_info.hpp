// A device as a plugin describes it: thrt_device_info (abi.h), checked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thrt {

struct DeviceInfo {
  uint32_t index = 0;
  uint32_t kind = 0;  // THRT_DEVICE_...
  bool available = false;
  uint32_t compute_units = 0;
  uint64_t memory_total = 0;  // bytes
  uint64_t memory_free = 0;
  uint64_t max_buffer_bytes = 0;
  uint32_t storage_dtypes = 0;  // bit 1u << THRT_DTYPE_X
  uint32_t precisions = 0;      // bit 1u << THRT_PRECISION_X
  uint32_t subgroup_size = 0;
  std::string name;
  std::string driver;
  std::string architecture;
  std::string unavailable_reason;
};

std::string_view device_kind_name(uint32_t kind);         // "cpu", "integrated gpu", "discrete gpu", "software"
std::vector<std::string_view> dtype_names(uint32_t set);  // "f32", "bf16", ...
std::vector<std::string_view> precision_names(uint32_t set);

}  // namespace thrt
