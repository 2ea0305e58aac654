#include "thrt/rl/log/tensorboard_writer.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>

#include "rl/log/event_encoding.hpp"
#include "thrt/error.hpp"

namespace thrt::rl {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

// A name that no file of the folder has: one process may open two writers within a second.
std::filesystem::path free_name(const std::filesystem::path& folder, double wall_time) {
  const std::string base = fmt::format("events.out.tfevents.{:010}.{}.{}", static_cast<std::int64_t>(wall_time),
                                       host_name(), static_cast<std::int64_t>(getpid()));
  std::filesystem::path path = folder / base;
  for (int copy = 1; std::filesystem::exists(path); ++copy) path = folder / fmt::format("{}.{}", base, copy);
  return path;
}

}  // namespace

TensorBoardWriter::TensorBoardWriter(const std::filesystem::path& folder, std::optional<std::int64_t> resume_after) {
  const double wall_time = now();
  path_ = free_name(folder, wall_time);
  file_.open(path_, std::ios::binary);
  if (!file_) throw Error(fmt::format("cannot write '{}'", path_.string()), "the folder is missing or not writable");
  write_record(file_version_event(wall_time));
  if (resume_after) write_record(session_start_event(wall_time, *resume_after + 1));
  flush();
}

TensorBoardWriter::~TensorBoardWriter() = default;

void TensorBoardWriter::add_scalar(std::string_view tag, float value, std::int64_t step) {
  add_scalar(tag, value, step, now());
}

void TensorBoardWriter::add_scalar(std::string_view tag, float value, std::int64_t step, double wall_time) {
  write_record(scalar_event(wall_time, step, tag, value));
}

void TensorBoardWriter::write_record(std::string_view event) {
  const std::string record = tfrecord(event);
  file_.write(record.data(), static_cast<std::streamsize>(record.size()));
}

void TensorBoardWriter::flush() {
  file_.flush();
  if (!file_) {
    throw Error(fmt::format("cannot write '{}'", path_.string()), "the disk may be full", "free some space and resume",
                ErrorKind::kRun);
  }
}

}  // namespace thrt::rl
