// Wall-clock time of parts of a loop.
#pragma once

#include <chrono>

namespace thrt::rl {

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

// Cuts time into laps that follow each other without a gap: one look at the clock ends a lap and begins the next.
class Laps {
 public:
  // Adds the time since the last call, or since this object was made.
  void add_to(double& total) {
    const Clock::time_point now = Clock::now();
    total += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
};

}  // namespace thrt::rl
