// Progress on standard output: one line rewritten in place on a terminal, plain lines elsewhere.
#pragma once

#include <thrt/rl/train/trainer.hpp>

#include <chrono>
#include <cstdio>
#include <string>

namespace thrt::cli {

// "step 12,288/150,000 (8 %)  return 123.4  27.1k steps/s  left 0:05"
std::string progress_text(const rl::TrainProgress& progress);

// "evaluation at step 12,288: 498.2 +- 12.0 (1.23 s of training)"
std::string evaluation_text(const rl::Evaluation& evaluation);

class ProgressPrinter {
 public:
  using Clock = std::chrono::steady_clock;

  // `terminal`: see is_terminal().
  ProgressPrinter(std::FILE* out, bool terminal, Clock::time_point start = Clock::now())
      : out_(out), terminal_(terminal), last_shown_(start) {}

  // Shows it, unless the last was shown a moment ago: 0.1 s on a terminal; elsewhere 5 s and less than a tenth of the
  // run.
  void update(const rl::TrainProgress& progress, Clock::time_point now = Clock::now());
  // A line of its own, above the progress line.
  void note(const std::string& line);
  // Ends the progress line, so that what follows starts on a new one.
  void finish();

 private:
  void show(const std::string& text);
  void put(const std::string& text);

  std::FILE* out_;
  bool terminal_;
  Clock::time_point last_shown_;
  bool any_shown_ = false;
  int last_tenth_ = 0;
  std::string line_;  // on the screen, not ended yet
};

// Whether it understands a carriage return: a terminal, and not a dumb one.
bool is_terminal(std::FILE* out);

}  // namespace thrt::cli
