#include "launch.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

namespace thrt::cpu {
namespace {

// Of each way; the best counts, for the first runs meet cold caches.
constexpr int kTrials = 4;
// A launch this long with a schedule this much shorter needs no trial, ns.
constexpr double kLong = 2e6, kClear = 0.75;

// What a sleeping team costs a launch that waits for it, ns, and what may be lost before it is woken for less. Guesses:
// waking a thread takes Linux from 5 to 50 microseconds.
constexpr double kAsleep = 30e3, kWakePrice = 30e3;
constexpr double kHighestWakePrice = 1e9;

double since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Launch::Launch(BoundRoutine routine, std::shared_ptr<Team> team)
    : routine_(std::move(routine)), team_(std::move(team)), wake_price_(kWakePrice) {
  if (routine_.lanes == nullptr) return;
  team_->grow_to(routine_.lanes->count());
  best_alone_ = routine_.sequence_cost;
  best_together_ = routine_.lanes_cost;
  const bool clear = best_alone_ > kLong && best_together_ < kClear * best_alone_;
  if (!clear) {
    trials_left_ = 2 * kTrials;
    best_alone_ = best_together_ = std::numeric_limits<double>::infinity();
  }
}

void Launch::run_better_way() {
  if (trials_left_ > 0) return try_out();
  const double gain = best_alone_ - best_together_;
  if (gain <= 0) return routine_.run_alone();
  const int lanes = routine_.lanes->count();
  if (team_->is_awake(lanes)) {
    wake_price_ = kWakePrice;
    return run_together(*routine_.lanes, *team_);
  }
  if (gain > kAsleep) return run_together(*routine_.lanes, *team_);
  // To rent or to buy: the team is woken when being alone has cost as much; the price doubles as long as that is in
  // vain because the next launch comes too late.
  lost_ += gain;
  if (lost_ >= wake_price_) {
    lost_ = 0;
    wake_price_ = std::min(2 * wake_price_, kHighestWakePrice);
    team_->wake(lanes);
  }
  routine_.run_alone();
}

void Launch::try_out() {
  const bool alone = trials_left_ <= kTrials;
  --trials_left_;
  const auto start = std::chrono::steady_clock::now();
  if (alone) {
    routine_.run_alone();
    best_alone_ = std::min(best_alone_, since(start));
  } else {
    run_together(*routine_.lanes, *team_);
    best_together_ = std::min(best_together_, since(start));
  }
}

}  // namespace thrt::cpu
