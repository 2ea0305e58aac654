#include "thrt/rl/log/csv_writer.hpp"

#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <limits>
#include <optional>
#include <system_error>

#include "thrt/error.hpp"

namespace thrt::rl {
namespace {

constexpr std::int64_t kNoStep = std::numeric_limits<std::int64_t>::min();

// RFC 4180: quotes around a field with a comma, a quote or a line end; quotes inside are doubled.
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out(1, '"');
  for (char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
  return out;
}

struct CellText {
  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return quoted(value); }
};

std::string header_line(const std::vector<std::string>& columns) {
  std::string line;
  for (const std::string& column : columns) {
    if (!line.empty()) line += ',';
    line += quoted(column);
  }
  line += '\n';
  return line;
}

std::string read_all(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(fmt::format("cannot read '{}'", path.string()), "the file is missing or not readable");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// One past the line end that closes the row starting at `begin`; nothing when the row is cut short.
std::optional<std::size_t> row_end(std::string_view text, std::size_t begin) {
  bool inside_quotes = false;
  for (std::size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '"') inside_quotes = !inside_quotes;
    if (text[i] == '\n' && !inside_quotes) return i + 1;
  }
  return std::nullopt;
}

std::optional<std::int64_t> step_of(std::string_view row) {
  const std::string_view cell = row.substr(0, row.find_first_of(",\r\n"));
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), step);
  if (error != std::errc() || end != cell.data() + cell.size()) return std::nullopt;
  return step;
}

struct Kept {
  std::size_t bytes;
  std::int64_t last_step;
};

// How much of the file stays: the header and whole rows up to the first of a later step.
Kept kept_until(std::string_view text, std::size_t header_size, std::int64_t last_step,
                const std::filesystem::path& path) {
  Kept kept{header_size, kNoStep};
  while (const std::optional<std::size_t> end = row_end(text, kept.bytes)) {
    const std::optional<std::int64_t> step = step_of(text.substr(kept.bytes, *end - kept.bytes));
    if (!step) {
      throw Error(fmt::format("'{}' is damaged", path.string()),
                  fmt::format("the row at byte {} does not start with a step", kept.bytes),
                  "repair or remove that row");
    }
    if (*step > last_step) break;
    kept = {*end, *step};
  }
  return kept;
}

}  // namespace

CsvWriter::CsvWriter(std::filesystem::path path, std::vector<std::string> columns, std::int64_t last_step)
    : path_(std::move(path)),
      columns_(std::move(columns)),
      last_step_(last_step),
      file_(path_, std::ios::binary | std::ios::app) {
  if (!file_) throw Error(fmt::format("cannot write '{}'", path_.string()), "the folder is missing or not writable");
}

CsvWriter CsvWriter::create(const std::filesystem::path& path, std::vector<std::string> columns) {
  if (columns.empty()) throw Error(fmt::format("'{}' needs at least the step column", path.string()));
  if (std::filesystem::exists(path)) {
    throw Error(fmt::format("'{}' exists already", path.string()), "a log is never written over",
                "resume that run or choose another folder");
  }
  CsvWriter writer(path, std::move(columns), kNoStep);
  writer.write(header_line(writer.columns_));
  return writer;
}

CsvWriter CsvWriter::resume(const std::filesystem::path& path, std::vector<std::string> columns,
                            std::int64_t last_step) {
  const std::string text = read_all(path);
  const std::string header = header_line(columns);
  if (text.compare(0, header.size(), header) != 0) {
    throw Error(fmt::format("'{}' has other columns", path.string()),
                fmt::format("this run writes: {}", header.substr(0, header.size() - 1)),
                "resume with the version and options that began the run");
  }
  const Kept kept = kept_until(text, header.size(), last_step, path);
  std::error_code error;
  if (kept.bytes != text.size()) std::filesystem::resize_file(path, kept.bytes, error);
  if (error) throw Error(fmt::format("cannot shorten '{}'", path.string()), error.message());
  return CsvWriter(path, std::move(columns), kept.last_step);
}

void CsvWriter::append(std::span<const CsvCell> row) {
  if (row.size() != columns_.size()) {
    throw Error(
        fmt::format("a row of {} cells for the {} columns of '{}'", row.size(), columns_.size(), path_.string()));
  }
  const auto* step = std::get_if<std::int64_t>(&row[0]);
  if (step == nullptr || *step < last_step_) {
    throw Error(fmt::format("a row of '{}' without a step that follows the last", path_.string()));
  }
  std::string line;
  for (const CsvCell& cell : row) {
    if (&cell != &row[0]) line += ',';
    line += std::visit(CellText{}, cell);
  }
  line += '\n';
  write(line);
  last_step_ = *step;
}

void CsvWriter::write(std::string_view line) {
  file_ << line << std::flush;
  if (!file_) {
    throw Error(fmt::format("cannot write '{}'", path_.string()), "the disk may be full", "free some space and resume",
                ErrorKind::kRun);
  }
}

}  // namespace thrt::rl
