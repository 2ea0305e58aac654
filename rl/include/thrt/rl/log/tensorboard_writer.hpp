// Scalars as a TensorBoard event file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

namespace thrt::rl {

// Writes FOLDER/events.out.tfevents.TIME.HOST.PID. Every run, resumed ones too, writes a file of its own; TensorBoard
// reads all files of a folder as one.
class TensorBoardWriter {
 public:
  // `resume_after`: the step of the checkpoint that a run continues from; what an earlier file of the folder says of
  // later steps is then dropped by TensorBoard. Throws thrt::Error when the file cannot be made.
  explicit TensorBoardWriter(const std::filesystem::path& folder, std::optional<std::int64_t> resume_after = {});
  ~TensorBoardWriter();
  TensorBoardWriter(const TensorBoardWriter&) = delete;
  TensorBoardWriter& operator=(const TensorBoardWriter&) = delete;

  // One point of curve `tag`, as in "charts/episodic_return", dated now. Buffered until flush().
  void add_scalar(std::string_view tag, float value, std::int64_t step);
  // The same with its time, in seconds since 1970.
  void add_scalar(std::string_view tag, float value, std::int64_t step, double wall_time);

  // Throws thrt::Error when the file could not be written. The destructor flushes too, silently.
  void flush();

  const std::filesystem::path& path() const { return path_; }

 private:
  void write_record(std::string_view event);

  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace thrt::rl
