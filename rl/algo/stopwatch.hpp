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

// Adds the time of its life to a total.
class Lap {
 public:
  explicit Lap(double& total) : total_(total) {}
  ~Lap() { total_ += watch_.seconds(); }
  Lap(const Lap&) = delete;
  Lap& operator=(const Lap&) = delete;

 private:
  double& total_;
  Stopwatch watch_;
};

}  // namespace thrt::rl
