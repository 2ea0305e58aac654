#include "transfer.hpp"

#include "device.hpp"

#include <thrt/sdk/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>

namespace thrt_vulkan {

using thrt::sdk::Error;

namespace {

constexpr std::size_t kMostTouched = 64;  // then a barrier, instead of a longer search

using Clock = std::chrono::steady_clock;
constexpr std::uint64_t kForEver = std::uint64_t{1} << 60;  // 36 years; later ends overflow the clock

}  // namespace

Stream::Stream(Device& device, std::uint64_t ring_bytes) : device_(device), timeline_(device), ring_(ring_bytes) {
  VkCommandPoolCreateInfo info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, nullptr,
                               VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT | VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
                               device.queue_family()};
  THRT_VK(device.vk(), vkCreateCommandPool, device.handle(), &info, nullptr, &pool_);
  touched_.reserve(kMostTouched);
}

Stream::~Stream() {
  finish();
  device_.vk().vkDestroyCommandPool(device_.handle(), pool_, nullptr);
  device_.vk().vkDestroyBuffer(device_.handle(), ring_buffer_, nullptr);
  device_.vk().vkFreeMemory(device_.handle(), ring_memory_, nullptr);
}

thrt_ticket Stream::run(std::span<const VkCommandBuffer> commands, std::uint32_t repeat) {
  Lock lock(mutex_);
  return unless_broken([&] {
    settle_direct(lock);
    VkCommandBuffer copies = close_copies();
    timeline_.submit(copies, commands, repeat, next());
    if (copies != nullptr) used_.push_back({copies, timeline_.submitted()});
    return last_ = timeline_.submitted();
  });
}

thrt_ticket Stream::upload(const Region& to, std::span<const std::byte> source) {
  Lock lock(mutex_);
  if (source.empty()) return last_;
  return unless_broken([&] {
    settle_direct(lock);
    if (to.host != nullptr && idle()) {  // the submission that reads it makes it visible to the device
      std::memcpy(to.host, source.data(), source.size());
      return last_;
    }
    const std::uint64_t piece = ring_.bytes() / 4;
    for (std::uint64_t at = 0; at < source.size(); at += piece) {
      const std::uint64_t bytes = std::min<std::uint64_t>(piece, source.size() - at);
      const std::uint64_t offset = take_ring(bytes, lock);
      std::memcpy(ring_host_ + offset, source.data() + at, bytes);
      copy(ring_buffer_, offset, to.buffer, to.offset + at, bytes);
      staged_.push_back({next(), ring_.end(), nullptr, {}});
    }
    return last_ = next();
  });
}

thrt_ticket Stream::download(const Region& from, std::span<std::byte> destination) {
  Lock lock(mutex_);
  if (destination.empty()) return last_;
  return unless_broken([&] {
    const std::uint64_t piece = ring_.bytes() / 4;
    if (from.host != nullptr && from.host_cached && open_ == nullptr) {
      if (idle()) {
        std::memcpy(destination.data(), from.host, destination.size());
        return last_;
      }
      if (destination.size() <= piece) {
        direct_.push_back({from, destination});
        return last_ = next();
      }
    }
    settle_direct(lock);
    for (std::uint64_t at = 0; at < destination.size(); at += piece) {
      const std::uint64_t bytes = std::min<std::uint64_t>(piece, destination.size() - at);
      const std::uint64_t offset = take_ring(bytes, lock);
      copy(from.buffer, from.offset + at, ring_buffer_, offset, bytes);
      staged_.push_back({next(), ring_.end(), ring_host_ + offset, destination.subspan(at, bytes)});
    }
    return last_ = next();
  });
}

bool Stream::wait(thrt_ticket ticket, std::uint64_t timeout_ns) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (ticket > last_) {
      throw Error(THRT_INVALID_ARGUMENT, "ticket " + std::to_string(ticket) + " was never handed out");
    }
  }
  if (!reach(ticket, timeout_ns)) return false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (failure_ != nullptr && failed_ <= ticket) std::rethrow_exception(std::exchange(failure_, nullptr));
  }
  device_.instance().messages().require_none();
  return true;
}

