// What all subcommands share: how one is made, and how what the user typed becomes a call or an Error.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace thrt::cli {

struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;  // returns the exit code
};

// Parses, runs the command that was asked for, and returns the process's exit code. Throws Error for a command line
// that is wrong: unknown command or option (with the nearest), missing value, something left over.
int parse_and_run(CLI::App& app, const std::vector<Command>& commands, int argc, char** argv);

// An option's value as a count of `low` or more. Throws Error naming the option.
std::int64_t parse_count(std::string_view option, const std::string& text, std::int64_t low);

}  // namespace thrt::cli
