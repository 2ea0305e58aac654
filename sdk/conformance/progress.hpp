// How far a run is, on standard error: one line rewritten in place on a terminal, a plain line now and then elsewhere.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

namespace thrt::conformance {

class ProgressLine {
 public:
  using Clock = std::chrono::steady_clock;

  ProgressLine(std::FILE* out, std::size_t total);
  ~ProgressLine();  // takes the line away, so that the report starts on a clean one
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void update(std::size_t done, Clock::time_point now = Clock::now());

 private:
  void show(const std::string& text);

  std::FILE* out_;
  std::size_t total_;
  bool terminal_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_shown_ = start_;
  std::string line_;  // on the screen, not ended yet
};

// "case 120/812 (14 %)  210 cases/s  left 0:03"
std::string progress_text(std::size_t done, std::size_t total, double seconds);

}  // namespace thrt::conformance
