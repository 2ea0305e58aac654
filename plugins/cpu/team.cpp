#include "team.hpp"

#include "processors.hpp"

#include <sched.h>

#include <chrono>
#include <csignal>

namespace thrt::cpu {
namespace {

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

// How long a thread looks for what it waits for before it sleeps. Falling asleep and being woken costs some 5 to 50
// microseconds, most of it on the side of the one who wakes; waiting as long as that before is at most twice the price
// of knowing (Karlin, Li, Manasse and Owicki, "Empirical studies of competitive spinning", 1991).
constexpr std::chrono::microseconds kSpin{50};
constexpr int kLooksPerClock = 64;
// From then on it offers its processor between looks: what it waits for may have to run on it.
constexpr std::chrono::microseconds kAlone{2};

// A thread started meanwhile takes no signals: the host's handlers run on the host's threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

void Progress::wait_long_for(std::uint32_t count) {
  const auto start = std::chrono::steady_clock::now();
  for (auto waited = start - start; waited < kSpin; waited = std::chrono::steady_clock::now() - start) {
    if (waited > kAlone) sched_yield();
    for (int i = 0; i < kLooksPerClock; ++i) {
      if (reached(count_.load(std::memory_order_acquire), count)) return;
      relax();
    }
  }
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  for (std::uint32_t now = count_.load(std::memory_order_seq_cst); !reached(now, count);
       now = count_.load(std::memory_order_seq_cst)) {
    count_.wait(now, std::memory_order_seq_cst);
  }
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

Team::Team(int threads) : threads_(threads) {}

Team::~Team() {
  leaving_.store(true, std::memory_order_relaxed);
  wake(static_cast<int>(workers_.size()) + 1);
  for (const auto& worker : workers_) worker->thread.join();
}

void Team::work(Worker& worker, int lane) {
  std::uint32_t done = 0;
  for (std::uint32_t call = 1;; ++call) {
    worker.calls.wait_for(call);
    if (leaving_.load(std::memory_order_relaxed)) return;
    if (worker.jobs.load(std::memory_order_acquire) == done) continue;
    worker.job.run_lane(worker.job.self, lane);
    worker.done.advance_to(++done);
  }
}

void Team::grow_to(int lanes) {
  while (static_cast<int>(workers_.size()) + 1 < lanes) {
    workers_.push_back(std::make_unique<Worker>());
    Worker& worker = *workers_.back();
    const auto lane = static_cast<int>(workers_.size());
    const SignalsBlocked blocked;
    const int processor = processor_at(lane);
    try {
      worker.thread = std::thread([this, &worker, lane, processor] {
        begin_on(processor);
        work(worker, lane);
      });
    } catch (...) {
      workers_.pop_back();
      throw;
    }
  }
}

void Team::start(const Job& job, int lanes) noexcept {
  for (int lane = 1; lane < lanes; ++lane) {
    Worker& worker = *workers_[static_cast<std::size_t>(lane - 1)];
    worker.job = job;
    worker.jobs.store(worker.jobs.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    worker.calls.advance_to(++worker.call_count);
  }
}

void Team::wait_until_done(int lanes) noexcept {
  for (int lane = 1; lane < lanes; ++lane) {
    Worker& worker = *workers_[static_cast<std::size_t>(lane - 1)];
    worker.done.wait_for(worker.jobs.load(std::memory_order_relaxed));
  }
}

bool Team::is_awake(int lanes) const noexcept {
  for (int lane = 1; lane < lanes; ++lane) {
    if (workers_[static_cast<std::size_t>(lane - 1)]->calls.has_sleeper()) return false;
  }
  return true;
}

void Team::wake(int lanes) noexcept {
  for (int lane = 1; lane < lanes; ++lane) {
    Worker& worker = *workers_[static_cast<std::size_t>(lane - 1)];
    worker.calls.advance_to(++worker.call_count);
  }
}

}  // namespace thrt::cpu
