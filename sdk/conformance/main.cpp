// The `thrust-conformance` binary: the suite alone, for authors who have the sdk and not the `thrust` command.
#include <thrt/conformance/command.hpp>
#include <thrt/error.hpp>
#include <thrt/nearest_name.hpp>
#include <thrt/plugin/probe.hpp>
#include <thrt/standard_streams.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

namespace {

thrt::Error not_understood(const CLI::App& app, const std::string& argument) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::string nearest = thrt::nearest_name(argument.substr(0, argument.find('=')), names);
  return thrt::Error(fmt::format("'{}' is not understood", argument), "there is no such option",
                     nearest.empty() ? "thrust-conformance --help" : fmt::format("the nearest is {}", nearest));
}

int run(int argc, char** argv) {
  CLI::App app("Tests a Thrust RL backend: every operation, whole programs, and the rules of the C interface.",
               "thrust-conformance");
  thrt::conformance::Arguments arguments;
  thrt::conformance::add_options(app, arguments);
  app.footer("Exit code: 0 all that the backend claims is right, 1 it is not, 2 it could not start, 130 interrupted.");
  app.allow_extras();  // left-over arguments are reported by us, with the nearest name
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& failure) {
    throw thrt::Error(failure.what(), "the command line cannot be used", "thrust-conformance --help");
  }
  if (!app.remaining().empty()) throw not_understood(app, app.remaining().front());
  const int code = thrt::conformance::run(arguments, "thrust-conformance");
  thrt::finish_standard_output();
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  thrt::occupy_closed_streams();
  // The child in which a plugin is tried first: it must not do anything more first.
  if (argc == 4 && std::strcmp(argv[1], "__probe") == 0) return thrt::probe_main(argv[2], std::atoi(argv[3]));
  try {
    return run(argc, argv);
  } catch (const thrt::Error& error) {
    return thrt::report_failure(error);
  } catch (const std::exception& failure) {
    return thrt::report_failure(thrt::Error(fmt::format("internal error: {}", failure.what()),
                                            "a fault of the suite itself", "report it with the command line",
                                            thrt::ErrorKind::kRun));
  }
}
