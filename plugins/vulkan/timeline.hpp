// The one queue of a device, in order, and how far it is: a timeline semaphore whose values are tickets.
#pragma once

#include "vulkan_api.hpp"

#include <atomic>
#include <cstdint>
#include <span>

namespace thrt_vulkan {

class Device;

class Timeline {
 public:
  explicit Timeline(const Device& device);
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;
  ~Timeline();

  // Queues `first`, if it is not null, and then all of `commands` `repeat` times; the semaphore has `value` when all is
  // done. Allocates nothing. One thread at a time.
  void submit(VkCommandBuffer first, std::span<const VkCommandBuffer> commands, std::uint32_t repeat,
              std::uint64_t value);

  std::uint64_t submitted() const { return submitted_; }  // the newest value that was queued
  // From any thread.
  bool reached(std::uint64_t value) const;
  bool wait(std::uint64_t value, std::uint64_t timeout_ns) const;  // false: not in time

  std::uint64_t submissions() const { return submissions_; }  // vkQueueSubmit calls

 private:
  void saw(std::uint64_t value) const;

  const Device& device_;
  VkSemaphore semaphore_ = nullptr;
  std::uint64_t submitted_ = 0, submissions_ = 0;
  mutable std::atomic<std::uint64_t> reached_{0};  // what was seen last; the semaphore may be further
};

}  // namespace thrt_vulkan
