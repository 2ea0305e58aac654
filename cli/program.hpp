// `thrust program show FILE`: what is in a program file.
#pragma once

#include "command_line.hpp"

namespace thrt::cli {

Command add_program_command(CLI::App& app);

}  // namespace thrt::cli
