// The threads of a context. The caller's thread is lane 0; the others are started when the first binding has work for
// them, because a process may fork between opening a context and using it, and live until the team is destroyed. A child
// that is forked later has none of them: it may destroy what its parent made, and not launch it.
//
// Threads wait by spinning for a while and then sleeping in the kernel (std::atomic::wait), so that a machine with more
// threads than processors makes progress.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace thrt::cpu {

inline constexpr std::size_t kCacheLine = 64;

// A counter that one thread advances and others wait for. It wraps around: what is waited for lies less than 2^31 ahead.
class alignas(kCacheLine) Progress {
 public:
  void advance_to(std::uint32_t count) {
    // Sequentially consistent, so that either this thread sees the sleeper or the sleeper sees the count.
    count_.store(count, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) != 0) count_.notify_all();
  }

  void wait_for(std::uint32_t count) {
    if (!reached(count_.load(std::memory_order_acquire), count)) wait_long_for(count);
  }
  // Whether a thread sleeps in wait_for.
  bool has_sleeper() const { return sleepers_.load(std::memory_order_relaxed) != 0; }

 private:
  static bool reached(std::uint32_t count, std::uint32_t wanted) {
    return static_cast<std::int32_t>(count - wanted) >= 0;
  }
  void wait_long_for(std::uint32_t count);

  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

class Team {
 public:
  // Of all lanes, the caller's included.
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int threads() const { return threads_; }

  // Starts the threads that are not there yet.
  void grow_to(int lanes);

  // What a launch does on one lane.
  struct Job {
    void (*run_lane)(void* self, int lane) noexcept = nullptr;
    void* self = nullptr;
  };

  // Lets the other threads begin `job` on lanes 1 to lanes - 1 and returns. They must have been started, and the last
  // job have been waited for.
  void start(const Job& job, int lanes) noexcept;
  // Until these lanes are done with the last job: nothing that belongs to it is touched any more.
  void wait_until_done(int lanes) noexcept;

  // Whether all threads that `start` would use look for work, so that they begin in less than a microsecond.
  bool is_awake(int lanes) const noexcept;
  // Gets them to look for work for a while.
  void wake(int lanes) noexcept;

 private:
  struct Worker {
    Progress calls;                      // advances with each job and each wake()
    std::uint32_t call_count = 0;        // the caller's own count of the same
    std::atomic<std::uint32_t> jobs{0};  // how many it was given
    Progress done;                       // how many it is done with
    Job job;                             // the last of them
    std::thread thread;
  };
  void work(Worker& worker, int lane);

  int threads_;
  std::atomic<bool> leaving_{false};
  std::vector<std::unique_ptr<Worker>> workers_;  // lane 1 first
};

}  // namespace thrt::cpu
