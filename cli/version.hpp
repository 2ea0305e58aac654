// `thrust version`: of the binary, the backend interface and the op set.
#pragma once

#include "command_line.hpp"

#include <string>

namespace thrt::cli {

Command add_version_command(CLI::App& app);
std::string version_text();

}  // namespace thrt::cli
