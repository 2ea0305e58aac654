#include "listing.hpp"

#include <thrt/sdk/error.hpp>

#include <algorithm>
#include <cstring>
#include <set>
#include <thread>

namespace thrt_vulkan {

using thrt::sdk::set_text;

namespace {

constexpr std::uint32_t kLeastArguments = 8;           // of emit::Options::max_arguments
constexpr std::uint32_t kMostDevices = 64;             // of abi.h
constexpr std::uint32_t kStorageBufferAlignment = 64;  // of abi.h: where a slot may begin

std::set<std::string> extensions_of(const InstanceTable& vk, VkPhysicalDevice physical) {
  std::uint32_t count = 0;
  THRT_VK(vk, vkEnumerateDeviceExtensionProperties, physical, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> found(count);
  THRT_VK(vk, vkEnumerateDeviceExtensionProperties, physical, nullptr, &count, found.data());
  found.resize(count);
  std::set<std::string> names;
  for (const VkExtensionProperties& extension : found) names.insert(extension.extensionName);
  return names;
}

// A queue that only computes is not kept waiting by a desktop; any that computes will do. -1: none.
int queue_family_of(const InstanceTable& vk, VkPhysicalDevice physical) {
  std::uint32_t count = 0;
  vk.vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vk.vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
  int any = -1;
  for (std::uint32_t i = 0; i < count; ++i) {
    const VkQueueFlags flags = families[i].queueFlags;
    if (families[i].queueCount == 0 || (flags & VK_QUEUE_COMPUTE_BIT) == 0) continue;
    if ((flags & VK_QUEUE_GRAPHICS_BIT) == 0) return static_cast<int>(i);
    if (any < 0) any = static_cast<int>(i);
  }
  return any;
}

// What vkGetPhysicalDevice*2 answered, and what of it decides whether the device can be used.
struct Found {
  std::set<std::string> extensions;
  VkPhysicalDeviceVulkan11Properties vulkan11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES};
  VkPhysicalDeviceVulkan12Properties vulkan12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES};
  std::uint32_t compute_units = 0;
  bool timeline_semaphore = false;
  bool storage_8bit = false;
};

void ask_features(const InstanceTable& vk, Listed& listed, Found& found) {
  Features features;
  CooperativeMatrixFeaturesKhr matrix_khr;
  VkPhysicalDeviceCooperativeMatrixFeaturesNV matrix_nv{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_NV};
  VkPhysicalDeviceSubgroupSizeControlFeatures size{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES};
  if (found.extensions.count(kCooperativeMatrixKhr) != 0) features.chain(matrix_khr);
  if (found.extensions.count(VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME) != 0) features.chain(matrix_nv);
  if (found.extensions.count(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME) != 0) features.chain(size);
  vk.vkGetPhysicalDeviceFeatures2(listed.physical, &features.core);
  found.timeline_semaphore = features.vulkan12.timelineSemaphore != 0;
  found.storage_8bit = features.vulkan12.storageBuffer8BitAccess != 0;
  Abilities& abilities = listed.abilities;
  abilities.storage_16bit = features.vulkan11.storageBuffer16BitAccess != 0;
  abilities.shader_f16 = features.vulkan12.shaderFloat16 != 0;
  abilities.shader_int16 = features.core.features.shaderInt16 != 0;
  abilities.shader_int8 = features.vulkan12.shaderInt8 != 0;
  abilities.shader_int64 = features.core.features.shaderInt64 != 0;
  abilities.shader_f64 = features.core.features.shaderFloat64 != 0;
  abilities.memory_model = features.vulkan12.vulkanMemoryModel != 0;
  abilities.subgroup_size_control = size.subgroupSizeControl != 0 && size.computeFullSubgroups != 0;
  abilities.cooperative_matrix_khr = matrix_khr.cooperativeMatrix != 0 && abilities.memory_model;
  abilities.cooperative_matrix_nv = matrix_nv.cooperativeMatrix != 0;
}

void ask_properties(const InstanceTable& vk, Listed& listed, Found& found) {
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &found.vulkan11, {}};
  found.vulkan11.pNext = &found.vulkan12;
  VkPhysicalDeviceSubgroupSizeControlProperties size{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
  CooperativeMatrixPropertiesKhr matrix_khr;
  VkPhysicalDeviceCooperativeMatrixPropertiesNV matrix_nv{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_PROPERTIES_NV};
  VkPhysicalDeviceShaderSMBuiltinsPropertiesNV sms{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV};
  VkPhysicalDeviceShaderCorePropertiesAMD cores{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD};
  const auto chain = [&](const char* extension, auto& next) {
    if (found.extensions.count(extension) == 0) return;
    next.pNext = found.vulkan12.pNext;
    found.vulkan12.pNext = &next;
  };
  chain(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME, size);
  chain(kCooperativeMatrixKhr, matrix_khr);
  chain(VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME, matrix_nv);
  chain(VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME, sms);
  chain(VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME, cores);
  vk.vkGetPhysicalDeviceProperties2(listed.physical, &properties);
  found.vulkan11.pNext = found.vulkan12.pNext = nullptr;  // they outlive the others

  Abilities& abilities = listed.abilities;
  const VkSubgroupFeatureFlags subgroup = (found.vulkan11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0
                                              ? found.vulkan11.subgroupSupportedOperations
                                              : 0;
  abilities.subgroup_arithmetic = (subgroup & VK_SUBGROUP_FEATURE_ARITHMETIC_BIT) != 0;
  abilities.subgroup_shuffle = (subgroup & VK_SUBGROUP_FEATURE_SHUFFLE_BIT) != 0;
  abilities.min_subgroup_size = abilities.max_subgroup_size = found.vulkan11.subgroupSize;
  if (abilities.subgroup_size_control) {
    abilities.min_subgroup_size = size.minSubgroupSize;
    abilities.max_subgroup_size = size.maxSubgroupSize;
  }
  abilities.signed_zero_inf_nan_preserve = found.vulkan12.shaderSignedZeroInfNanPreserveFloat32 != 0;
  abilities.denorm_preserve = found.vulkan12.shaderDenormPreserveFloat32 != 0;
  abilities.rounding_rte = found.vulkan12.shaderRoundingModeRTEFloat32 != 0;
  constexpr auto kCompute = VK_SHADER_STAGE_COMPUTE_BIT;
  if ((matrix_khr.cooperativeMatrixSupportedStages & kCompute) == 0) abilities.cooperative_matrix_khr = false;
  if ((matrix_nv.cooperativeMatrixSupportedStages & kCompute) == 0) abilities.cooperative_matrix_nv = false;
  abilities.memory_budget = found.extensions.count(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME) != 0;

  listed.driver_id = found.vulkan12.driverID;
  std::memcpy(listed.driver_uuid, found.vulkan11.driverUUID, VK_UUID_SIZE);
  listed.max_allocation_bytes = found.vulkan11.maxMemoryAllocationSize;
  found.compute_units = sms.shaderSMCount != 0 ? sms.shaderSMCount
                                               : cores.shaderEngineCount * cores.shaderArraysPerEngineCount *
                                                     cores.computeUnitsPerShaderArray;
}

std::string version(std::uint32_t api) {
  return std::to_string(VK_API_VERSION_MAJOR(api)) + "." + std::to_string(VK_API_VERSION_MINOR(api));
}

std::uint32_t kind_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_CPU:  // a GPU's API on the processor: used only when it is named
      return THRT_DEVICE_SOFTWARE;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return THRT_DEVICE_INTEGRATED;
    default:
      return THRT_DEVICE_DISCRETE;
  }
}

