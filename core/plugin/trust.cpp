#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thrt/error.hpp>
#include <thrt/plugin/search.hpp>

namespace thrt {
namespace {

struct stat status_of(const std::filesystem::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) throw Error(fmt::format("cannot be read: {}", std::strerror(errno)));
  return status;
}

}  // namespace

void check_trust(const std::filesystem::path& file) {
  const struct stat status = status_of(file);
  if (S_ISDIR(status.st_mode)) throw Error("a folder, not a file");
  if (!S_ISREG(status.st_mode)) throw Error("not a regular file");
  if (status.st_uid != 0 && status.st_uid != geteuid()) {
    throw Error(fmt::format("belongs to user number {}, who is neither root nor you ({})", status.st_uid, geteuid()),
                "a plugin runs with your rights", "copy it: the copy belongs to you");
  }
  if ((status.st_mode & S_IWOTH) != 0) {
    throw Error("everybody may write to it", "a plugin runs with your rights",
                fmt::format("chmod o-w {}", file.string()));
  }
  // The folder of the name and the folder of the file, which differ when the name is a link.
  for (const std::filesystem::path& path : {std::filesystem::absolute(file), std::filesystem::canonical(file)}) {
    const std::filesystem::path folder = path.parent_path();
    if ((status_of(folder).st_mode & S_IWOTH) != 0) {
      throw Error(fmt::format("everybody may write to its folder {}", folder.string()),
                  "a plugin runs with your rights", fmt::format("move the plugin, or chmod o-w {}", folder.string()));
    }
  }
}

}  // namespace thrt
