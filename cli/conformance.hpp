// `thrust conformance`: the suite that tries whether a backend does what it claims.
#pragma once

#include "command_line.hpp"

namespace thrt::cli {

Command add_conformance_command(CLI::App& app);

}  // namespace thrt::cli
