// The functions of Vulkan 1.2 that this backend calls, found at run time: a plugin that links libvulkan would not load
// where there is none, and could not say so.
#pragma once

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <array>
#include <csignal>
#include <mutex>
#include <string>

namespace thrt_vulkan {

// clang-format off
// Without an instance.
#define THRT_VULKAN_GLOBAL_FUNCTIONS(X)                                                                           \
  X(vkEnumerateInstanceVersion) X(vkEnumerateInstanceExtensionProperties) X(vkEnumerateInstanceLayerProperties)   \
  X(vkCreateInstance)
// Of an instance.
#define THRT_VULKAN_INSTANCE_FUNCTIONS(X)                                                                         \
  X(vkDestroyInstance) X(vkEnumeratePhysicalDevices) X(vkGetPhysicalDeviceProperties)                             \
  X(vkGetPhysicalDeviceProperties2) X(vkGetPhysicalDeviceFeatures2) X(vkGetPhysicalDeviceMemoryProperties2)       \
  X(vkGetPhysicalDeviceQueueFamilyProperties) X(vkEnumerateDeviceExtensionProperties) X(vkCreateDevice)           \
  X(vkGetDeviceProcAddr)
// Of a device.
#define THRT_VULKAN_DEVICE_FUNCTIONS(X)                                                                           \
  X(vkDestroyDevice) X(vkDeviceWaitIdle) X(vkGetDeviceQueue) X(vkQueueSubmit)                                     \
  X(vkAllocateMemory) X(vkFreeMemory) X(vkMapMemory) X(vkCreateBuffer) X(vkDestroyBuffer)                         \
  X(vkGetBufferMemoryRequirements) X(vkBindBufferMemory)                                                          \
  X(vkCreateSemaphore) X(vkDestroySemaphore) X(vkGetSemaphoreCounterValue) X(vkWaitSemaphores)                    \
  X(vkCreateShaderModule) X(vkDestroyShaderModule) X(vkCreatePipelineCache) X(vkDestroyPipelineCache)             \
  X(vkGetPipelineCacheData) X(vkMergePipelineCaches) X(vkCreateComputePipelines) X(vkDestroyPipeline)             \
  X(vkCreatePipelineLayout) X(vkDestroyPipelineLayout) X(vkCreateDescriptorSetLayout)                             \
  X(vkDestroyDescriptorSetLayout) X(vkCreateDescriptorPool) X(vkDestroyDescriptorPool) X(vkResetDescriptorPool)   \
  X(vkAllocateDescriptorSets) X(vkUpdateDescriptorSets) X(vkCreateCommandPool) X(vkDestroyCommandPool)            \
  X(vkResetCommandPool) X(vkAllocateCommandBuffers) X(vkFreeCommandBuffers) X(vkBeginCommandBuffer)               \
  X(vkEndCommandBuffer) X(vkResetCommandBuffer) X(vkCmdBindPipeline) X(vkCmdBindDescriptorSets) X(vkCmdDispatch)  \
  X(vkCmdPipelineBarrier) X(vkCmdCopyBuffer) X(vkCmdFillBuffer) X(vkCmdUpdateBuffer) X(vkCmdPushConstants)        \
  X(vkCreateQueryPool) X(vkDestroyQueryPool) X(vkCmdResetQueryPool) X(vkCmdWriteTimestamp) X(vkGetQueryPoolResults)
// clang-format on

#define THRT_DECLARE(name) PFN_##name name = nullptr;
struct Loader {
  std::string missing;  // why there is no Vulkan here, or ""
  THRT_DECLARE(vkGetInstanceProcAddr)
  THRT_VULKAN_GLOBAL_FUNCTIONS(THRT_DECLARE)
};
struct InstanceTable {
  THRT_VULKAN_INSTANCE_FUNCTIONS(THRT_DECLARE)
};
struct DeviceTable {
  THRT_VULKAN_DEVICE_FUNCTIONS(THRT_DECLARE)
};
#undef THRT_DECLARE

// Opens the loader, never closes it: drivers start threads and do not survive being unloaded. Opening it again costs
// nothing.
Loader load_vulkan(const char* library_name = "libvulkan.so.1");
// Throw THRT_UNAVAILABLE, naming the function, if one is missing.
InstanceTable load_instance_functions(const Loader& loader, VkInstance instance);
DeviceTable load_device_functions(const InstanceTable& instance, VkDevice device);

// "VK_ERROR_DEVICE_LOST", or the number of a code that is not known.
std::string name_of(VkResult result);

// Throws sdk::Error with Vulkan's code and function if the result is an error: DEVICE_LOST, OUT_OF_MEMORY or INTERNAL.
// Results that are no errors (VK_TIMEOUT, VK_INCOMPLETE) pass. Memory for buffers is asked for elsewhere (memory.hpp),
// with the bytes in the message.
void check(VkResult result, const char* function);

// Calls a function of a table and checks what it answers: THRT_VK(device.vk, vkQueueSubmit, queue, ...).
#define THRT_VK(table, function, ...) ::thrt_vulkan::check((table).function(__VA_ARGS__), #function)

// Puts the handlers of signals back to what they were. A driver that brings LLVM along installs LLVM's when it starts
// and when it compiles; a backend must leave them alone. One at a time: two contexts may compile side by side, and the
// second would take LLVM's handlers for the host's. Held around the calls that reach a compiler: instance and device
// creation, pipelines.
class KeepSignalHandlers {
 public:
  KeepSignalHandlers();
  KeepSignalHandlers(const KeepSignalHandlers&) = delete;
  KeepSignalHandlers& operator=(const KeepSignalHandlers&) = delete;
  ~KeepSignalHandlers();

 private:
  static std::mutex one_at_a_time;
  std::lock_guard<std::mutex> lock_{one_at_a_time};
  std::array<struct sigaction, 65> handlers_{};  // by number
};

}  // namespace thrt_vulkan
