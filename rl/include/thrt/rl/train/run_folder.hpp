// The folder that a run lives in:
//     config.toml  progress.csv  events.out.tfevents.*  summary.json  checkpoints/step_N.safetensors checkpoints/latest
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace thrt::rl {

// A folder to train in, from create*() or resume(), is locked as long as a copy of it lives: no second process trains in
// it at the same time.
class RunFolder {
 public:
  // Makes a new folder. Throws Error when it exists and is not empty ("resume it or choose another"), is in use, or
  // cannot be written; leaves nothing behind then.
  static RunFolder create(const std::filesystem::path& path);
  // The same in `parent` under the name `stem`, or stem-2, stem-3… when that is taken: never one that another run has,
  // not even one started at the same moment.
  static RunFolder create_new_name(const std::filesystem::path& parent, const std::string& stem);
  // Opens one that a run made, to read from it. Throws Error when it is missing or has no config.toml.
  static RunFolder open(const std::filesystem::path& path);
  // The same to train on in it. Throws Error when it is in use, too.
  static RunFolder resume(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config_file() const { return path_ / "config.toml"; }
  std::filesystem::path progress_file() const { return path_ / "progress.csv"; }
  std::filesystem::path summary_file() const { return path_ / "summary.json"; }
  std::filesystem::path checkpoint_file(std::int64_t step) const;
  // What checkpoints/latest names; nothing before the first. Throws Error when it names a file that is not there.
  std::optional<std::filesystem::path> latest_checkpoint() const;
  // Points checkpoints/latest at the checkpoint of `step`, atomically.
  void set_latest(std::int64_t step) const;

  // Removes what create() made and all that was written into it since, and unlocks it: for a run that could not start.
  // Removes nothing from a folder that was there before.
  void discard() noexcept;

 private:
  class Lock;

  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  void lock();
  void claim();

  std::filesystem::path path_;
  std::shared_ptr<const Lock> lock_;
  bool created_ = false;                     // by create*(), so its content may go
  std::vector<std::filesystem::path> made_;  // the folders that create() made, outermost first
};

}  // namespace thrt::rl
