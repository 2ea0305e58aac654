// One binding's launches: on the caller's thread alone, or on the team, whichever is faster here.
#pragma once

#include "lanes.hpp"
#include "step.hpp"
#include "team.hpp"

#include <thrt/sdk/host_memory.hpp>

#include <cstdint>
#include <memory>

namespace thrt::cpu {

class Launch : public sdk::HostRun {
 public:
  Launch(BoundRoutine routine, std::shared_ptr<Team> team);

  void run() override {
    if (routine_.lanes == nullptr) {
      routine_.run_alone();
    } else {
      run_better_way();
    }
  }

 private:
  void run_better_way();
  void run_timed_together();
  void begin_trials();
  void try_out();

  BoundRoutine routine_;
  std::shared_ptr<Team> team_;

  // Both ways compute the same bits, so which one is better may be found out by the clock; now and then anew, because
  // what else the machine has to do changes.
  int trials_ = 0, trials_left_ = 0;           // of each way; of both
  double best_alone_ = 0, best_together_ = 0;  // ns
  double untried_ = 0, retry_after_;           // what launches took since the last trials, and may; ns
  double slow_ = 0;                            // what slow ones took in a row; ns
  // What being alone has lost while the team slept, and how much of that pays for waking it; ns.
  double lost_ = 0, wake_price_;
};

}  // namespace thrt::cpu
