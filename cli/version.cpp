#include "version.hpp"

#include <thrt/rl/train/versions.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace thrt::cli {

std::string version_text() {
  const rl::Versions is = rl::versions();
  return fmt::format("thrust {} (backend ABI {}, op set {})", is.thrust, is.abi, is.op_set);
}

Command add_version_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("version", "versions of the binary, the backend ABI and the op set");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "one JSON object");
  return {command, [json] {
            const rl::Versions is = rl::versions();
            const nlohmann::ordered_json object = {{"thrust", is.thrust}, {"abi", is.abi}, {"op_set", is.op_set}};
            fmt::print("{}\n", *json ? object.dump() : version_text());
            return 0;
          }};
}

}  // namespace thrt::cli
