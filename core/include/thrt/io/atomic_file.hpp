// Writing a file so that a reader finds the old content or the new, never a part of it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace thrt::io {

// Writes `bytes` to a temporary name in the folder of `path`, flushes it to the device and renames it over `path`.
// After any failure (thrt::Error with the system's words) `path` is as it was and the temporary file is gone. A
// symbolic link at `path` is replaced, not followed. [any thread]
void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

// The same for content that lies in several pieces, written one after the other.
void write_file_atomically(const std::filesystem::path& path, std::span<const std::span<const std::byte>> pieces);

}  // namespace thrt::io
