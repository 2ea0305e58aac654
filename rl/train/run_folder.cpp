#include <thrt/rl/train/run_folder.hpp>

#include <thrt/error.hpp>
#include <thrt/io/atomic_file.hpp>
#include <thrt/shell_word.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <fstream>
#include <system_error>

namespace thrt::rl {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCheckpoints = "checkpoints";
constexpr const char* kAnother = "choose another folder with --run-dir";

Error cannot_create(const fs::path& path, const fs::path& failed, const std::error_code& failure) {
  return Error(fmt::format("cannot create the run folder '{}'", path.string()),
               fmt::format("'{}': {}", failed.string(), failure.message()), kAnother);
}

// Makes `path` and its missing parents; each one made is added to `made`. True when `path` itself was made here.
bool make_folders(const fs::path& path, const fs::path& wanted, std::vector<fs::path>& made) {
  std::error_code failure;
  if (const fs::path parent = path.parent_path(); !parent.empty() && !fs::exists(parent, failure)) {
    if (failure) throw cannot_create(wanted, parent, failure);
    make_folders(parent, wanted, made);
  }
  const bool here = fs::create_directory(path, failure);
  if (failure) throw cannot_create(wanted, path, failure);
  if (here) made.push_back(path);
  return here;
}

// Whether it is there. What may not be looked at is not the same as missing.
bool is_there(const fs::path& file) {
  std::error_code failure;
  const bool there = fs::exists(file, failure);
  if (failure) {
    throw Error(fmt::format("cannot read '{}'", file.string()), failure.message(), "check its permissions");
  }
  return there;
}

void require_no_file(const fs::path& path) {
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  if (status.type() == fs::file_type::none) throw cannot_create(path, path, failure);
  if (fs::exists(status) && !fs::is_directory(status)) {
    throw Error(fmt::format("cannot create the run folder '{}'", path.string()), "a file of that name is there",
                kAnother);
  }
}

Error already_used(const fs::path& path) {
  return Error(fmt::format("the run folder '{}' is already used", path.string()), "it holds a run",
               fmt::format("resume it with --resume {}, or {}", shell_word(path.string()), kAnother));
}

void require_empty(const fs::path& path) {
  std::error_code failure;
  if (fs::exists(path / "config.toml", failure)) throw already_used(path);
  const bool empty = fs::is_empty(path, failure);
  if (failure) throw cannot_create(path, path, failure);
  if (!empty) {
    throw Error(fmt::format("the folder '{}' is not empty", path.string()), "a run starts in a folder of its own",
                kAnother);
  }
}

// "step_N.safetensors" and nothing else: the name comes from a file and must not lead out of the folder.
bool is_checkpoint_name(std::string_view name) {
  constexpr std::string_view kPrefix = "step_", kSuffix = ".safetensors";
  if (name.size() <= kPrefix.size() + kSuffix.size() || !name.starts_with(kPrefix) || !name.ends_with(kSuffix)) {
    return false;
  }
  const std::string_view digits = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
  return std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::string checkpoint_name(std::int64_t step) {
  return fmt::format("step_{}.safetensors", step);
}

// "runs/a/" names the same folder as "runs/a".
fs::path without_slash(const fs::path& path) {
  const fs::path clean = path.lexically_normal();
  return clean.has_filename() ? clean : clean.parent_path();
}

}  // namespace

// On the folder itself, so that no file of a lock is left when a process is killed.
class RunFolder::Lock {
 public:
  explicit Lock(int descriptor) : descriptor_(descriptor) {}
  ~Lock() { close(descriptor_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int descriptor_;
};

void RunFolder::lock() {
  const int descriptor = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) {
    throw Error(fmt::format("cannot lock the run folder '{}'", path_.string()),
                std::error_code(errno, std::generic_category()).message(), kAnother);
  }
  auto lock = std::make_shared<const Lock>(descriptor);
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
    lock_ = std::move(lock);
  } else if (errno == EWOULDBLOCK) {
    made_.clear();  // the other process lives in them
    throw Error(fmt::format("the run folder '{}' is in use by another thrust", path_.string()),
                "a training in it goes on", "wait until that has ended, or stop it with Ctrl-C");
  }
  // Some network file systems have no locks on folders. There claim() alone keeps two new runs apart.
}

RunFolder RunFolder::create(const fs::path& path) {
  if (path.empty()) throw Error("the run folder has no name", "--run-dir is empty", kAnother);
  RunFolder folder(without_slash(path));
  require_no_file(folder.path_);
  try {
    make_folders(folder.path_, folder.path_, folder.made_);
    folder.lock();
    require_empty(folder.path_);
    folder.claim();
  } catch (...) {
    folder.discard();
    throw;
  }
  return folder;
}

RunFolder RunFolder::create_new_name(const fs::path& parent, const std::string& stem) {
  for (int number = 1;; ++number) {
    RunFolder folder(without_slash(parent / (number == 1 ? stem : fmt::format("{}-{}", stem, number))));
    try {
      if (!make_folders(folder.path_, folder.path_, folder.made_)) continue;  // taken; mkdir decides, so no race
      folder.lock();
      folder.claim();
    } catch (...) {
      folder.discard();
      throw;
    }
    return folder;
  }
}

// The one step that decides whose a new folder is: of several processes only one makes the folder inside.
void RunFolder::claim() {
  std::error_code failure;
  const bool ours = fs::create_directory(path_ / kCheckpoints, failure);
  if (failure) throw cannot_create(path_, path_ / kCheckpoints, failure);
  if (!ours) throw already_used(path_);
  created_ = true;
}

RunFolder RunFolder::open(const fs::path& path) {
  RunFolder folder(without_slash(path));
  if (!is_there(folder.path_)) {
    throw Error(fmt::format("there is no run folder '{}'", path.string()), "no such file or folder",
                "check the name; `ls runs` shows the default place");
  }
  if (!fs::is_directory(folder.path_)) {
    throw Error(fmt::format("'{}' is not a run folder", path.string()), "it is a file", "name the folder of the run");
  }
  if (!is_there(folder.config_file())) {
    throw Error(fmt::format("'{}' is not a run folder", path.string()), "it has no config.toml",
                "name a folder that `thrust train` made");
  }
  return folder;
}

RunFolder RunFolder::resume(const fs::path& path) {
  RunFolder folder = open(path);
  folder.lock();
  return folder;
}

fs::path RunFolder::checkpoint_file(std::int64_t step) const {
  return path_ / kCheckpoints / checkpoint_name(step);
}

std::optional<fs::path> RunFolder::latest_checkpoint() const {
  const fs::path pointer = path_ / kCheckpoints / "latest";
  if (!is_there(pointer)) return std::nullopt;
  errno = 0;
  std::ifstream in(pointer);
  if (!in) {
    throw Error(fmt::format("cannot read '{}'", pointer.string()),
                std::error_code(errno, std::generic_category()).message(), "check its permissions");
  }
  std::string name;
  std::getline(in, name);
  if (!is_checkpoint_name(name)) {
    throw Error(fmt::format("'{}' is damaged", pointer.string()), "it does not name a checkpoint beside it",
                "write the name of the newest file there into it, as in step_1000.safetensors");
  }
  fs::path file = path_ / kCheckpoints / name;
  if (!is_there(file) || !fs::is_regular_file(file)) {
    throw Error(fmt::format("the checkpoint '{}' is missing", file.string()),
                fmt::format("'{}' names it as the newest", pointer.string()), "put it back, or name another one there");
  }
  return file;
}

void RunFolder::set_latest(std::int64_t step) const {
  io::write_file_atomically(path_ / kCheckpoints / "latest", checkpoint_name(step) + "\n");
}

void RunFolder::discard() noexcept {
  std::error_code ignored;
  if (created_) {
    for (const auto& entry : fs::directory_iterator(path_, ignored)) fs::remove_all(entry.path(), ignored);
  }
  // Innermost first, and only those that are empty: another run may have moved into a parent meanwhile.
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) fs::remove(*folder, ignored);
  made_.clear();
  created_ = false;
  lock_.reset();
}

}  // namespace thrt::rl