// At most 63 characters.
std::string architecture(const Listed& listed) {
  const Abilities& abilities = listed.abilities;
  const bool matrix = abilities.cooperative_matrix_khr || abilities.cooperative_matrix_nv;
  return "vulkan " + version(listed.properties.apiVersion) +
         (abilities.storage_16bit ? ", 16-bit storage" : ", no 16-bit storage") +
         (abilities.shader_f16 ? ", f16" : ", no f16") + (matrix ? ", cooperative matrix" : ", no cooperative matrix");
}

std::string why_unusable(const Listed& listed, const Found& found, int queue_family) {
  std::string missing;
  const auto need = [&](bool has, const char* what) {
    if (!has) missing += (missing.empty() ? "" : " and ") + std::string(what);
  };
  need(found.timeline_semaphore, "timelineSemaphore");
  need(found.storage_8bit, "storageBuffer8BitAccess");
  if (!missing.empty())
    return "its driver lacks the Vulkan features " + missing + ", which are needed; a newer driver may have them";
  if (queue_family < 0) return "it has no queue that computes";
  const VkDeviceSize alignment = listed.properties.limits.minStorageBufferOffsetAlignment;
  if (alignment > kStorageBufferAlignment) {
    return "its storage buffers begin at multiples of " + std::to_string(alignment) + " bytes; " +
           std::to_string(kStorageBufferAlignment) + " or less is needed";
  }
  const std::uint32_t arguments = listed.properties.limits.maxPerStageDescriptorStorageBuffers;
  if (arguments < kLeastArguments) {
    return "its kernels have at most " + std::to_string(arguments) + " storage buffers each; " +
           std::to_string(kLeastArguments) + " are needed";
  }
  return "";
}

