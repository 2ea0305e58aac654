// `thrust train ALGO ENV`: a new run, or one that goes on.
#pragma once

#include "command_line.hpp"

namespace thrt::cli {

Command add_train_command(CLI::App& app);

}  // namespace thrt::cli
