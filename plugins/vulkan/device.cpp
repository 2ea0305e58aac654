#include "device.hpp"

#include <thrt/sdk/error.hpp>

namespace thrt_vulkan {

namespace {

// All that kernels and copies do, for barriers.
constexpr VkPipelineStageFlags kStages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkAccessFlags kWrites = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
constexpr VkAccessFlags kAll = kWrites | VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT;

VkMemoryBarrier memory_barrier(VkAccessFlags before, VkAccessFlags after) {
  return {VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, before, after};
}

// In which types of memory buffers may lie.
std::uint32_t buffer_memory_types(const DeviceTable& vk, VkDevice device) {
  VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = 256;
  info.usage = kBufferUsage;
  info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  VkBuffer probe = nullptr;
  THRT_VK(vk, vkCreateBuffer, device, &info, nullptr, &probe);
  VkMemoryRequirements needs{};
  vk.vkGetBufferMemoryRequirements(device, probe, &needs);
  vk.vkDestroyBuffer(device, probe, nullptr);
  return needs.memoryTypeBits;
}

}  // namespace

Device::Device(const Instance& instance, const Listed& listed, std::uint64_t budget)
    : instance_(instance), listed_(listed), budget_(budget) {
  instance.messages().require_none();
  try {
    create();
    allocator_ = std::make_unique<Allocator>(*this, budget_);
    stream_ = std::make_unique<Stream>(*this);
  } catch (...) {
    destroy();
    throw;
  }
}

Device::~Device() {
  if (stream_ != nullptr) stream_->finish();
  destroy();
}

void Device::destroy() noexcept {
  stream_.reset();
  allocator_.reset();
  if (vk_.vkDestroyDevice != nullptr) {
    const KeepSignalHandlers keep;
    vk_.vkDestroyDevice(handle_, nullptr);
  }
}

void Device::create() {
  const KeepSignalHandlers keep;
  Features features;  // what kernels use, and no more of what was found
  features.vulkan11.storageBuffer16BitAccess = listed_.abilities.storage_16bit;
  features.vulkan12.storageBuffer8BitAccess = VK_TRUE;
  features.vulkan12.timelineSemaphore = VK_TRUE;

  const float priority = 1.0f;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = listed_.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &features.core};
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  THRT_VK(instance_.vk(), vkCreateDevice, listed_.physical, &info, nullptr, &handle_);
  try {
    vk_ = load_device_functions(instance_.vk(), handle_);
  } catch (...) {
    const auto destroy =
        reinterpret_cast<PFN_vkDestroyDevice>(instance_.vk().vkGetDeviceProcAddr(handle_, "vkDestroyDevice"));
    if (destroy != nullptr) destroy(handle_, nullptr);
    throw;
  }
  vk_.vkGetDeviceQueue(handle_, listed_.queue_family, 0, &queue_);
  VkPhysicalDeviceMemoryProperties2 memory{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2, nullptr, {}};
  instance_.vk().vkGetPhysicalDeviceMemoryProperties2(listed_.physical, &memory);
  memory_types_ = choose_memory_types(memory.memoryProperties, buffer_memory_types(vk_, handle_));
}

void Device::barrier(VkCommandBuffer commands) const {
  const VkMemoryBarrier barrier = memory_barrier(kWrites, kAll);
  vk_.vkCmdPipelineBarrier(commands, kStages, kStages, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

void Device::compute_barrier(VkCommandBuffer commands) const {
  const VkMemoryBarrier barrier =
      memory_barrier(VK_ACCESS_SHADER_WRITE_BIT, VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
  vk_.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1,
                           &barrier, 0, nullptr, 0, nullptr);
}

void Device::end_barrier(VkCommandBuffer commands) const {
  const VkMemoryBarrier barrier = memory_barrier(kWrites, VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT);
  vk_.vkCmdPipelineBarrier(commands, kStages, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

}  // namespace thrt_vulkan
