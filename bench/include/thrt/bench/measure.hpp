// Wall-clock of something that is run again and again.
#pragma once

#include <cstdint>
#include <functional>

namespace thrt::bench {

struct MeasureOptions {
  double min_seconds = 0.5;                           // of timed runs
  std::function<bool()> stop = [] { return false; };  // asked between samples
};

// Seconds for one run.
struct Timing {
  double median = 0.0;
  double min = 0.0;
  std::int64_t samples = 0;
  std::int64_t runs = 0;  // all samples together
};

// Warms up, then takes samples: each as many runs as last a millisecond, so that reading the clock costs nothing. At
// least five, unless it is stopped; then whatever there is, 0 samples included.
Timing measure(const std::function<void()>& run, const MeasureOptions& options = {});

}  // namespace thrt::bench
