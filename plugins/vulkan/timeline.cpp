#include "timeline.hpp"

#include "device.hpp"

#include <array>

namespace thrt_vulkan {

Timeline::Timeline(const Device& device) : device_(device) {
  VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, nullptr, VK_SEMAPHORE_TYPE_TIMELINE, 0};
  VkSemaphoreCreateInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type, 0};
  THRT_VK(device_.vk(), vkCreateSemaphore, device_.handle(), &info, nullptr, &semaphore_);
}

Timeline::~Timeline() {
  device_.vk().vkDestroySemaphore(device_.handle(), semaphore_, nullptr);
}

void Timeline::submit(VkCommandBuffer first, std::span<const VkCommandBuffer> commands, std::uint32_t repeat,
                      std::uint64_t value) {
  std::array<VkCommandBuffer, 64> list;
  std::uint32_t count = 0;
  const auto send = [&](bool last) {
    VkTimelineSemaphoreSubmitInfo timeline{
        VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO, nullptr, 0, nullptr, 1, &value};
    VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
    info.commandBufferCount = count;
    info.pCommandBuffers = list.data();
    if (last) {
      info.pNext = &timeline;
      info.signalSemaphoreCount = 1;
      info.pSignalSemaphores = &semaphore_;
    }
    THRT_VK(device_.vk(), vkQueueSubmit, device_.queue(), 1, &info, nullptr);
    ++submissions_;
    count = 0;
  };
  if (first != nullptr) list[count++] = first;
  for (std::uint32_t i = 0; i < repeat; ++i) {
    for (VkCommandBuffer each : commands) {
      if (count == list.size()) send(false);
      list[count++] = each;
    }
  }
  send(true);
  submitted_ = value;
}

bool Timeline::reached(std::uint64_t value) const {
  if (reached_.load(std::memory_order_acquire) >= value) return true;
  std::uint64_t now = 0;
  THRT_VK(device_.vk(), vkGetSemaphoreCounterValue, device_.handle(), semaphore_, &now);
  saw(now);
  return now >= value;
}

bool Timeline::wait(std::uint64_t value, std::uint64_t timeout_ns) const {
  if (reached_.load(std::memory_order_acquire) >= value) return true;
  VkSemaphoreWaitInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, nullptr, 0, 1, &semaphore_, &value};
  const VkResult result = device_.vk().vkWaitSemaphores(device_.handle(), &info, timeout_ns);
  check(result, "vkWaitSemaphores");
  if (result == VK_TIMEOUT) return false;
  saw(value);
  return true;
}

void Timeline::saw(std::uint64_t value) const {
  std::uint64_t before = reached_.load(std::memory_order_relaxed);
  while (before < value && !reached_.compare_exchange_weak(before, value, std::memory_order_release)) {
  }
}

}  // namespace thrt_vulkan
