// The suite as a command: what `thrust-conformance` and `thrust conformance` share.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace thrt::conformance {

// As typed.
struct Arguments {
  std::optional<std::string> plugin;
  std::optional<std::string> backend;
  std::optional<std::string> device;
  std::optional<std::string> reference;
  std::optional<std::string> level;
  std::vector<std::string> filters;
  std::string jobs = "1";
  std::string timeout = "60";
  bool list = false;
  bool json = false;
};

void add_options(CLI::App& app, Arguments& arguments);

// Prints the report to standard output and the progress to standard error. `called`: the words that start the command,
// for lines that reproduce a case. Returns the exit code: 0 everything that is claimed passed, and the level that was asked
// for is claimed; 1 not so; 130 interrupted. Throws Error when it cannot start.
//
// The process must have one thread and have loaded no plugin (see runner.hpp), and must answer `__probe` as probe.hpp
// says.
int run(const Arguments& arguments, const std::string& called);

}  // namespace thrt::conformance
