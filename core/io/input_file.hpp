// A regular file that is read from its start, in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "io/posix_file.hpp"

namespace thrt::io {

class InputFile {
 public:
  // Throws thrt::Error for what cannot be opened or is no regular file: "name a KIND file".
  InputFile(const std::filesystem::path& path, const char* kind);

  std::uint64_t size() const { return size_; }  // bytes
  // The next bytes. Throws thrt::Error when they cannot be had.
  void read(std::span<std::byte> bytes);

 private:
  std::filesystem::path path_;
  File file_;
  std::uint64_t size_ = 0;
};

}  // namespace thrt::io
