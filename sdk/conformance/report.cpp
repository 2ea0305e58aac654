#include "report.hpp"

#include <thrt/shell_word.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace thrt::conformance {
namespace {

using Kind = Outcome::Kind;

// One line of the table: an op, with the cases of each dtype.
struct Row {
  std::map<DType, Counts> cells;
};

std::string cell_text(const Row& row, DType dtype) {
  const auto found = row.cells.find(dtype);
  if (found == row.cells.end()) return "-";
  const Counts& counts = found->second;
  const std::size_t tried = counts.passed + counts.failed;
  if (counts.failed > 0) return fmt::format("FAIL {}/{}", counts.failed, tried);
  if (tried == 0) return counts.unsupported > 0 ? "no" : ".";
  return counts.unsupported > 0 ? fmt::format("{} ({} no)", tried, counts.unsupported) : std::to_string(tried);
}

std::string count_text(const Counts& counts) {
  std::string text = fmt::format("{} passed", counts.passed);
  if (counts.failed > 0) text += fmt::format(", FAIL {}", counts.failed);
  if (counts.unsupported > 0) text += fmt::format(", {} declared unsupported", counts.unsupported);
  if (counts.not_run > 0) text += fmt::format(", {} not run", counts.not_run);
  return text;
}

std::string subject_text(const Subject& subject) {
  const Manifest& manifest = subject.manifest;
  return fmt::format("{} {} by {}, ABI {}.{}, op set {}", manifest.id, manifest.version, manifest.vendor,
                     manifest.abi_major, manifest.abi_minor,
                     manifest.opset_min == manifest.opset_max
                         ? std::to_string(manifest.opset_max)
                         : fmt::format("{} to {}", manifest.opset_min, manifest.opset_max));
}

std::string header_text(const Session& session) {
  const DeviceInfo& device = session.subject.device;
  std::string text =
      fmt::format("backend    {}\n           {}\n", subject_text(session.subject), session.subject.file.string());
  text += fmt::format("device     {}: {} ({})", device.index, device.name, device_kind_name(device.kind));
  if (!device.driver.empty()) text += ", " + device.driver;
  text +=
      fmt::format("\nreference  {}\n           {}\n", subject_text(session.reference), session.reference.file.string());
  return text;
}

const char* group_name(ir::OpLevel level) {
  switch (level) {
    case ir::OpLevel::kCore:
      return "core";
    case ir::OpLevel::kTraining:
      return "training";
    case ir::OpLevel::kVision:
      return "vision";
  }
  return "";
}

struct Table {
  std::map<std::string, Row> ops;        // by name
  std::map<std::string, Counts> others;  // "program", "contract"
};

Table make_table(const Session& session) {
  Table table;
  for (std::size_t i = 0; i < session.cases.size(); ++i) {
    const Case& one = session.cases[i];
    if (!session.chosen[i]) continue;
    (one.dtype ? table.ops[one.area].cells[*one.dtype] : table.others[one.area]).add(session.results[i]);
  }
  return table;
}

std::string table_text(const Table& table) {
  const auto name_of = [](const auto& entry) { return entry.first; };
  std::size_t first_column = 10;
  for (const auto& row : table.ops) first_column = std::max(first_column, name_of(row).size());
  std::array<std::size_t, ir::kAllDTypes.size()> widths{};
  for (std::size_t c = 0; c < widths.size(); ++c) {
    widths[c] = std::string_view(ir::dtype_name(ir::kAllDTypes[c])).size();
    for (const auto& row : table.ops) {
      widths[c] = std::max(widths[c], cell_text(row.second, ir::kAllDTypes[c]).size());
    }
  }
  const auto line = [&](const std::string& name, const auto& cell) {
    std::string text = fmt::format("  {:<{}}", name, first_column);
    for (std::size_t c = 0; c < widths.size(); ++c) text += fmt::format("  {:>{}}", cell(ir::kAllDTypes[c]), widths[c]);
    return text + "\n";
  };
  std::string text;
  if (!table.ops.empty()) text += "\n" + line("", ir::dtype_name);
  std::set<std::string> shown;
  for (const ir::OpLevel level : {ir::OpLevel::kCore, ir::OpLevel::kTraining, ir::OpLevel::kVision}) {
    std::string group;
    for (const ir::OpInfo& op : ir::all_ops()) {
      const auto row = table.ops.find(std::string(op.name));
      if (op.level != level || row == table.ops.end()) continue;
      group += line(row->first, [&](DType dtype) { return cell_text(row->second, dtype); });
    }
    if (!group.empty()) text += fmt::format("{}\n{}", group_name(level), group);
  }
  if (!table.others.empty()) text += "\n";
  for (const char* area : {"program", "contract"}) {
    const auto found = table.others.find(area);
    if (found != table.others.end()) text += fmt::format("{:<12} {}\n", area, count_text(found->second));
  }
  return text;
}

std::string failures_text(const Session& session) {
  std::string text;
  for (std::size_t i = 0; i < session.cases.size(); ++i) {
    const auto& result = session.results[i];
    if (!result || result->outcome.kind != Kind::kFailed) continue;
    text += fmt::format("  {}\n    {}\n    {} --filter {}\n", session.cases[i].name, result->outcome.detail,
                        session.called, shell_word(session.cases[i].name));
  }
  for (const std::string& fault : session.faults) text += fmt::format("  {}\n", fault);
  return text.empty() ? text : "\nfailed:\n" + text;
}

using RefusedAreas = std::map<std::string, std::set<std::string>>;  // the ops of each dtype

// "f64: add sub"; lines for each dtype.
std::string refused_text(const RefusedAreas& areas) {
  constexpr std::size_t kColumns = 110;
  std::string text;
  for (const auto& [dtype, names] : areas) {
    std::string line = dtype.empty() ? "   " : "    " + dtype + ":";
    for (const std::string& name : names) {
      if (line.size() + 1 + name.size() > kColumns) {
        text += line + "\n";
        line = "       ";
      }
      line += " " + name;
    }
    text += line + "\n";
  }
  return text;
}

// "add: this backend has no f64" and "sub: this backend has no f64" are one reason.
std::string common_reason(const std::string& reason) {
  const std::size_t colon = reason.find(": ");
  if (colon == std::string::npos) return reason.empty() ? "(no reason given)" : reason;
  const auto names_op = [&](const ir::OpInfo& op) { return reason.compare(0, colon, op.name) == 0; };
  return std::any_of(ir::all_ops().begin(), ir::all_ops().end(), names_op) ? reason.substr(colon + 2) : reason;
}

std::string unsupported_text(const Session& session) {
  struct Refusal {
    std::size_t cases = 0;
    RefusedAreas areas;
  };
  std::map<std::string, Refusal> refusals;  // by reason
  for (std::size_t i = 0; i < session.cases.size(); ++i) {
    const auto& result = session.results[i];
    if (!result || result->outcome.kind != Kind::kUnsupported) continue;
    const Case& one = session.cases[i];
    Refusal& refusal = refusals[common_reason(result->outcome.detail)];
    ++refusal.cases;
    refusal.areas[one.dtype ? ir::dtype_name(*one.dtype) : ""].insert(one.area);
  }
  std::string text;
  for (const auto& [reason, refusal] : refusals) {
    text += fmt::format("  {} ({} case{})\n{}", reason, refusal.cases, refusal.cases == 1 ? "" : "s",
                        refused_text(refusal.areas));
  }
  return text.empty() ? text : "\ndeclared unsupported:\n" + text;
}

std::string level_text(const LevelReport& level) {
  const Counts& counts = level.counts;
  std::string name = fmt::format("{}: {}", level_name(level.level), verdict_name(level.verdict));
  switch (level.verdict) {
    case Verdict::kPassed:
      return fmt::format("{} ({} cases)", name, counts.passed);
    case Verdict::kFailed:
      return fmt::format("{} ({} of {})", name, counts.failed, counts.passed + counts.failed);
    case Verdict::kNotClaimed:
      return fmt::format("{}: {} ({} of {} cases declared unsupported)", name, level.reason, counts.unsupported,
                         counts.total());
    case Verdict::kNotReached:
      return fmt::format("{}: {} ({} cases of its own passed)", name, level.reason, counts.passed);
    case Verdict::kIncomplete:
      if (counts.passed == 0) return fmt::format("{}: not tried", level_name(level.level));
      return fmt::format("{} ({} of {} cases run, all passed)", name, counts.passed, counts.total());
  }
  return name;
}

}  // namespace

