#include "stop_signal.hpp"

#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace thrt::cli {
namespace {

enum Announcement : int { kNone, kLine, kTerminalLine };

// A handler gets nothing but the signal's number, so these two have to be global.
volatile std::sig_atomic_t stop_requested = 0;
volatile std::sig_atomic_t announcement = kNone;

// On a terminal the progress line, or the ^C, is still open. What cannot be written is let pass.
void announce(int number) {
  constexpr std::string_view kInterrupt = "\nstopping after this update; press Ctrl-C again to stop at once\n";
  constexpr std::string_view kTerminate = "\nstopping after this update; a second signal stops at once\n";
  std::string_view text = number == SIGINT ? kInterrupt : kTerminate;
  if (announcement == kLine) text.remove_prefix(1);
  const int kept = errno;
  [[maybe_unused]] const ssize_t wrote = write(STDERR_FILENO, text.data(), text.size());
  errno = kept;
}

// Async-signal-safe: it calls nothing but signal(), raise() and write().
void on_signal(int number) {
  if (stop_requested != 0) {
    std::signal(number, SIG_DFL);
    std::raise(number);  // delivered when the handler returns
    return;
  }
  stop_requested = 1;
  if (announcement != kNone) announce(number);
}

// Who started the process with the signal ignored, as a script does for what it runs in the background, wants that kept.
void handle(int number, struct sigaction& old) {
  sigaction(number, nullptr, &old);
  if (old.sa_handler == SIG_IGN) return;
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;  // a write of a checkpoint under way goes on
  sigaction(number, &action, &old);
}

}  // namespace

StopSignal::StopSignal(bool announce) {
  stop_requested = 0;
  announcement = !announce ? kNone : isatty(STDERR_FILENO) != 0 ? kTerminalLine : kLine;
  handle(SIGINT, old_interrupt_);
  handle(SIGTERM, old_terminate_);
}

StopSignal::~StopSignal() {
  sigaction(SIGINT, &old_interrupt_, nullptr);
  sigaction(SIGTERM, &old_terminate_, nullptr);
}

bool StopSignal::requested() const {
  return stop_requested != 0;
}

void let_writes_fail() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace thrt::cli
