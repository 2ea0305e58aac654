#include "bench_report.hpp"

#include "line_chart.hpp"
#include "program_counters.hpp"
#include "report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <optional>

namespace thrt::cli {
namespace {

std::string dumped(const nlohmann::ordered_json& object) {
  // What a plugin calls its device need not be UTF-8, which JSON must be.
  return object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

nlohmann::ordered_json targets_json(const bench::Targets& targets) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const bench::Target& target : targets.targets) {
    list.push_back({{"name", target.label}, {"device", target.device}, {"plugin", target.plugin}});
  }
  return list;
}

nlohmann::ordered_json programs_json(const std::vector<BenchProgram>& programs) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const BenchProgram& program : programs) {
    list.push_back({{"program", program.name}, {"counters", counters_json(program.counters)}});
  }
  return list;
}

nlohmann::ordered_json row_json(const BenchRow& row) {
  nlohmann::ordered_json object = {{"id", row.id}, {"group", row.group}, {"backend", row.target}, {"batch", row.batch}};
  if (!row.refusal.empty()) {
    object["refusal"] = row.refusal;
    return object;
  }
  object["median_seconds"] = row.timing.median;
  object["min_seconds"] = row.timing.min;
  object["setup_seconds"] = row.setup;
  object["samples"] = row.timing.samples;
  object["runs"] = row.timing.runs;
  if (row.env_steps > 0.0) object["env_steps_per_second"] = row.env_steps / row.timing.median;
  if (row.parameters > 0) object["parameters"] = row.parameters;
  if (!row.programs.empty()) object["programs"] = programs_json(row.programs);
  return object;
}

// Of the targets that were timed at this width.
std::optional<std::size_t> fastest_at(const Crossover& crossover, std::size_t width) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < crossover.lines.size(); ++i) {
    const std::vector<double>& seconds = crossover.lines[i].seconds;
    if (width >= seconds.size()) continue;
    if (!best || seconds[width] < crossover.lines[*best].seconds[width]) best = i;
  }
  return best;
}

}  // namespace

std::string duration_text(double seconds) {
  struct Unit {
    double seconds;
    const char* name;
  };
  constexpr std::array<Unit, 4> kUnits = {Unit{1.0, "s"}, Unit{1e-3, "ms"}, Unit{1e-6, "µs"}, Unit{1e-9, "ns"}};
  const auto* const unit = std::find_if(kUnits.begin(), kUnits.end() - 1, [&](const Unit& u) {
    return seconds >= 0.9995 * u.seconds;  // 0.9996 ms would show as 1000 µs
  });
  const double value = seconds / unit->seconds;
  return fmt::format("{:.{}f} {}", value, value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2, unit->name);
}

std::string bench_heading() {
  return fmt::format("{:<30} {:<10} {:>6} {:>10} {:>10} {:>16} {:>10}\n", "group", "backend", "batch", "median", "min",
                     "rate", "setup");
}

std::string bench_line(const BenchRow& row) {
  const std::string start = fmt::format("{:<30} {:<10} {:>6}", row.group, row.target, row.batch);
  if (!row.refusal.empty()) return fmt::format("{} refused: {}\n", start, row.refusal);
  const double per_run = row.env_steps > 0.0 ? row.env_steps : 1.0;
  const std::string rate =
      fmt::format("{} {}/s", short_number(per_run / row.timing.median), row.env_steps > 0.0 ? "steps" : "runs");
  return fmt::format("{} {:>10} {:>10} {:>16} {:>10}\n", start, duration_text(row.timing.median),
                     duration_text(row.timing.min), rate, duration_text(row.setup));
}

std::string counters_lines(const BenchRow& row) {
  std::string lines;
  for (const BenchProgram& program : row.programs) {
    const auto number = [&](std::uint64_t thrt_program_counters::*which) {
      return program.counters ? std::to_string((*program.counters).*which) : "-";
    };
    const auto bytes = [&](std::uint64_t thrt_program_counters::*which) {
      return program.counters ? short_number(static_cast<double>((*program.counters).*which)) + "B" : "-";
    };
    lines += fmt::format("  {:<28} launches {:>6}  barriers {:>6}  read {:>8}  written {:>8}\n", program.name,
                         number(&thrt_program_counters::launches), number(&thrt_program_counters::barriers),
                         bytes(&thrt_program_counters::bytes_read), bytes(&thrt_program_counters::bytes_written));
  }
  return lines;
}

std::string bench_json(const bench::Targets& targets, const BenchResults& results) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const BenchRow& row : results.rows) rows.push_back(row_json(row));
  return dumped({{"threads", results.threads},
                 {"interrupted", results.interrupted},
                 {"backends", targets_json(targets)},
                 {"left_out", targets.left_out},
                 {"results", rows}});
}

std::string crossover_text(const Crossover& crossover) {
  std::string text = fmt::format("{:<8}", "width");
  for (const Crossover::Line& line : crossover.lines) text += fmt::format(" {:>12}", line.target);
  text += '\n';
  std::string changes;
  std::optional<std::size_t> leader;
  for (std::size_t width = 0; width < crossover.widths.size(); ++width) {
    text += fmt::format("{:<8}", crossover.widths[width]);
    for (const Crossover::Line& line : crossover.lines) {
      text += fmt::format(" {:>12}", width < line.seconds.size() ? duration_text(line.seconds[width]) : "-");
    }
    text += '\n';
    const std::optional<std::size_t> best = fastest_at(crossover, width);
    if (best && best != leader && crossover.lines.size() > 1) {
      changes +=
          fmt::format("{} is the fastest from width {} on\n", crossover.lines[*best].target, crossover.widths[width]);
    }
    if (best) leader = best;
  }
  for (const Crossover::Line& line : crossover.lines) {
    if (!line.refusal.empty()) changes += fmt::format("{} refused: {}\n", line.target, line.refusal);
  }
  return text + changes;
}

std::string crossover_svg(const Crossover& crossover) {
  LineChart chart;
  chart.title = "PPO gradient step, batch 64";
  chart.x_label = "width of both hidden layers";
  chart.y_label = "microseconds";
  for (const Crossover::Line& line : crossover.lines) {
    ChartLine& drawn = chart.lines.emplace_back();
    drawn.name = line.target;
    for (std::size_t i = 0; i < line.seconds.size(); ++i) {
      drawn.points.push_back({static_cast<double>(crossover.widths[i]), 1e6 * line.seconds[i]});
    }
  }
  return line_chart_svg(chart);
}

std::string crossover_json(const bench::Targets& targets, const Crossover& crossover, std::int64_t threads,
                           bool interrupted) {
  nlohmann::ordered_json lines = nlohmann::ordered_json::array();
  for (const Crossover::Line& line : crossover.lines) {
    nlohmann::ordered_json object = {{"backend", line.target}, {"median_seconds", line.seconds}};
    if (!line.refusal.empty()) object["refusal"] = line.refusal;
    lines.push_back(object);
  }
  return dumped({{"threads", threads},
                 {"interrupted", interrupted},
                 {"backends", targets_json(targets)},
                 {"left_out", targets.left_out},
                 {"widths", crossover.widths},
                 {"crossover", lines}});
}

}  // namespace thrt::cli
