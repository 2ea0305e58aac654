#include "io/input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "thrt/error.hpp"

namespace thrt::io {
namespace {

[[noreturn]] void cannot_read(const std::filesystem::path& path, const std::string& why, const std::string& next) {
  throw Error(fmt::format("cannot read '{}'", path.string()), why, next);
}

std::string words_of(int code) {
  return std::generic_category().message(code);
}

}  // namespace

// Non-blocking, so that a named pipe is refused below instead of waited for.
InputFile::InputFile(const std::filesystem::path& path, const char* kind)
    : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (!file_.is_open()) cannot_read(path, words_of(errno), "check the name, and that you may read it");
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) cannot_read(path, words_of(errno), "name a regular file");
  if (!S_ISREG(status.st_mode)) cannot_read(path, "it is not a regular file", fmt::format("name a {} file", kind));
  size_ = static_cast<std::uint64_t>(status.st_size);
}

void InputFile::read(std::span<std::byte> bytes) {
  constexpr std::size_t kPiece = std::size_t{1} << 30;  // Linux reads no more than 2 GiB - 4096 at once
  while (!bytes.empty()) {
    const ssize_t got = ::read(file_.get(), bytes.data(), std::min(bytes.size(), kPiece));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) cannot_read(path_, words_of(errno), "check the device it lies on, or fetch the file again");
    if (got == 0) cannot_read(path_, "it became shorter while it was read", "wait until it is written, then try again");
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

}  // namespace thrt::io