void Stream::fail(thrt_ticket ticket, std::exception_ptr failure) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (failure_ != nullptr) return;  // the first is the cause
  failure_ = std::move(failure);
  failed_ = ticket;
}

void Stream::finish() noexcept {
  try {
    reach(last(), UINT64_MAX);
  } catch (...) {  // the device is lost and runs nothing any more, or something is queued that no ticket stands for
    const std::lock_guard<std::mutex> lock(mutex_);
    device_.vk().vkDeviceWaitIdle(device_.handle());
  }
}

void Stream::require_unbroken() const {
  if (broken_ != nullptr) std::rethrow_exception(broken_);
}

// Nothing is written for those who wait, who are told why, after this returns.
void Stream::give_up(std::exception_ptr why) noexcept {
  if (broken_ != nullptr) return;
  broken_ = std::move(why);
  device_.vk().vkDeviceWaitIdle(device_.handle());
  staged_.clear();
  direct_.clear();
}

thrt_ticket Stream::last() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return last_;
}

std::uint64_t Stream::submissions() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return timeline_.submissions();
}

// Others may queue while this waits, and what was to be read where it lies then goes through the ring, with what they queued.
bool Stream::reach(thrt_ticket ticket, std::uint64_t timeout_ns) {
  const auto end = Clock::now() + std::chrono::nanoseconds(std::min(timeout_ns, kForEver));
  for (;;) {
    thrt_ticket target = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      require_unbroken();
      if (ticket > timeline_.submitted()) unless_broken([&] { flush(); });
      target = std::min(ticket, timeline_.submitted());
    }
    std::uint64_t left = timeout_ns;
    if (timeout_ns < kForEver) {
      const auto now = Clock::now();
      left = now < end ? static_cast<std::uint64_t>(std::chrono::nanoseconds(end - now).count()) : 0;
    }
    if (!timeline_.wait(target, left)) return false;
    const std::lock_guard<std::mutex> lock(mutex_);
    require_unbroken();
    collect();
    if (ticket <= target) return true;
    if (target == timeline_.submitted() && open_ == nullptr) {  // nothing was queued behind it
      read_directly();
      return true;
    }
  }
}

void Stream::wait_unlocked(thrt_ticket ticket, Lock& lock) {
  struct Relock {
    Lock& lock;
    ~Relock() { lock.lock(); }
  };
  lock.unlock();
  {
    const Relock relock{lock};
    timeline_.wait(ticket, UINT64_MAX);
  }
  require_unbroken();
}

bool Stream::idle() const {
  return open_ == nullptr && direct_.empty() && timeline_.reached(timeline_.submitted());
}

void Stream::make_ring() {
  const DeviceTable& vk = device_.vk();
  VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = ring_.bytes();
  info.usage = kBufferUsage;  // of this usage, so that it takes the memory type chosen for it
  info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  THRT_VK(vk, vkCreateBuffer, device_.handle(), &info, nullptr, &ring_buffer_);
  VkMemoryRequirements needs{};
  vk.vkGetBufferMemoryRequirements(device_.handle(), ring_buffer_, &needs);
  VkMemoryAllocateInfo memory{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, nullptr, needs.size,
                              device_.memory_types().staging.index};
  THRT_VK(vk, vkAllocateMemory, device_.handle(), &memory, nullptr, &ring_memory_);
  THRT_VK(vk, vkBindBufferMemory, device_.handle(), ring_buffer_, ring_memory_, 0);
  void* host = nullptr;
  THRT_VK(vk, vkMapMemory, device_.handle(), ring_memory_, 0, VK_WHOLE_SIZE, 0, &host);
  ring_host_ = static_cast<std::byte*>(host);
}

// Waits only if the ring is full.
std::uint64_t Stream::take_ring(std::uint64_t bytes, Lock& lock) {
  if (ring_host_ == nullptr) make_ring();
  for (;;) {
    if (const std::optional<std::uint64_t> offset = ring_.take(bytes)) return *offset;
    const thrt_ticket oldest = staged_.front().ticket;
    if (oldest > timeline_.submitted()) flush();
    wait_unlocked(oldest, lock);
    collect();
  }
}

