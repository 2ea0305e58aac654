// A table that grows during a run (progress.csv): one header, then a row at a time, each flushed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace thrt::rl {

// An empty cell, an integer, a number (written so that reading gives the same bits) or text (quoted when needed).
using CsvCell = std::variant<std::monostate, std::int64_t, double, std::string>;

// The first column is the step of the row, an integer that never falls.
class CsvWriter {
 public:
  // A new file. Throws thrt::Error when it exists already or cannot be written.
  static CsvWriter create(const std::filesystem::path& path, std::vector<std::string> columns);

  // Continues a file from a checkpoint at `last_step`: rows of later steps, and a row cut short by a crash, are
  // removed. Throws thrt::Error, with the file as it was, when it is missing or its header is another one.
  static CsvWriter resume(const std::filesystem::path& path, std::vector<std::string> columns, std::int64_t last_step);

  // Throws thrt::Error for a wrong number of cells, a first cell that is no integer or falls, and when writing fails.
  void append(std::span<const CsvCell> row);

  std::span<const std::string> columns() const { return columns_; }

 private:
  CsvWriter(std::filesystem::path path, std::vector<std::string> columns, std::int64_t last_step);
  void write(std::string_view line);

  std::filesystem::path path_;
  std::vector<std::string> columns_;
  std::int64_t last_step_;
  std::ofstream file_;
};

}  // namespace thrt::rl
