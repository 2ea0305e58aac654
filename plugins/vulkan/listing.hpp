// The machine's Vulkan devices and what each can do.
#pragma once

#include "vulkan_api.hpp"

#include <thrt/abi.h>

#include <cstdint>
#include <string>
#include <vector>

namespace thrt_vulkan {

// What a device can do beyond Vulkan 1.2's minimum: found and reported; storage_16bit is also switched on when a device
// is opened, the rest is not used yet. Never required.
struct Abilities {
  bool storage_16bit = false;  // storageBuffer16BitAccess: buffers of f16 and bf16
  bool shader_f16 = false;     // arithmetic in f16
  bool shader_int16 = false;
  bool shader_int8 = false;
  bool shader_int64 = false;
  bool shader_f64 = false;
  bool memory_model = false;           // vulkanMemoryModel
  bool subgroup_arithmetic = false;    // in compute shaders: subgroupAdd and the like
  bool subgroup_shuffle = false;       // in compute shaders: subgroupShuffle and subgroupShuffleXor
  bool subgroup_size_control = false;  // VK_EXT_subgroup_size_control: full subgroups, or a size, asked for in compute
  std::uint32_t min_subgroup_size = 0, max_subgroup_size = 0;  // equal without that extension
  // Float controls: execution modes that a shader may ask for, in f32.
  bool signed_zero_inf_nan_preserve = false;
  bool denorm_preserve = false;
  bool rounding_rte = false;
  bool cooperative_matrix_khr = false;  // VK_KHR_cooperative_matrix, in compute shaders
  bool cooperative_matrix_nv = false;   // VK_NV_cooperative_matrix, in compute shaders
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
  std::uint64_t max_allocation_bytes = 0;  // maxMemoryAllocationSize
};

// At most 64.
std::vector<Listed> list_devices(const InstanceTable& vk, VkInstance instance);
// Stands for all devices where there are none.
Listed unavailable(const std::string& reason);
// Free bytes of the device's memory now, by VK_EXT_memory_budget; without it all of it.
std::uint64_t free_memory(const InstanceTable& vk, const Listed& device);
// The heap that memory_total is of: the largest device-local one.
std::uint32_t device_heap(const VkPhysicalDeviceMemoryProperties& properties);

// Features, chained for vkCreateDevice or for asking. It points into itself.
struct Features {
  Features();
  Features(const Features&) = delete;
  Features& operator=(const Features&) = delete;
  // Appends a struct of an extension.
  template <typename Struct>
  void chain(Struct& next) {
    next.pNext = vulkan12.pNext;
    vulkan12.pNext = &next;
  }

  VkPhysicalDeviceFeatures2 core{};
  VkPhysicalDeviceVulkan11Features vulkan11{};
  VkPhysicalDeviceVulkan12Features vulkan12{};
};

// VK_KHR_cooperative_matrix is younger than the headers this builds with (registry: extension 507).
inline constexpr char kCooperativeMatrixKhr[] = "VK_KHR_cooperative_matrix";
struct CooperativeMatrixFeaturesKhr {
  VkStructureType sType = static_cast<VkStructureType>(1000506000);
  void* pNext = nullptr;
  VkBool32 cooperativeMatrix = VK_FALSE;
  VkBool32 cooperativeMatrixRobustBufferAccess = VK_FALSE;
};
struct CooperativeMatrixPropertiesKhr {
  VkStructureType sType = static_cast<VkStructureType>(1000506002);
  void* pNext = nullptr;
  VkShaderStageFlags cooperativeMatrixSupportedStages = 0;
};

}  // namespace thrt_vulkan
