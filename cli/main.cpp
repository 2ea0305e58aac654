// The `thrust` binary: hands the command line to a subcommand and turns what goes wrong into three lines and an exit
// code (docs/cli.md).
#include "backends.hpp"
#include "bench.hpp"
#include "command_line.hpp"
#include "conformance.hpp"
#include "eval.hpp"
#include "program.hpp"
#include "train.hpp"
#include "version.hpp"

#include <thrt/error.hpp>
#include <thrt/plugin/probe.hpp>
#include <thrt/standard_streams.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <system_error>

namespace {

using thrt::cli::Command;

Command add_backends_command(CLI::App& app) {
  CLI::App* backends = app.add_subcommand("backends", "list the backends, or why a file cannot be used");
  const auto options = std::make_shared<thrt::cli::BackendsOptions>();
  backends->add_option("--plugin", options->plugins, "a backend plugin; may be repeated")
      ->type_name("FILE")
      ->type_size(1)
      ->allow_extra_args(false);
  backends->add_flag("--json", options->json, "one JSON object on standard output and nothing else");
  return {backends, [options] { return thrt::cli::run_backends(*options); }};
}

int run(int argc, char** argv) {
  CLI::App app("Trains neural networks, reinforcement learning first, on the backends that this machine has.",
               "thrust");
  app.require_subcommand(0, 1);
  app.allow_extras();  // left-over arguments are reported by us, with the nearest name
  app.set_version_flag("--version", thrt::cli::version_text());
  app.footer("`thrust COMMAND --help` shows the options of a command.");
  const std::vector<Command> commands = {thrt::cli::add_train_command(app),   thrt::cli::add_eval_command(app),
                                         add_backends_command(app),           thrt::cli::add_version_command(app),
                                         thrt::cli::add_program_command(app), thrt::cli::add_conformance_command(app),
                                         thrt::cli::add_bench_command(app)};
  const int code = thrt::cli::parse_and_run(app, commands, argc, argv);
  thrt::finish_standard_output();
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  thrt::occupy_closed_streams();
  // The child that discovery starts for each plugin: it must not do anything more first.
  if (argc == 4 && std::strcmp(argv[1], "__probe") == 0) return thrt::probe_main(argv[2], std::atoi(argv[3]));
  try {
    return run(argc, argv);
  } catch (const thrt::Error& error) {
    return thrt::report_failure(error);
  } catch (const std::bad_alloc&) {
    return thrt::report_failure(thrt::Error(
        "out of memory", {}, "fewer environments, shorter rollouts, a smaller --buffer-size or a smaller network",
        thrt::ErrorKind::kRun));
  } catch (const std::system_error& failure) {
    return thrt::report_failure(thrt::Error(failure.what(), "the system refused it", "check disk space and permissions",
                                            thrt::ErrorKind::kRun));
  } catch (const std::exception& failure) {
    return thrt::report_failure(thrt::Error(fmt::format("internal error: {}", failure.what()),
                                            "a fault of thrust itself", "report it with the command line",
                                            thrt::ErrorKind::kRun));
  }
}
