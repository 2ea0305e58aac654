// Device memory that counts against the budget.
//
// Few VkDeviceMemory objects: a driver may allow 4 096. Requests of at least `large` bytes (1 MiB, or 1/2048 of the
// device's memory where that is more) get one of their own, of exactly their size; smaller ones share blocks of 2 *
// large bytes. Memory goes back to the driver when nothing in it is in use any more.
//
// How near to the budget: what is in use never exceeds it. What is taken from the driver beyond what is in use is the
// free part of the shared blocks and the driver's own rounding, and a shared block is made only while all that is taken
// still fits the budget (a piece of exactly the request, otherwise). So the driver's share exceeds the budget by at most
// what is free in the shared blocks: less than one of them (2 * large bytes) as long as little was freed, more where
// small buffers came and went in between others that stayed. The staging ring (transfer.hpp) is not counted.
#pragma once

#include "vulkan_api.hpp"

#include <thrt/abi.h>
#include <thrt/sdk/plugin.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace thrt_vulkan {

class Device;

// Bytes in use against the budget.
class Budget {
 public:
  explicit Budget(std::uint64_t bytes) : bytes_(bytes) {}
  void take(std::uint64_t bytes, const char* what);  // throws OVER_BUDGET
  void give_back(std::uint64_t bytes) { used_ -= bytes; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t used() const { return used_; }
  std::uint64_t peak() const { return peak_; }

 private:
  std::uint64_t bytes_, used_ = 0, peak_ = 0;
};

// Where a value lies. No buffer for values without elements.
struct Region {
  VkBuffer buffer = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::byte* host = nullptr;  // the same bytes as the host sees them, null where it does not
  bool host_cached = false;   // and whether it reads them quickly
  friend bool operator==(const Region& a, const Region& b) {
    return a.buffer == b.buffer && a.offset == b.offset && a.bytes == b.bytes;
  }
};

// Which memory type serves which kind, chosen once for a device.
struct MemoryTypes {
  struct Choice {
    std::uint32_t index = 0;
    bool host_visible = false;  // and coherent: mapped as long as it lives
    bool host_cached = false;   // quick to read, too
  };
  Choice device;   // of the largest device-local heap; host-visible where that costs nothing
  Choice staging;  // host-visible, cached where there is such
};
// allowed: VkMemoryRequirements::memoryTypeBits, which is one for all buffers of a usage. Of types with the same flags some may be for
// images alone.
MemoryTypes choose_memory_types(const VkPhysicalDeviceMemoryProperties& properties, std::uint32_t allowed = ~0u);

// Of all buffers here.
inline constexpr VkBufferUsageFlags kBufferUsage =
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;

// Hands out pieces of VkDeviceMemory.
class Allocator {
 public:
  Allocator(const Device& device, const Budget& budget);
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;
  ~Allocator();

  struct Block;
  struct Piece {
    Block* block = nullptr;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };
  // Throws OUT_OF_MEMORY with what was asked for, what is in use and the budget.
  Piece allocate(const VkMemoryRequirements& needs, std::uint64_t alignment, const MemoryTypes::Choice& type,
                 const char* what);
  void free(const Piece& piece) noexcept;
  static VkDeviceMemory memory(const Piece& piece);
  static std::byte* host(const Piece& piece);  // null where the host does not see it

  std::uint64_t taken() const { return taken_; }  // from the driver
  std::size_t objects() const { return blocks_.size(); }
  std::uint64_t large() const { return large_; }

 private:
  Block& make_block(std::uint64_t bytes, const MemoryTypes::Choice& type, bool shared, const char* what);

  const Device& device_;
  const Budget& budget_;
  std::uint64_t large_;
  std::uint64_t taken_ = 0;
  std::vector<std::unique_ptr<Block>> blocks_;
};

// A VkBuffer (storage, transfer source and destination) with memory of its own, counted before anything is allocated.
// Waits for queued work when it goes.
class Memory {
 public:
  // memory_kind: THRT_MEMORY_...; alignment: a power of two. No bytes are allowed: no buffer then. `what` begins error
  // messages.
  Memory(Device& device, std::uint64_t bytes, std::uint64_t alignment, std::uint32_t memory_kind, const char* what);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  VkBuffer buffer() const { return buffer_; }
  std::uint64_t bytes() const { return bytes_; }
  // All of it, or a part.
  Region region() const { return region(0, bytes_); }
  Region region(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  void release() noexcept;

  Device& device_;
  std::uint64_t bytes_;
  VkBuffer buffer_ = nullptr;
  Allocator::Piece piece_;
};

class Buffer final : public thrt::sdk::Buffer {
 public:
  Buffer(Device& device, const thrt_buffer_options& options)
      : memory_(device, options.bytes, options.alignment, options.memory_kind, "buffer") {}
  Region region(std::uint64_t offset, std::uint64_t bytes) const { return memory_.region(offset, bytes); }

 private:
  Memory memory_;
};

}  // namespace thrt_vulkan
