// config.toml: the settings of a run as a file. The top level holds RunConfig's, the table of the algorithm's name its
// hyper-parameters, [versions] what wrote it (for people; reading ignores the values).
#pragma once

#include <thrt/rl/train/run_config.hpp>
#include <thrt/rl/train/run_folder.hpp>

#include <filesystem>
#include <string>
#include <string_view>

namespace thrt::rl {

// Every setting, each with its help text as a comment.
std::string to_toml(const RunConfig& config);

// Sets what the file names and leaves the rest. Throws Error naming file, line and key for a file that cannot be read
// or is no TOML, an unknown key (with the choices and the nearest), a value of the wrong type or out of range; `config`
// is as it was then.
void apply_config_file(const std::filesystem::path& file, RunConfig& config);
// The same for a file's text; `source` is what errors call the file.
void apply_config_text(std::string_view text, const std::string& source, RunConfig& config);

// Atomically.
void write_config(const RunFolder& folder, const RunConfig& config);
// What write_config wrote. Throws Error as apply_config_file, and when it does not name algorithm and environment.
RunConfig read_config(const RunFolder& folder);

}  // namespace thrt::rl
