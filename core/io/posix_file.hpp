// A POSIX file descriptor that closes itself.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <utility>

namespace thrt::io {

class File {
 public:
  File() = default;
  // Takes what open(2) returned; -1 is "not open", errno stays for the caller to read.
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (is_open()) ::close(descriptor_);
  }
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  bool is_open() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

// The folder a path lies in, as one that can be opened: "." for a bare name.
inline std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

}  // namespace thrt::io
