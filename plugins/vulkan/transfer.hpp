// What one context queues, in order: runs, uploads, downloads.
//
// Copies are gathered in one command buffer that goes to the queue together with the next run, or when somebody waits
// for one of them, so that uploads, a run and a download are one submission or two. Their bytes pass through a ring of
// host-visible memory; what is larger than a quarter of it passes in pieces. Where the host sees the buffer itself, an
// upload to an idle queue is written at once, and a download that is waited for before anything else is queued is read
// where it lies.
#pragma once

#include "memory.hpp"
#include "ring.hpp"
#include "timeline.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace thrt_vulkan {

class Stream {
 public:
  static constexpr std::uint64_t kRingBytes = std::uint64_t{8} << 20;

  explicit Stream(Device& device, std::uint64_t ring_bytes = kRingBytes);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();  // waits for all

  // Queues all the commands, in order, `repeat` times. Those that are queued more than once were begun with
  // VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT. Each begins with Device::begin_barrier and ends with
  // Device::end_barrier. Allocates nothing and waits for nothing, unless a download before it has no room in the ring.
  thrt_ticket run(std::span<const VkCommandBuffer> commands, std::uint32_t repeat);

  // Queue a copy. The source may go when upload() has returned; the destination is written by whoever waits for the
  // ticket, or earlier.
  thrt_ticket upload(const Region& to, std::span<const std::byte> source);
  thrt_ticket download(const Region& from, std::span<std::byte> destination);

  // From any thread; false: not in time. Throws the failure of work up to the ticket, once; DEVICE_LOST each time.
  // When the driver did not take what was queued, everything throws why, ever after: what was promised is not done.
  // Throws INVALID_ARGUMENT for a ticket that was not handed out.
  bool wait(thrt_ticket ticket, std::uint64_t timeout_ns);
  // The work of this ticket failed: wait() says so.
  void fail(thrt_ticket ticket, std::exception_ptr failure);
  // Waits for all that is queued, whatever becomes of it. Failures stay for wait().
  void finish() noexcept;

  // Waits for the bytes.
  void read(const Region& from, std::span<std::byte> destination) { wait(download(from, destination), UINT64_MAX); }

  thrt_ticket last() const;           // the newest ticket
  std::uint64_t submissions() const;  // vkQueueSubmit calls so far
  std::uint64_t ring_bytes() const { return ring_.bytes(); }

 private:
  // A piece of the ring until `ticket`, and where its bytes go then.
  struct Staged {
    thrt_ticket ticket;
    std::uint64_t end;  // Ring::end, or 0: the next one has the end of both
    std::byte* from;    // in the ring
    std::span<std::byte> destination;
  };
  // A download that is read where it lies, or goes through the ring before anything else is queued. There are none
  // while copies are open.
  struct Direct {
    Region from;
    std::span<std::byte> destination;
  };
  struct Touched {  // by the copies since the last barrier
    VkBuffer buffer;
    std::uint64_t begin, end;
    bool written;
  };
  struct Used {  // a command buffer of copies that was submitted
    VkCommandBuffer commands;
    thrt_ticket ticket;
  };

  // The ticket of what is queued now: the submission that will do it. So values that are waited for are values that
  // were submitted: the validation layers of 2022 wait for others for ever.
  thrt_ticket next() const { return timeline_.submitted() + 1; }

  using Lock = std::unique_lock<std::mutex>;
  // Calls queue(); what it throws breaks the stream: part of it may be queued, and tickets before it have no work.
  template <typename Queue>
  auto unless_broken(Queue&& queue) {
    require_unbroken();
    try {
      return queue();
    } catch (...) {
      give_up(std::current_exception());
      throw;
    }
  }

  // All but reach() need the lock; those that are given it wait without it, so that other threads' waits keep their time (only one
  // thread queues).
  bool reach(thrt_ticket ticket, std::uint64_t timeout_ns);
  void require_unbroken() const;
  void give_up(std::exception_ptr why) noexcept;
  void wait_unlocked(thrt_ticket ticket, Lock& lock);
  bool idle() const;
  void make_ring();
  std::uint64_t take_ring(std::uint64_t bytes, Lock& lock);
  VkCommandBuffer open_copies();
  void copy(VkBuffer from, std::uint64_t from_offset, VkBuffer to, std::uint64_t to_offset, std::uint64_t bytes);
  void order(const Touched& next);
  void read_directly();
  void settle_direct(Lock& lock);
  VkCommandBuffer close_copies();
  void flush();
  void collect();

  Device& device_;
  mutable std::mutex mutex_;  // guards all below, but what the timeline does for any thread
  Timeline timeline_;
  thrt_ticket last_ = 0;  // handed out

  VkCommandPool pool_ = nullptr;
  VkCommandBuffer open_ = nullptr;  // being recorded, or null
  std::vector<Touched> touched_;
  std::deque<Used> used_;

  Ring ring_;
  VkBuffer ring_buffer_ = nullptr;
  VkDeviceMemory ring_memory_ = nullptr;
  std::byte* ring_host_ = nullptr;
  std::deque<Staged> staged_;
  std::vector<Direct> direct_;  // the newest of all

  std::exception_ptr failure_;
  thrt_ticket failed_ = 0;
  std::exception_ptr broken_;  // why nothing is queued any more
};

}  // namespace thrt_vulkan
