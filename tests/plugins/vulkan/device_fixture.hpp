// A device for tests that look inside the backend: the first that is available, with the validation layers on. Whatever
// they say fails the test.
#pragma once

#include "../../../plugins/vulkan/device.hpp"

#include <thrt/sdk/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace thrt_vulkan {

using Bytes = std::vector<std::byte>;

inline Bytes pattern(std::size_t size, unsigned seed) {
  Bytes bytes(size);
  std::uint32_t state = seed * 2654435761u + 1u;
  for (std::byte& byte : bytes) {
    state = state * 1664525u + 1013904223u;  // Numerical Recipes' generator
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

inline const Listed* first_available(const Instance& instance) {
  for (const Listed& listed : instance.devices()) {
    if (listed.info.available != 0) return &listed;
  }
  return nullptr;
}

// The status and text of what `body` throws.
template <typename Body>
thrt::sdk::Error error_of(Body&& body) {
  try {
    body();
  } catch (const thrt::sdk::Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {THRT_OK, ""};
}

class DeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    setenv("THRUST_VULKAN_VALIDATION", "1", 1);
    instance_ = std::make_unique<Instance>();
    listed_ = first_available(*instance_);
    if (listed_ == nullptr) GTEST_SKIP() << "no Vulkan device: " << instance_->devices()[0].info.unavailable_reason;
    open(std::uint64_t{64} << 20);
  }
  void TearDown() override {
    device_.reset();
    if (instance_ == nullptr) return;
    EXPECT_NO_THROW(instance_->messages().require_none());
  }
  void open(std::uint64_t budget) {
    device_.reset();
    device_ = std::make_unique<Device>(*instance_, *listed_, budget);
  }
  // Commands as Stream::run wants them. The pool is the test's.
  template <typename Record>
  VkCommandBuffer commands(VkCommandPool pool, Record&& record, VkCommandBufferUsageFlags usage = 0) {
    VkCommandBufferAllocateInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, nullptr, pool,
                                     VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
    VkCommandBuffer made = nullptr;
    THRT_VK(device_->vk(), vkAllocateCommandBuffers, device_->handle(), &info, &made);
    VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, nullptr, usage, nullptr};
    THRT_VK(device_->vk(), vkBeginCommandBuffer, made, &begin);
    device_->begin_barrier(made);
    record(made);
    device_->end_barrier(made);
    THRT_VK(device_->vk(), vkEndCommandBuffer, made);
    return made;
  }

  std::unique_ptr<Instance> instance_;
  const Listed* listed_ = nullptr;
  std::unique_ptr<Device> device_;
};

// A command pool of the device.
class Pool {
 public:
  explicit Pool(Device& device) : device_(device) {
    VkCommandPoolCreateInfo info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, nullptr, 0, device.queue_family()};
    THRT_VK(device.vk(), vkCreateCommandPool, device.handle(), &info, nullptr, &pool_);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    device_.stream().finish();
    device_.vk().vkDestroyCommandPool(device_.handle(), pool_, nullptr);
  }
  VkCommandPool get() const { return pool_; }

 private:
  Device& device_;
  VkCommandPool pool_ = nullptr;
};

}  // namespace thrt_vulkan