const char* level_name(Level level) {
  switch (level) {
    case Level::kCore:
      return "core";
    case Level::kTraining:
      return "training";
    case Level::kVision:
      return "vision";
    case Level::kMixedPrecision:
      return "mixed precision";
    case Level::kNone:
      return "no level";
  }
  return "";
}

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPassed:
      return "passed";
    case Verdict::kFailed:
      return "failed";
    case Verdict::kNotClaimed:
      return "not claimed";
    case Verdict::kNotReached:
      return "not reached";
    case Verdict::kIncomplete:
      return "incomplete";
  }
  return "";
}

std::vector<Level> with_foundations(Level level) {
  if (level == Level::kCore) return {Level::kCore};
  if (level == Level::kTraining) return {Level::kCore, Level::kTraining};
  return {Level::kCore, Level::kTraining, level};
}

void Counts::add(const std::optional<CaseResult>& result) {
  if (!result) {
    ++not_run;
  } else {
    ++(result->outcome.kind == Kind::kPassed ? passed : result->outcome.kind == Kind::kFailed ? failed : unsupported);
  }
}

std::vector<LevelReport> judge(const Session& session) {
  std::vector<LevelReport> levels;
  for (const Level level : kLevels) levels.push_back({level, Verdict::kIncomplete, {}, {}});
  for (std::size_t i = 0; i < session.cases.size(); ++i) {
    const Case& one = session.cases[i];
    const auto& result = session.results[i];
    for (LevelReport& level : levels) {
      if (level.level != one.level) continue;
      level.counts.add(result);
      if (level.reason.empty() && result && result->outcome.kind == Kind::kUnsupported) {
        level.reason = fmt::format("{} ({})", one.area, common_reason(result->outcome.detail));
      }
    }
  }
  for (LevelReport& level : levels) {
    const Counts& counts = level.counts;
    level.verdict = counts.failed > 0                          ? Verdict::kFailed
                    : counts.unsupported > 0                   ? Verdict::kNotClaimed
                    : counts.not_run > 0 || counts.passed == 0 ? Verdict::kIncomplete
                                                               : Verdict::kPassed;
    if (level.verdict != Verdict::kPassed) continue;
    for (const Level below : with_foundations(level.level)) {
      const auto base = std::find_if(levels.begin(), levels.end(), [&](const auto& it) { return it.level == below; });
      if (below == level.level || base->verdict == Verdict::kPassed) continue;
      level.verdict = Verdict::kNotReached;
      level.reason = fmt::format("it builds on {}", level_name(below));
      break;
    }
  }
  return levels;
}

Counts count_all(const Session& session) {
  Counts counts;
  for (std::size_t i = 0; i < session.cases.size(); ++i) {
    if (session.chosen[i]) counts.add(session.results[i]);
  }
  return counts;
}

std::string report_as_text(const Session& session) {
  const Counts counts = count_all(session);
  std::string text = header_text(session) + table_text(make_table(session)) + failures_text(session) +
                     unsupported_text(session) + "\n";
  for (const LevelReport& level : judge(session)) text += level_text(level) + "\n";
  text += fmt::format("{} cases in {:.1f} s: {}{}\n", counts.total(), session.seconds, count_text(counts),
                      session.stopped ? "; interrupted" : "");
  return text;
}

}  // namespace thrt::conformance
