#include <thrt/bench/measure.hpp>

#include <algorithm>
#include <chrono>
#include <vector>

namespace thrt::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_of(const std::function<void()>& run, std::int64_t runs) {
  const Clock::time_point start = Clock::now();
  for (std::int64_t i = 0; i < runs; ++i) run();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Doubles the number of runs until they last long enough, or `stop` says so; these runs are the warm-up too.
std::int64_t runs_of_a_sample(const std::function<void()>& run, const std::function<bool()>& stop) {
  constexpr double kSampleSeconds = 1e-3;
  std::int64_t runs = 1;
  while (!stop() && seconds_of(run, runs) < kSampleSeconds) runs *= 2;
  return runs;
}

}  // namespace

Timing measure(const std::function<void()>& run, const MeasureOptions& options) {
  constexpr std::size_t kFewestSamples = 5;
  const std::int64_t runs = runs_of_a_sample(run, options.stop);
  std::vector<double> samples;
  double total = 0.0;
  while ((samples.size() < kFewestSamples || total < options.min_seconds) && !options.stop()) {
    const double seconds = seconds_of(run, runs);
    total += seconds;
    samples.push_back(seconds / static_cast<double>(runs));
  }
  Timing timing;
  timing.samples = static_cast<std::int64_t>(samples.size());
  timing.runs = timing.samples * runs;
  if (samples.empty()) return timing;
  std::sort(samples.begin(), samples.end());
  timing.min = samples.front();
  const std::size_t middle = samples.size() / 2;
  timing.median = samples.size() % 2 == 1 ? samples[middle] : 0.5 * (samples[middle - 1] + samples[middle]);
  return timing;
}

}  // namespace thrt::bench
