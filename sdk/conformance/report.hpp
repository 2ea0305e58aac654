// What came of a run: for a person, as JSON, and as a verdict for each level.
#pragma once

#include "case.hpp"
#include "runner.hpp"

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace thrt::conformance {

// The levels that can be claimed, in the order in which they build on each other.
inline constexpr std::array<Level, 4> kLevels = {Level::kCore, Level::kTraining, Level::kVision,
                                                 Level::kMixedPrecision};
const char* level_name(Level level);  // "core", "training", "vision", "mixed precision"
// The level and those that it builds on: training builds on core, vision and mixed precision build on training.
std::vector<Level> with_foundations(Level level);

struct Subject {
  Manifest manifest;
  std::filesystem::path file;
  DeviceInfo device;
};

struct Session {
  Subject subject;
  Subject reference;
  std::string called;       // what reproduces a case when " --filter NAME" follows
  std::vector<Case> cases;  // the whole catalogue
  std::vector<bool> chosen;
  std::vector<std::optional<CaseResult>> results;  // one per case
  std::vector<std::string> faults;
  bool stopped = false;
  double seconds = 0.0;
};

struct Counts {
  std::size_t passed = 0;
  std::size_t failed = 0;
  std::size_t unsupported = 0;
  std::size_t not_run = 0;

  std::size_t total() const { return passed + failed + unsupported + not_run; }
  void add(const std::optional<CaseResult>& result);
};

enum class Verdict {
  kPassed,      // every case of the level was tried, claimed and right
  kFailed,      // a claimed case was wrong
  kNotClaimed,  // the backend says itself that it does not do a case
  kNotReached,  // all its own cases passed, a level below has not
  kIncomplete,  // nothing was wrong, and cases were left out
};
const char* verdict_name(Verdict verdict);  // "passed", "failed", "not claimed", "not reached", "incomplete"

struct LevelReport {
  Level level = Level::kCore;
  Verdict verdict = Verdict::kIncomplete;
  Counts counts;
  std::string reason;  // for a level that is not claimed: "conv2d: not implemented"
};

// One for each of kLevels.
std::vector<LevelReport> judge(const Session& session);
Counts count_all(const Session& session);

std::string report_as_text(const Session& session);
std::string report_as_json(const Session& session);  // one object, with a newline at its end

}  // namespace thrt::conformance
