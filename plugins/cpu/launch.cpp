#include "launch.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

namespace thrt::cpu {
namespace {

// Of each way; the best counts, for the first runs meet cold caches. Alone comes first, with the team asleep: threads that
// look for work slow down one that has some, where two processors are the two halves of a core. Long launches are their
// own average.
constexpr int kTrials = 5, kLongTrials = 1;
constexpr double kLong = 2e6;  // ns
// Until the next trials: at first this long and so many launches, each time twice as long, at most so long. In
// nanoseconds of launches.
constexpr double kFirstRetry = 20e6, kFirstLaunches = 50, kLastRetry = 10e9;
// Trials end early when being together takes so many times as long.
constexpr double kHopeless = 3;
// Launches that take so many times as long as the best one, as many nanoseconds of them in a row as this, call for new
// trials: another process may have taken the other processor.
constexpr double kSlow = 1.7, kPatience = 1e6;

// What a sleeping team costs a launch that waits for it, ns, and what may be lost before it is woken for less. Guesses:
// waking a thread takes Linux from 5 to 50 microseconds.
constexpr double kAsleep = 30e3, kWakePrice = 30e3;
constexpr double kHighestWakePrice = 1e9;

double since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Launch::Launch(BoundRoutine routine, std::shared_ptr<Team> team)
    : routine_(std::move(routine)),
      team_(std::move(team)),
      retry_after_(std::max(kFirstRetry, kFirstLaunches * routine_.sequence_cost)),
      wake_price_(kWakePrice) {
  if (routine_.lanes == nullptr) return;
  team_->grow_to(routine_.lanes->count());
  begin_trials();
}

void Launch::begin_trials() {
  trials_ = routine_.sequence_cost > kLong ? kLongTrials : kTrials;
  trials_left_ = 2 * trials_;
  best_alone_ = best_together_ = std::numeric_limits<double>::infinity();
  untried_ = 0;
  slow_ = 0;
}

void Launch::run_better_way() {
  if (trials_left_ > 0) return try_out();
  const double gain = best_alone_ - best_together_;
  untried_ += std::min(best_alone_, best_together_);
  if (untried_ >= retry_after_) {
    retry_after_ = std::min(2 * retry_after_, kLastRetry);
    begin_trials();
    return try_out();
  }
  if (gain <= 0) return routine_.run_alone();
  if (team_->is_awake(routine_.lanes->count())) {
    wake_price_ = kWakePrice;
    return run_timed_together();
  }
  if (gain > kAsleep) return run_timed_together();
  // To rent or to buy: the team is waited for when being alone has cost as much; the price doubles as long as that is in
  // vain because the next launch comes too late.
  lost_ += gain;
  if (lost_ < wake_price_) return routine_.run_alone();
  lost_ = 0;
  wake_price_ = std::min(2 * wake_price_, kHighestWakePrice);
  run_together(*routine_.lanes, *team_);
}

void Launch::run_timed_together() {
  const auto start = std::chrono::steady_clock::now();
  run_together(*routine_.lanes, *team_);
  const double took = since(start);
  slow_ = took > kSlow * best_together_ + kAsleep ? slow_ + took : 0;
  if (slow_ > kPatience) begin_trials();
}

void Launch::try_out() {
  const bool alone = trials_left_ > trials_;
  --trials_left_;
  const auto start = std::chrono::steady_clock::now();
  if (alone) {
    routine_.run_alone();
    best_alone_ = std::min(best_alone_, since(start));
    return;
  }
  run_together(*routine_.lanes, *team_);
  best_together_ = std::min(best_together_, since(start));
  const bool warm = trials_left_ < trials_ - 1;
  if (warm && best_together_ > kHopeless * best_alone_) trials_left_ = 0;
}

}  // namespace thrt::cpu
