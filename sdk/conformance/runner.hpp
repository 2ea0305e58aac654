// Runs cases on one plugin file. The plugin's code runs in child processes alone, so that a crash, a hang or an exit is
// the failure of one case and the next one is tried all the same.
#pragma once

#include "case.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace thrt::conformance {

struct CaseResult {
  Outcome outcome;
  double seconds = 0.0;
};

struct RunnerOptions {
  std::filesystem::path plugin;
  std::filesystem::path reference;
  std::uint32_t device_index = 0;
  unsigned jobs = 1;                          // workers side by side
  std::chrono::milliseconds timeout{60'000};  // of one case
  std::function<bool()> stop;                 // asked several times a second; true ends the run
  std::function<void(std::size_t done)> on_progress;
};

struct RunnerReport {
  std::vector<std::optional<CaseResult>> results;  // one per case; nothing for those that a stop left out
  std::vector<std::string> faults;  // of no single case: "crashed (SIGSEGV) while it was closed, after matmul/f32/3x5"
  bool stopped = false;
};

// Throws Error when a child cannot be started, or when one cannot load the plugin or the reference.
//
// Call it from a process with one thread that has loaded no plugin. A forked child has a copy of the calling thread alone:
// a lock that another thread held stays locked in it for ever, and the driver that a plugin brought into the parent
// would be in it with its threads missing.
RunnerReport run_cases(const std::vector<Case>& cases, const RunnerOptions& options);

// "crashed (SIGSEGV)", "aborted (SIGABRT)", "was killed (SIGKILL)", "exited with 3", of a status from waitpid.
std::string ending_text(int wait_status);

}  // namespace thrt::conformance
