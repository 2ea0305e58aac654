#include "rl/train/run_log.hpp"

#include <cmath>
#include <filesystem>

namespace thrt::rl {
namespace {

std::vector<std::string> columns(const std::vector<Metric>& metrics) {
  std::vector<std::string> names = {"step", "seconds",    "episodes", "episodic_return", "episodic_length",
                                    "SPS",  "eval_return"};
  for (const Metric& metric : metrics) names.push_back(metric.tag.substr(metric.tag.rfind('/') + 1));
  return names;
}

CsvWriter open_csv(const RunFolder& folder, const std::vector<Metric>& metrics,
                   std::optional<std::int64_t> resume_after) {
  const bool exists = std::filesystem::exists(folder.progress_file());
  if (resume_after && exists) return CsvWriter::resume(folder.progress_file(), columns(metrics), *resume_after);
  // A run that was killed before its first checkpoint begins anew, and so does its table.
  if (exists) std::filesystem::remove(folder.progress_file());
  return CsvWriter::create(folder.progress_file(), columns(metrics));
}

CsvCell number(double value) {
  return std::isnan(value) ? CsvCell() : CsvCell(value);
}

}  // namespace

RunLog::RunLog(const RunFolder& folder, const std::vector<Metric>& metrics, std::optional<std::int64_t> resume_after)
    : csv_(open_csv(folder, metrics, resume_after)), events_(folder.path(), resume_after) {}

void RunLog::write(const TrainProgress& progress, double mean_length, double evaluation,
                   const std::vector<Metric>& metrics) {
  std::vector<CsvCell> row = {
      progress.step,       number(progress.elapsed),          progress.episodes, number(progress.mean_return),
      number(mean_length), number(progress.steps_per_second), number(evaluation)};
  const auto scalar = [&](const std::string& tag, double value) {
    if (!std::isnan(value)) events_.add_scalar(tag, static_cast<float>(value), progress.step);
  };
  scalar("charts/episodic_return", progress.mean_return);
  scalar("charts/episodic_length", mean_length);
  scalar("charts/SPS", progress.steps_per_second);
  scalar("eval/mean_return", evaluation);
  for (const Metric& metric : metrics) {
    row.push_back(number(metric.value));
    scalar(metric.tag, metric.value);
  }
  csv_.append(row);
}

void RunLog::flush() {
  events_.flush();
}

}  // namespace thrt::rl
