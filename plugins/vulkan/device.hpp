// One Vulkan device that is open: VkDevice, one queue, memory budget, what is queued. Each context has one.
#pragma once

#include "instance.hpp"
#include "memory.hpp"
#include "transfer.hpp"

#include <memory>

namespace thrt_vulkan {

class Device {
 public:
  // budget: bytes for buffers, workspaces and constants together. The instance and `listed` outlive it.
  Device(const Instance& instance, const Listed& listed, std::uint64_t budget);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device();  // waits for queued work; what was made from it is gone

  VkDevice handle() const { return handle_; }
  const DeviceTable& vk() const { return vk_; }
  VkQueue queue() const { return queue_; }
  std::uint32_t queue_family() const { return listed_.queue_family; }

  const Instance& instance() const { return instance_; }
  const Listed& listed() const { return listed_; }
  const thrt_device_info& info() const { return listed_.info; }
  const Abilities& abilities() const { return listed_.abilities; }
  const VkPhysicalDeviceLimits& limits() const { return listed_.properties.limits; }
  const MemoryTypes& memory_types() const { return memory_types_; }

  Budget& budget() { return budget_; }
  const Budget& budget() const { return budget_; }
  Allocator& allocator() { return *allocator_; }
  Stream& stream() { return *stream_; }

  // Between commands that depend on each other: what was written by kernels and copies before is seen by kernels and
  // copies after.
  void barrier(VkCommandBuffer commands) const;
  // The same between kernels alone.
  void compute_barrier(VkCommandBuffer commands) const;
  // At the begin and at the end of every command buffer that is given to Stream::run: after what was queued before, and
  // before the host reads or writes memory that it sees.
  void begin_barrier(VkCommandBuffer commands) const { barrier(commands); }
  void end_barrier(VkCommandBuffer commands) const;

 private:
  void create();
  void destroy() noexcept;

  const Instance& instance_;
  const Listed& listed_;
  VkDevice handle_ = nullptr;
  DeviceTable vk_;
  VkQueue queue_ = nullptr;
  MemoryTypes memory_types_;
  Budget budget_;
  std::unique_ptr<Allocator> allocator_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace thrt_vulkan
