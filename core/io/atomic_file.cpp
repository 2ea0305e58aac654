#include "thrt/io/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "io/posix_file.hpp"
#include "thrt/error.hpp"

namespace thrt::io {
namespace {

using Bytes = std::span<const std::byte>;

std::string advice(int code, const std::filesystem::path& folder) {
  switch (code) {
    case ENOSPC:
    case EDQUOT:
      return fmt::format("free space on the device of '{}', or name another folder", folder.string());
    case ENOENT:
    case ENOTDIR:
      return fmt::format("create the folder '{}' first", folder.string());
    case EACCES:
    case EPERM:
    case EROFS:
      return "name a folder that you may write to";
    default:
      return "name another folder";
  }
}

// A device that fills up or breaks does so during a run; everything else is a bad place from the start.
ErrorKind kind_of(int code) {
  return code == ENOSPC || code == EDQUOT || code == EIO || code == EFBIG ? ErrorKind::kRun : ErrorKind::kStart;
}

[[noreturn]] void fail(const std::filesystem::path& path, const char* action, int code) {
  throw Error(fmt::format("cannot write '{}'", path.string()),
              fmt::format("{}: {}", action, std::generic_category().message(code)), advice(code, folder_of(path)),
              kind_of(code));
}

// Creates a file under a new name and removes it again unless it is renamed.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& target) : target_(target) {
    const std::filesystem::path folder = folder_of(target);
    // Names of other writers of the process and of crashed ones are skipped: O_EXCL decides, not a counter.
    for (int attempt = 0; attempt < 10000; ++attempt) {
      name_ = folder / fmt::format(".thrt-{}-{}.tmp", ::getpid(), attempt);
      file_ = File(::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
      if (file_.is_open()) return;
      if (errno != EEXIST) break;
    }
    fail(target_, "creating a temporary file beside it", errno);
  }
  ~TemporaryFile() {
    if (file_.is_open()) ::unlink(name_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(Bytes bytes) {
    constexpr std::size_t kPiece = std::size_t{1} << 30;  // Linux writes no more than 2 GiB - 4096 at once
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_.get(), bytes.data(), std::min(bytes.size(), kPiece));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail(target_, "writing", errno);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  void rename_to_target() {
    if (::fsync(file_.get()) != 0) fail(target_, "flushing to the device", errno);
    if (::rename(name_.c_str(), target_.c_str()) != 0) fail(target_, "renaming the finished file", errno);
    file_ = File();
  }

 private:
  const std::filesystem::path& target_;
  std::filesystem::path name_;
  File file_;
};

// Makes the rename itself survive a power cut. File systems that cannot flush a folder say EINVAL: nothing to do then.
void flush_folder(const std::filesystem::path& target) {
  const File folder(::open(folder_of(target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.is_open()) static_cast<void>(::fsync(folder.get()));
}

}  // namespace

void write_file_atomically(const std::filesystem::path& path, std::span<const Bytes> pieces) {
  {
    TemporaryFile file(path);
    for (const Bytes piece : pieces) file.write(piece);
    file.rename_to_target();
  }
  flush_folder(path);
}

void write_file_atomically(const std::filesystem::path& path, Bytes bytes) {
  write_file_atomically(path, std::span<const Bytes>(&bytes, 1));
}

void write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  write_file_atomically(path, std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace thrt::io
