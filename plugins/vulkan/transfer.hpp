// What one context queues, in order: runs, uploads, downloads. A ticket is a value of one timeline semaphore.
//
// Copies are gathered in one command buffer that goes to the queue together with the next run, or when somebody waits for one of
// them, so that uploads, a run and a download are one submission or two. Their bytes pass through a ring of host-visible memory; what is
// larger than the ring passes in pieces. Where the host sees the buffer itself, an upload to an idle queue is written at once, and a download
// that is waited for before anything else is queued is read where it lies.
#pragma once

#include "memory.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <span>
#include <vector>

namespace thrt_vulkan {

class Stream {
 public:
  explicit Stream(Device& device, std::uint64_t ring_bytes = kRingBytes);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();  // waits for all

  static constexpr std::uint64_t kRingBytes = std::uint64_t{8} << 20;

  // Queues the commands `repeat` times; more than once only if they were begun with VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT. They begin with
  // Device::begin_barrier and end with Device::end_barrier. Allocates nothing and waits for nothing.
  thrt_ticket run(VkCommandBuffer commands, std::uint32_t repeat);

  // Queue a copy. The source may go when upload() has returned; the destination is written by whoever waits for the ticket, or earlier.
  thrt_ticket upload(const Region& to, std::span<const std::byte> source);
  thrt_ticket download(const Region& from, std::span<std::byte> destination);

  // From any thread; false: not in time. Throws the failure of work up to the ticket, once; DEVICE_LOST each time. Throws INVALID_ARGUMENT
  // for a ticket that was not handed out.
  bool wait(thrt_ticket ticket, std::uint64_t timeout_ns);
  // The work of this ticket failed: wait() says so.
  void fail(thrt_ticket ticket, std::exception_ptr failure);
  // Waits for all that is queued, whatever becomes of it.
  void finish() noexcept;

  // Waits for the bytes.
  void read(const Region& from, std::span<std::byte> destination) { wait(download(from, destination), UINT64_MAX); }

  thrt_ticket last() const;           // the newest ticket
  std::uint64_t submissions() const;  // vkQueueSubmit calls so far
};

}  // namespace thrt_vulkan
