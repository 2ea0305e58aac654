// Ctrl-C and SIGTERM: the first asks for a clean stop, the second ends the process at once.
#pragma once

#include <csignal>

namespace thrt::cli {

// Handles both signals while it lives, unless the process was started with them ignored; one at a time.
class StopSignal {
 public:
  // `announce`: say at once, on standard error, that the first was heard; an update may take long.
  explicit StopSignal(bool announce);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  bool requested() const;

 private:
  struct sigaction old_interrupt_ {};
  struct sigaction old_terminate_ {};
};

// From here on a write to a pipe that nobody reads, or past the largest size of a file, fails instead of ending the
// process.
void let_writes_fail();

}  // namespace thrt::cli
