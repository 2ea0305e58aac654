#include "runner.hpp"

#include "worker.hpp"

#include <thrt/error.hpp>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>

namespace thrt::conformance {
namespace {

using Clock = std::chrono::steady_clock;
// How often a stop is looked for.
constexpr std::chrono::milliseconds kGlance{100};

const char* signal_name(int number) {
  const char* name = sigabbrev_np(number);
  return name != nullptr ? name : "?";
}

// All but the standard streams and this one.
void close_all_but(int kept) {
  const auto number = static_cast<unsigned>(kept);
  if (number > 3) close_range(3, number - 1, 0);
  close_range(number + 1, ~0u, 0);
}

// A child and the case that it has.
class Worker {
 public:
  enum class State { kLoading, kIdle, kBusy, kClosing, kGone };

  Worker(const std::vector<Case>& cases, const RunnerOptions& options) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) throw cannot_start();
    std::fflush(nullptr);  // else the child would write what is buffered a second time
    child_ = fork();
    if (child_ < 0) throw cannot_start();
    if (child_ == 0) {
      // Left open here, another worker's channel would not end when the parent shuts it.
      close_all_but(ends[1]);
      run_worker(cases, options, ends[1]);
    }
    close(ends[1]);
    channel_ = ends[0];
    begin(State::kLoading, options.timeout);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    if (state_ != State::kGone) end_now();
    close(channel_);
  }

  State state() const { return state_; }
  int channel() const { return channel_; }
  std::size_t index() const { return index_; }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - began_).count(); }
  Clock::time_point deadline() const { return deadline_; }

  void give(std::size_t index, std::chrono::milliseconds timeout) {
    index_ = index;
    const auto number = static_cast<std::uint32_t>(index);
    begin(State::kBusy, timeout);
    send_all(channel_, &number, sizeof number);  // one that died is seen when it is listened to
  }
  void answered() { state_ = State::kIdle; }
  void ask_to_close(std::chrono::milliseconds timeout) {
    shutdown(channel_, SHUT_WR);
    begin(State::kClosing, timeout);
  }
  // Nothing when the child ended.
  std::optional<nlohmann::json> next_record() const {
    std::uint32_t length = 0;
    constexpr std::uint32_t kMost = 1u << 24;
    if (!receive_all(channel_, &length, sizeof length) || length > kMost) return std::nullopt;
    std::string text(length, '\0');
    if (!receive_all(channel_, text.data(), length)) return std::nullopt;
    nlohmann::json record = nlohmann::json::parse(text, nullptr, false);
    return record.is_object() ? std::optional(std::move(record)) : std::nullopt;
  }
  // Its status, after it ended by itself.
  int reap() {
    int status = 0;
    while (waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    state_ = State::kGone;
    return status;
  }
  int end_now() {
    ::kill(child_, SIGKILL);
    return reap();
  }

 private:
  void begin(State state, std::chrono::milliseconds timeout) {
    state_ = state;
    began_ = Clock::now();
    deadline_ = began_ + timeout;
  }
  static Error cannot_start() { return Error("cannot start a process", std::strerror(errno), "fewer --jobs"); }

  pid_t child_ = -1;
  int channel_ = -1;
  State state_ = State::kLoading;
  std::size_t index_ = 0;
  Clock::time_point began_;
  Clock::time_point deadline_;
};

class Run {
 public:
  Run(const std::vector<Case>& cases, const RunnerOptions& options) : cases_(cases), options_(options) {
    report_.results.resize(cases.size());
  }

  RunnerReport run() {
    const std::size_t workers = std::min<std::size_t>(std::max(options_.jobs, 1u), cases_.size());
    for (std::size_t i = 0; i < workers; ++i) start();
    while (!workers_.empty() && !report_.stopped) {
      wait_for_words();
      for (std::size_t i = workers_.size(); i-- > 0;) look_at(i);
      report_.stopped = options_.stop && options_.stop();
    }
    return std::move(report_);
  }

 private:
  using State = Worker::State;

  void start() { workers_.push_back(std::make_unique<Worker>(cases_, options_)); }

