#include "conformance.hpp"

#include <thrt/conformance/command.hpp>

#include <memory>

namespace thrt::cli {

Command add_conformance_command(CLI::App& app) {
  CLI::App* suite = app.add_subcommand("conformance", "test a backend: every operation, programs, the interface");
  const auto arguments = std::make_shared<conformance::Arguments>();
  conformance::add_options(*suite, *arguments);
  return {suite, [arguments] { return conformance::run(*arguments, "thrust conformance"); }};
}

}  // namespace thrt::cli
