// `thrust eval RUN`: fresh episodes with a run's policy.
#pragma once

#include "command_line.hpp"

namespace thrt::cli {

Command add_eval_command(CLI::App& app);

}  // namespace thrt::cli
