// The one exception type of core, rl and cli: what went wrong, why, and what to do next.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace thrt {

// The process exit code an error leads to (see docs/cli.md).
enum class ErrorKind {
  kRun = 1,    // it ran and failed: device lost, target not reached
  kStart = 2,  // it could not start: bad input, missing backend, bad file
};

class Error : public std::runtime_error {
 public:
  // `what`: one sentence with the name of the thing. `why`: the cause, may be empty. `next`: what to try, may be empty.
  explicit Error(const std::string& what, std::string why = {}, std::string next = {},
                 ErrorKind kind = ErrorKind::kStart)
      : std::runtime_error(what), why_(std::move(why)), next_(std::move(next)), kind_(kind) {}

  const std::string& why() const { return why_; }
  const std::string& next() const { return next_; }
  ErrorKind kind() const { return kind_; }

 private:
  std::string why_;
  std::string next_;
  ErrorKind kind_;
};

}  // namespace thrt
