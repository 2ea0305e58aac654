// `thrust bench [FILTER]`: how fast the backends of this machine are at what training does.
#pragma once

#include "command_line.hpp"

namespace thrt::cli {

Command add_bench_command(CLI::App& app);

}  // namespace thrt::cli