VkCommandBuffer Stream::open_copies() {
  if (open_ != nullptr) return open_;
  const DeviceTable& vk = device_.vk();
  VkCommandBuffer commands = nullptr;
  if (!used_.empty() && timeline_.reached(used_.front().ticket)) {
    commands = used_.front().commands;
    used_.pop_front();
  } else {
    VkCommandBufferAllocateInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, nullptr, pool_,
                                     VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
    THRT_VK(vk, vkAllocateCommandBuffers, device_.handle(), &info, &commands);
  }
  VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, nullptr,
                                 VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT, nullptr};
  THRT_VK(vk, vkBeginCommandBuffer, commands, &begin);
  device_.begin_barrier(commands);
  touched_.clear();
  return open_ = commands;
}

void Stream::copy(VkBuffer from, std::uint64_t from_offset, VkBuffer to, std::uint64_t to_offset, std::uint64_t bytes) {
  VkCommandBuffer commands = open_copies();
  // The ring's own pieces are apart from each other until their ticket is reached.
  if (from != ring_buffer_) order({from, from_offset, from_offset + bytes, false});
  if (to != ring_buffer_) order({to, to_offset, to_offset + bytes, true});
  const VkBufferCopy region{from_offset, to_offset, bytes};
  device_.vk().vkCmdCopyBuffer(commands, from, to, 1, &region);
}

// A barrier before a copy that overlaps one since the last barrier, unless both only read.
void Stream::order(const Touched& next) {
  const bool overlaps = std::any_of(touched_.begin(), touched_.end(), [&](const Touched& other) {
    return other.buffer == next.buffer && (other.written || next.written) && other.begin < next.end &&
           next.begin < other.end;
  });
  if (overlaps || touched_.size() == kMostTouched) {
    device_.barrier(open_);
    touched_.clear();
  }
  touched_.push_back(next);
}

// Needs a queue that is done.
void Stream::read_directly() {
  for (const Direct& each : direct_) std::memcpy(each.destination.data(), each.from.host, each.destination.size());
  direct_.clear();
}

// Before anything else is queued, which may overwrite what was to be read. All goes into the next submission, as was promised.
void Stream::settle_direct(Lock& lock) {
  if (direct_.empty()) return;
  std::uint64_t bytes = 0;
  for (const Direct& each : direct_) bytes += each.destination.size();
  if (ring_host_ == nullptr) make_ring();
  collect();
  const bool done = timeline_.reached(timeline_.submitted());
  const std::optional<std::uint64_t> taken = done ? std::nullopt : ring_.take(bytes);
  if (!taken) {
    wait_unlocked(timeline_.submitted(), lock);
    read_directly();
    return;
  }
  std::uint64_t offset = *taken;
  for (std::size_t i = 0; i < direct_.size(); ++i) {
    const auto& [from, destination] = direct_[i];
    copy(from.buffer, from.offset, ring_buffer_, offset, destination.size());
    const std::uint64_t end = i + 1 == direct_.size() ? ring_.end() : 0;
    staged_.push_back({next(), end, ring_host_ + offset, destination});
    offset += destination.size();
  }
  direct_.clear();
}

VkCommandBuffer Stream::close_copies() {
  if (open_ == nullptr) return nullptr;
  VkCommandBuffer commands = std::exchange(open_, nullptr);
  device_.end_barrier(commands);
  THRT_VK(device_.vk(), vkEndCommandBuffer, commands);
  return commands;
}

void Stream::flush() {
  VkCommandBuffer copies = close_copies();
  if (copies == nullptr) return;
  timeline_.submit(copies, {}, 0, next());
  used_.push_back({copies, timeline_.submitted()});
}

// What came through the ring goes to its destination.
void Stream::collect() {
  while (!staged_.empty() && timeline_.reached(staged_.front().ticket)) {
    const Staged& done = staged_.front();
    if (done.from != nullptr) std::memcpy(done.destination.data(), done.from, done.destination.size());
    ring_.give_back(done.end);
    staged_.pop_front();
  }
}

}  // namespace thrt_vulkan