void fill(const InstanceTable& vk, Listed& listed) {
  thrt_device_info& info = listed.info;
  vk.vkGetPhysicalDeviceProperties(listed.physical, &listed.properties);
  info.kind = kind_of(listed.properties.deviceType);
  set_text(info.name, listed.properties.deviceName);
  const std::string vulkan = "Vulkan " + version(listed.properties.apiVersion);
  set_text(info.driver, vulkan);
  if (listed.properties.apiVersion < VK_API_VERSION_1_2) {
    set_text(info.unavailable_reason, "its driver speaks " + vulkan + "; 1.2 is needed");
    return;
  }
  Found found;
  found.extensions = extensions_of(vk, listed.physical);
  ask_features(vk, listed, found);
  ask_properties(vk, listed, found);
  const int queue_family = queue_family_of(vk, listed.physical);
  listed.queue_family = static_cast<std::uint32_t>(std::max(queue_family, 0));

  VkPhysicalDeviceMemoryProperties2 memory{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2, nullptr, {}};
  vk.vkGetPhysicalDeviceMemoryProperties2(listed.physical, &memory);
  info.memory_total = memory.memoryProperties.memoryHeaps[device_heap(memory.memoryProperties)].size;
  info.memory_free = free_memory(vk, listed);
  // Values are bound one by one: maxStorageBufferRange limits each of them, and not the buffer.
  info.max_buffer_bytes = listed.max_allocation_bytes;
  info.compute_units =
      info.kind == THRT_DEVICE_SOFTWARE ? std::max(1u, std::thread::hardware_concurrency()) : found.compute_units;
  info.storage_dtypes =
      1u << THRT_DTYPE_F32 | 1u << THRT_DTYPE_I32 | 1u << THRT_DTYPE_U32 | 1u << THRT_DTYPE_U8 | 1u << THRT_DTYPE_BOOL;
  if (listed.abilities.storage_16bit) info.storage_dtypes |= 1u << THRT_DTYPE_F16 | 1u << THRT_DTYPE_BF16;
  info.precisions = 1u << THRT_PRECISION_F32;
  info.subgroup_size = found.vulkan11.subgroupSize;
  set_text(info.driver, vulkan + ", " + found.vulkan12.driverName + " " + found.vulkan12.driverInfo);
  set_text(info.architecture, architecture(listed));
  const std::string reason = why_unusable(listed, found, queue_family);
  info.available = reason.empty() ? 1 : 0;
  set_text(info.unavailable_reason, reason);
}

}  // namespace

Features::Features() {
  core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  core.pNext = &vulkan11;
  vulkan11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  vulkan11.pNext = &vulkan12;
  vulkan12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
}

std::vector<Listed> list_devices(const InstanceTable& vk, VkInstance instance) {
  std::uint32_t count = 0;
  THRT_VK(vk, vkEnumeratePhysicalDevices, instance, &count, nullptr);
  std::vector<VkPhysicalDevice> physical(count);
  THRT_VK(vk, vkEnumeratePhysicalDevices, instance, &count, physical.data());
  std::vector<Listed> list(std::min(count, kMostDevices));
  for (std::size_t i = 0; i < list.size(); ++i) {
    list[i].physical = physical[i];
    try {
      fill(vk, list[i]);
    } catch (const thrt::sdk::Error& e) {  // a driver that is broken takes nothing from the others
      list[i].info.available = 0;
      set_text(list[i].info.unavailable_reason, e.what());
    }
  }
  return list;
}

Listed unavailable(const std::string& reason) {
  Listed listed;
  listed.info.kind = THRT_DEVICE_DISCRETE;
  set_text(listed.info.name, "any Vulkan device");
  set_text(listed.info.unavailable_reason, reason);
  return listed;
}

std::uint32_t device_heap(const VkPhysicalDeviceMemoryProperties& properties) {
  std::uint32_t best = 0;
  for (std::uint32_t i = 1; i < properties.memoryHeapCount; ++i) {
    const auto local = [&](std::uint32_t heap) {
      return (properties.memoryHeaps[heap].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0;
    };
    const bool larger = properties.memoryHeaps[i].size > properties.memoryHeaps[best].size;
    if (local(i) != local(best) ? local(i) : larger) best = i;
  }
  return best;
}

std::uint64_t free_memory(const InstanceTable& vk, const Listed& device) {
  if (device.physical == nullptr) return 0;
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
  VkPhysicalDeviceMemoryProperties2 memory{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2, nullptr, {}};
  if (device.abilities.memory_budget) memory.pNext = &budget;
  vk.vkGetPhysicalDeviceMemoryProperties2(device.physical, &memory);
  const std::uint32_t heap = device_heap(memory.memoryProperties);
  if (!device.abilities.memory_budget) return memory.memoryProperties.memoryHeaps[heap].size;
  const std::uint64_t allowed = budget.heapBudget[heap], used = budget.heapUsage[heap];
  return std::min<std::uint64_t>(allowed > used ? allowed - used : 0, memory.memoryProperties.memoryHeaps[heap].size);
}

}  // namespace thrt_vulkan
