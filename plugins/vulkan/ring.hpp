// Which part of a ring of staging memory is free. Parts are taken and given back in the same order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace thrt_vulkan {

class Ring {
 public:
  explicit Ring(std::uint64_t bytes) : bytes_(bytes) {}
  std::uint64_t bytes() const { return bytes_; }

  // The offset of `bytes` in one piece; nothing: give some back first.
  std::optional<std::uint64_t> take(std::uint64_t bytes) {
    if (head_ == tail_) head_ = tail_ = 0;  // empty: begin at the begin, so that nothing is left over at the end
    const std::uint64_t at = head_ % bytes_;
    const std::uint64_t skipped = at + bytes > bytes_ ? bytes_ - at : 0;  // a piece does not go around the end
    if (bytes > bytes_ || head_ + skipped + bytes - tail_ > bytes_) return std::nullopt;
    head_ += skipped + bytes;
    return (head_ - bytes) % bytes_;
  }
  // Where the newest piece ends, for give_back.
  std::uint64_t end() const { return head_; }
  // All pieces up to the one that ended there; 0: none.
  void give_back(std::uint64_t end) { tail_ = std::max(tail_, end); }

 private:
  std::uint64_t bytes_;
  std::uint64_t head_ = 0, tail_ = 0;  // bytes taken and given back since it was last empty, with those skipped
};

}  // namespace thrt_vulkan
