#include "command_line.hpp"

#include <thrt/error.hpp>
#include <thrt/nearest_name.hpp>
#include <thrt/rl/train/fields.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace thrt::cli {
namespace {

bool is_option(const std::string& argument) {
  return argument.size() > 1 && argument[0] == '-' && std::isdigit(static_cast<unsigned char>(argument[1])) == 0;
}

std::vector<std::string> command_names(const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.app->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

Error unknown_option(const CLI::App& app, const std::string& command, const std::string& argument) {
  const std::string name = argument.substr(0, argument.find('='));
  const std::string nearest = nearest_name(name, option_names(app));
  return Error(fmt::format("unknown option '{}'", name), fmt::format("`{}` has no such option", command),
               nearest.empty() ? fmt::format("`{} --help` lists its options", command)
                               : fmt::format("the nearest is {}; `{} --help` lists all", nearest, command));
}

void refuse_leftovers(const CLI::App& app, const std::vector<Command>& commands) {
  const std::vector<std::string> before = app.remaining();
  if (!before.empty() && is_option(before.front())) {
    throw Error(fmt::format("unknown option '{}'", before.front()), "options follow the command they are for",
                "thrust COMMAND OPTIONS; `thrust --help` lists the commands");
  }
  if (!before.empty()) {
    const std::vector<std::string> names = command_names(commands);
    const std::string nearest = nearest_name(before.front(), names);
    throw Error(fmt::format("unknown command '{}'", before.front()),
                fmt::format("commands: {}", fmt::join(names, ", ")),
                nearest.empty() ? "`thrust --help` tells what they do" : fmt::format("the nearest is '{}'", nearest));
  }
  for (const Command& command : commands) {
    if (!*command.app) continue;
    const std::string called = "thrust " + command.app->get_name();
    const std::vector<std::string> left = command.app->remaining();
    if (left.empty()) continue;
    const auto option = std::find_if(left.begin(), left.end(), is_option);
    if (option != left.end()) throw unknown_option(*command.app, called, *option);
    throw Error(fmt::format("'{}' is one argument too many", left.front()),
                fmt::format("`{}` does not take it", called), fmt::format("`{} --help` shows what it takes", called));
  }
}

}  // namespace

int parse_and_run(CLI::App& app, const std::vector<Command>& commands, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help and --version
    return app.exit(success);
  } catch (const CLI::ArgumentMismatch& failure) {  // "--seed: 1 required N missing", "--seed: At Most 1 required …"
    const std::string_view text = failure.what();
    const std::string_view option = text.substr(0, text.find(':'));
    const bool twice = text.find("At Most") != std::string_view::npos;
    throw Error(fmt::format("{} {}", option, twice ? "was given more than once" : "has no value"),
                twice ? "it takes one value" : "a value has to follow it", "`thrust COMMAND --help` lists the options");
  } catch (const CLI::ParseError& failure) {
    std::string called = "thrust";
    for (const Command& command : commands) {
      if (command.app->parsed()) called += " " + command.app->get_name();
    }
    throw Error(failure.what(), fmt::format("`{}` was given arguments it cannot use", called),
                fmt::format("`{} --help`", called));
  }
  refuse_leftovers(app, commands);
  for (const Command& command : commands) {
    if (*command.app) return command.run();
  }
  throw Error("no command", fmt::format("commands: {}", fmt::join(command_names(commands), ", ")),
              "`thrust --help` tells what they do");
}

std::int64_t parse_count(std::string_view option, const std::string& text, std::int64_t low) {
  const auto value = rl::parse_whole_number(text);
  if (value && *value >= low) return *value;
  throw Error(fmt::format("{} is '{}'", option, text), fmt::format("it takes a whole number of {} or more", low),
              fmt::format("for example {} 100", option));
}

}  // namespace thrt::cli
