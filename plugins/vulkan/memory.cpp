#include "memory.hpp"

#include "device.hpp"

#include <thrt/sdk/error.hpp>

#include <algorithm>
#include <optional>
#include <string>

namespace thrt_vulkan {

using thrt::sdk::Error;

namespace {

constexpr std::uint64_t kMostLarge =
    2048;  // so many pieces of the `large` size are all of the memory: half of 4 096 objects
constexpr std::uint64_t kLeastLarge = std::uint64_t{1} << 20;

std::uint64_t round_up(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

std::string in_use(const Budget& budget) {
  return std::to_string(budget.used()) + " bytes of a budget of " + std::to_string(budget.bytes()) + " bytes";
}

}  // namespace

void Budget::take(std::uint64_t bytes, const char* what) {
  if (bytes > bytes_ - used_) {
    throw Error(THRT_OVER_BUDGET,
                std::string(what) + ": asked for " + std::to_string(bytes) + " bytes, in use " + in_use(*this));
  }
  used_ += bytes;
  peak_ = std::max(peak_, used_);
}

MemoryTypes choose_memory_types(const VkPhysicalDeviceMemoryProperties& properties, std::uint32_t allowed) {
  constexpr VkMemoryPropertyFlags kCoherent =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  // Never: a device feature of its own is needed to use them, or they are lazily there.
  constexpr VkMemoryPropertyFlags kNever = VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT |
                                           VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD |
                                           VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD;
  const std::uint32_t heap = device_heap(properties);
  MemoryTypes types;
  int best_device = -1, best_staging = -1;
  for (std::uint32_t i = 0; i < properties.memoryTypeCount; ++i) {
    const VkMemoryType& type = properties.memoryTypes[i];
    if ((type.propertyFlags & kNever) != 0 || (allowed >> i & 1) == 0) continue;
    const bool local = (type.propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) != 0;
    const bool visible = (type.propertyFlags & kCoherent) == kCoherent;
    const bool cached = visible && (type.propertyFlags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) != 0;
    const MemoryTypes::Choice choice{i, visible, cached};
    // Another heap where buffers may not lie in the largest one.
    const bool in_heap = type.heapIndex == heap;
    const int device =
        in_heap || local ? (in_heap ? 8 : 0) + (local ? 4 : 0) + (visible ? 2 : 0) + (cached ? 1 : 0) : -1;
    if (device > best_device) {
      best_device = device;
      types.device = choice;
    }
    const int staging = visible ? (cached ? 2 : 0) + (local ? 0 : 1) : -1;
    if (staging > best_staging) {
      best_staging = staging;
      types.staging = choice;
    }
  }
  if (best_device < 0 || best_staging < 0) {  // the specification promises both
    throw Error(THRT_UNAVAILABLE, "the Vulkan driver offers no device-local or no coherent host-visible memory");
  }
  return types;
}

// One VkDeviceMemory and what of it is free.
struct Allocator::Block {
  VkDeviceMemory memory = nullptr;
  std::uint64_t bytes = 0;
  MemoryTypes::Choice type;
  bool shared = false;
  std::byte* host = nullptr;
  struct Hole {
    std::uint64_t offset, bytes;
  };
  std::vector<Hole>
      free;  // by offset, neighbours joined; with room for as many as there can be, so that give_back() never fails
  std::size_t pieces = 0;

