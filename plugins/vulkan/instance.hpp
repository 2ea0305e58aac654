// A VkInstance and the devices it knows; the validation layers, when THRUST_VULKAN_VALIDATION=1 asks for them.
#pragma once

#include "vulkan_api.hpp"

#include <thrt/abi.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace thrt_vulkan {

// What the validation layers said. Any message is a bug of this backend. Each goes to stderr in one line when it comes, and the first
// that no call has reported yet fails the next wait() or the next context's creation.
class ValidationMessages {
 public:
  void add(const std::string& text) noexcept;  // from any thread
  // Throws THRT_INTERNAL with the first message that was not reported; afterwards all are.
  void require_none();

 private:
  std::mutex mutex_;
  std::string first_;  // not reported yet
  std::uint64_t unreported_ = 0;
};

// What a device can do beyond Vulkan 1.2's minimum: found, reported, and switched on when a device is opened. Never required.
struct Abilities {
  bool storage_16bit = false;  // storageBuffer16BitAccess: buffers of f16 and bf16
  bool shader_f16 = false;     // arithmetic in f16
  bool shader_int16 = false;
  bool shader_int8 = false;
  bool shader_int64 = false;
  bool shader_f64 = false;
  bool memory_model = false;         // vulkanMemoryModel
  bool subgroup_arithmetic = false;  // in compute shaders: subgroupAdd and the like
  bool subgroup_shuffle = false;
  bool subgroup_size_control = false;  // VK_EXT_subgroup_size_control or Vulkan 1.3, with full subgroups in compute
  std::uint32_t min_subgroup_size = 0, max_subgroup_size = 0;
  // Float controls: execution modes a shader may ask for, in f32.
  bool signed_zero_inf_nan_preserve = false;
  bool denorm_preserve = false;
  bool rounding_rte = false;
  bool cooperative_matrix_khr = false;  // VK_KHR_cooperative_matrix
  bool cooperative_matrix_nv = false;   // VK_NV_cooperative_matrix
  bool memory_budget = false;           // VK_EXT_memory_budget
};

// A device of this machine. What is not available is listed too, with the reason.
struct Listed {
  VkPhysicalDevice physical = nullptr;
  thrt_device_info info{};
  Abilities abilities;
  VkPhysicalDeviceProperties properties{};  // limits among them
  std::uint32_t queue_family = 0;           // the one that is used
  std::uint32_t driver_id = 0;              // VkDriverId
  std::uint8_t driver_uuid[VK_UUID_SIZE] = {};
  std::uint32_t subgroup_size = 0;
  std::uint64_t max_allocation_bytes = 0;  // maxMemoryAllocationSize
};

class Instance {
 public:
  // Never throws for a missing loader or driver: devices() then has one entry that says so.
  Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  ~Instance();

  const std::vector<Listed>& devices() const { return devices_; }  // at least one, at most 64
  // Free bytes of device memory now, by VK_EXT_memory_budget; without it all of it.
  std::uint64_t free_memory(const Listed& device) const;

  const InstanceTable& vk() const { return vk_; }
  bool validates() const { return validates_; }
  ValidationMessages& messages() const { return *messages_; }

 private:
  void create();

  Loader loader_;
  VkInstance instance_ = nullptr;
  InstanceTable vk_;
  VkDebugUtilsMessengerEXT messenger_ = nullptr;
  bool validates_ = false;
  std::unique_ptr<ValidationMessages> messages_;
  std::vector<Listed> devices_;
};

}  // namespace thrt_vulkan
