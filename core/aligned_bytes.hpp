// Bytes that start at a multiple of 64, as abi.h asks of constants.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace thrt {

inline constexpr std::size_t kConstantAlignment = 64;

class AlignedBytes {
 public:
  AlignedBytes() = default;
  // Not initialised.
  explicit AlignedBytes(std::size_t size) : size_(size) {
    if (size > 0) data_.reset(static_cast<std::byte*>(::operator new (size, std::align_val_t{kConstantAlignment})));
  }
  explicit AlignedBytes(std::span<const std::byte> bytes) : AlignedBytes(bytes.size()) {
    if (!bytes.empty()) std::memcpy(data_.get(), bytes.data(), bytes.size());
  }

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  std::span<std::byte> span() { return {data_.get(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { ::operator delete (bytes, std::align_val_t{kConstantAlignment}); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace thrt