  // Cuts the first hole that is large enough.
  std::optional<Piece> cut(std::uint64_t size, std::uint64_t alignment) {
    free.reserve(pieces + 3);  // pieces + 1 with this one, and a hole in front of each and behind the last
    for (auto hole = free.begin(); hole != free.end(); ++hole) {
      const std::uint64_t hole_end = hole->offset + hole->bytes;
      const std::uint64_t begin = round_up(hole->offset, alignment), end = begin + size;
      if (end > hole_end) continue;
      ++pieces;
      if (begin > hole->offset) {
        hole->bytes = begin - hole->offset;
        if (end < hole_end) free.insert(hole + 1, {end, hole_end - end});
      } else if (end < hole_end) {
        *hole = {end, hole_end - end};
      } else {
        free.erase(hole);
      }
      return Piece{this, begin, size};
    }
    return std::nullopt;
  }
  void give_back(std::uint64_t offset, std::uint64_t size) noexcept {
    --pieces;
    auto next = std::lower_bound(free.begin(), free.end(), offset,
                                 [](const Hole& hole, std::uint64_t at) { return hole.offset < at; });
    const bool joins_next = next != free.end() && offset + size == next->offset;
    const bool joins_last = next != free.begin() && std::prev(next)->offset + std::prev(next)->bytes == offset;
    if (joins_last) {
      std::prev(next)->bytes += size + (joins_next ? next->bytes : 0);
      if (joins_next) free.erase(next);
    } else if (joins_next) {
      *next = {offset, size + next->bytes};
    } else {
      free.insert(next, {offset, size});
    }
  }
  bool unused() const { return pieces == 0; }
};

Allocator::Allocator(const Device& device, const Budget& budget)
    : device_(device), budget_(budget), large_(std::max(kLeastLarge, device.info().memory_total / kMostLarge)) {}

Allocator::~Allocator() {
  for (const std::unique_ptr<Block>& block : blocks_)
    device_.vk().vkFreeMemory(device_.handle(), block->memory, nullptr);
}

Allocator::Block& Allocator::make_block(std::uint64_t bytes, const MemoryTypes::Choice& type, bool shared,
                                        const char* what) {
  auto block = std::make_unique<Block>();
  blocks_.reserve(blocks_.size() + 1);
  block->free.push_back({0, bytes});
  VkMemoryAllocateInfo info{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, nullptr, bytes, type.index};
  const VkResult result = device_.vk().vkAllocateMemory(device_.handle(), &info, nullptr, &block->memory);
  if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY ||
      result == VK_ERROR_TOO_MANY_OBJECTS) {
    throw Error(THRT_OUT_OF_MEMORY, std::string(what) + ": asked for " + std::to_string(bytes) + " bytes, in use " +
                                        in_use(budget_) + ", taken from the driver " + std::to_string(taken_) +
                                        " bytes in " + std::to_string(blocks_.size()) +
                                        " pieces; the driver has no more (" + name_of(result) + ")")
        .native("vkAllocateMemory", result);
  }
  check(result, "vkAllocateMemory");
  block->bytes = bytes;
  block->type = type;
  block->shared = shared;
  if (type.host_visible) {
    void* host = nullptr;
    const VkResult mapped = device_.vk().vkMapMemory(device_.handle(), block->memory, 0, VK_WHOLE_SIZE, 0, &host);
    if (mapped != VK_SUCCESS) device_.vk().vkFreeMemory(device_.handle(), block->memory, nullptr);
    check(mapped, "vkMapMemory");
    block->host = static_cast<std::byte*>(host);
  }
  taken_ += bytes;
  blocks_.push_back(std::move(block));
  return *blocks_.back();
}

Allocator::Piece Allocator::allocate(const VkMemoryRequirements& needs, std::uint64_t alignment,
                                     const MemoryTypes::Choice& type, const char* what) {
  if ((needs.memoryTypeBits & (1u << type.index)) == 0) {  // the specification: one answer for all of a usage
    throw Error(THRT_INTERNAL, std::string(what) + ": the driver does not take memory type " +
                                   std::to_string(type.index) + " for a buffer");
  }
  const std::uint64_t align = std::max<std::uint64_t>(needs.alignment, alignment);
  const std::uint64_t size = round_up(needs.size, align);
  if (size >= large_) return *make_block(size, type, false, what).cut(size, align);
  for (const std::unique_ptr<Block>& block : blocks_) {
    if (!block->shared || block->type.index != type.index) continue;
    if (const std::optional<Piece> piece = block->cut(size, align)) return *piece;
  }
  const std::uint64_t shared = 2 * large_;
  const bool fits = taken_ <= budget_.bytes() && shared <= budget_.bytes() - taken_;
  return *make_block(fits ? shared : size, type, true, what).cut(size, align);
}

void Allocator::free(const Piece& piece) noexcept {
  if (piece.block == nullptr) return;
  piece.block->give_back(piece.offset, piece.bytes);
  if (!piece.block->unused()) return;
  const auto found = std::find_if(blocks_.begin(), blocks_.end(),
                                  [&](const std::unique_ptr<Block>& block) { return block.get() == piece.block; });
  device_.vk().vkFreeMemory(device_.handle(), piece.block->memory, nullptr);
  taken_ -= piece.block->bytes;
  blocks_.erase(found);
}

VkDeviceMemory Allocator::memory(const Piece& piece) {
  return piece.block->memory;
}

std::byte* Allocator::host(const Piece& piece) {
  return piece.block->host == nullptr ? nullptr : piece.block->host + piece.offset;
}

Memory::Memory(Device& device, std::uint64_t bytes, std::uint64_t alignment, std::uint32_t memory_kind,
               const char* what)
    : device_(device), bytes_(bytes) {
  if (bytes == 0) return;
  if (bytes >
      device.info().max_buffer_bytes) {  // no descriptor spans all of it, so the driver's limit is that of its memory
    throw Error(THRT_OUT_OF_MEMORY, std::string(what) + " of " + std::to_string(bytes) +
                                        " bytes: this device's buffers have at most " +
                                        std::to_string(device.info().max_buffer_bytes));
  }
  device.budget().take(bytes, what);
  try {
    VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    info.size = bytes;
    info.usage = kBufferUsage;
    info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    THRT_VK(device.vk(), vkCreateBuffer, device.handle(), &info, nullptr, &buffer_);
    VkMemoryRequirements needs{};
    device.vk().vkGetBufferMemoryRequirements(device.handle(), buffer_, &needs);
    const MemoryTypes& types = device.memory_types();
    piece_ = device.allocator().allocate(needs, alignment,
                                         memory_kind == THRT_MEMORY_STAGING ? types.staging : types.device, what);
    THRT_VK(device.vk(), vkBindBufferMemory, device.handle(), buffer_, Allocator::memory(piece_), piece_.offset);
  } catch (...) {
    release();
    throw;
  }
}

Memory::~Memory() {
  if (bytes_ == 0) return;
  device_.stream().finish();
  release();
}

void Memory::release() noexcept {
  if (buffer_ != nullptr) device_.vk().vkDestroyBuffer(device_.handle(), buffer_, nullptr);
  device_.allocator().free(piece_);
  device_.budget().give_back(bytes_);
}

Region Memory::region(std::uint64_t offset, std::uint64_t bytes) const {
  if (bytes == 0 || buffer_ == nullptr) return {};
  std::byte* host = Allocator::host(piece_);
  return {buffer_, offset, bytes, host == nullptr ? nullptr : host + offset, piece_.block->type.host_cached};
}

}  // namespace thrt_vulkan
