#include "stop_signal.hpp"

namespace thrt::cli {
namespace {

// A handler gets nothing but the signal's number, so this one flag has to be global.
volatile std::sig_atomic_t stop_requested = 0;

// Async-signal-safe: it calls nothing but signal() and raise().
void on_signal(int number) {
  if (stop_requested != 0) {
    std::signal(number, SIG_DFL);
    std::raise(number);  // delivered when the handler returns
  }
  stop_requested = 1;
}

}  // namespace

StopSignal::StopSignal() {
  stop_requested = 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;  // a write of a checkpoint under way goes on
  sigaction(SIGINT, &action, &old_interrupt_);
  sigaction(SIGTERM, &action, &old_terminate_);
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
