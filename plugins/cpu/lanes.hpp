// A schedule with its tasks: what each thread runs, pass after pass. A loop's body is one, run once per iteration by
// threads that stay in it.
#pragma once

#include "schedule.hpp"
#include "step.hpp"
#include "team.hpp"

#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

namespace thrt::cpu {

class Lanes {
 public:
  // tasks[unit]: one, or one for each lane of a unit that runs together; null where there is nothing to do. They must
  // outlive this.
  Lanes(const Schedule& schedule, const std::vector<std::vector<const Task*>>& tasks);

  int count() const { return static_cast<int>(lanes_.size()); }

  // One pass of one lane. To be called on all lanes at once, each time on all. A task that throws does not end the
  // pass, because other lanes wait for what comes after it; the failure is kept.
  void run_pass(int lane) noexcept;
  // A pass in which this lane has nothing to do.
  void skip_pass(int lane) noexcept;
  // Until all lanes have ended as many passes as this one.
  void wait_for_others(int lane) noexcept;

  // The lane's first failure, if it had one since the last call.
  std::exception_ptr take_failure(int lane) noexcept;
  // That of the first unit that failed, on any lane.
  std::exception_ptr take_first_failure() noexcept;

 private:
  struct Lane;
  struct Condition {
    Lane* lane;
    std::uint32_t count;
  };
  struct Entry {
    const Task* task;  // or null
    std::uint32_t unit;
    std::uint32_t first_condition, last_condition;
    std::uint32_t mark;  // to advance to when it is complete; 0: nobody waits for it
  };
  struct alignas(kCacheLine) Lane {
    Progress progress;
    std::uint32_t stride = 1;  // a pass: one for each item and one for its end
    std::vector<Entry> entries;
    std::vector<Condition> conditions;
    std::vector<Lane*> others;
    // Of the lane's own thread, and of the others after they waited for it.
    alignas(kCacheLine) std::uint32_t passes = 0;
    std::uint32_t failed_unit = 0;
    std::exception_ptr failure;
  };

  std::vector<std::unique_ptr<Lane>> lanes_;
};

// One pass of all lanes, on the caller's thread and the team's, which has grown to their number. Throws the failure of
// the first unit that failed.
void run_together(Lanes& lanes, Team& team);

}  // namespace thrt::cpu