  void wait_for_words() {
    ready_.clear();
    std::chrono::milliseconds pause = kGlance;
    for (const auto& worker : workers_) {
      ready_.push_back({worker->channel(), POLLIN, 0});
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(worker->deadline() - Clock::now());
      pause = std::clamp(left, std::chrono::milliseconds(0), pause);
    }
    poll(ready_.data(), ready_.size(), static_cast<int>(pause.count()));  // interrupted: `stop` is asked at once
  }

  // Deals with what worker i said, if anything; one that is gone is taken out.
  void look_at(std::size_t i) {
    Worker& worker = *workers_[i];
    if (i < ready_.size() && ready_[i].revents != 0) {
      if (const auto record = worker.next_record()) {
        hear(worker, *record);
      } else {
        ended(worker);
      }
    } else if (Clock::now() >= worker.deadline()) {
      hung(worker);
    }
    if (worker.state() == State::kGone) {
      workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(i));
      ready_.clear();  // the places have moved; the next poll fills it again
      if (next_ < cases_.size()) start();
    }
  }

  void hear(Worker& worker, const nlohmann::json& record) {
    if (worker.state() == State::kLoading) {
      if (!record.contains("ready")) {
        throw Error(fmt::format("{} cannot be tested: {}", options_.plugin.string(), record.value("refused", "")),
                    record.value("why", ""), record.value("next", ""));
      }
    } else if (worker.state() == State::kBusy) {
      const auto kind = static_cast<Outcome::Kind>(record.value("kind", static_cast<int>(Outcome::Kind::kFailed)));
      finish(worker, {kind, record.value("detail", "")});
    }
    worker.answered();
    // A process in which a rule was broken is not used again; look_at() starts another when this one has ended.
    if (next_ < cases_.size() && !record.value("last", false)) {
      worker.give(next_++, options_.timeout);
    } else {
      worker.ask_to_close(options_.timeout);
    }
  }

  // Its side of the channel is closed.
  void ended(Worker& worker) {
    const State before = worker.state();
    const std::string how = ending_text(worker.reap());
    if (before == State::kBusy) finish(worker, {Outcome::Kind::kFailed, how});
    if (before == State::kLoading) throw cannot_load(how);
    if (before == State::kClosing && !how.empty() && how != "exited with 0") add_fault(worker, how);
  }

  void hung(Worker& worker) {
    const State before = worker.state();
    worker.end_now();
    const std::string how = fmt::format("hung {:g} s", static_cast<double>(options_.timeout.count()) / 1000.0);
    if (before == State::kBusy) finish(worker, {Outcome::Kind::kFailed, how});
    if (before == State::kLoading) throw cannot_load(how);
    if (before == State::kClosing) add_fault(worker, how);
  }

  Error cannot_load(const std::string& how) const {
    return Error(fmt::format("{} cannot be tested", options_.plugin.string()), how + " while it was loaded",
                 "`thrust backends --plugin FILE` shows its state");
  }

  void add_fault(const Worker& worker, const std::string& how) {
    report_.faults.push_back(fmt::format("{} while it was closed, after {}", how, cases_[worker.index()].name));
  }

  void finish(const Worker& worker, Outcome outcome) {
    report_.results[worker.index()] = CaseResult{std::move(outcome), worker.seconds()};
    ++done_;
    if (options_.on_progress) options_.on_progress(done_);
  }

  const std::vector<Case>& cases_;
  const RunnerOptions& options_;
  RunnerReport report_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<pollfd> ready_;
  std::size_t next_ = 0;  // the first case that nobody has
  std::size_t done_ = 0;
};

}  // namespace

std::string ending_text(int wait_status) {
  if (!WIFSIGNALED(wait_status)) return fmt::format("exited with {}", WEXITSTATUS(wait_status));
  const int number = WTERMSIG(wait_status);
  const char* how = number == SIGABRT ? "aborted" : number == SIGKILL || number == SIGTERM ? "was killed" : "crashed";
  return fmt::format("{} (SIG{})", how, signal_name(number));
}

RunnerReport run_cases(const std::vector<Case>& cases, const RunnerOptions& options) {
  return Run(cases, options).run();
}

}  // namespace thrt::conformance
