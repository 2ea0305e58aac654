#include "program.hpp"

#include "open_backend.hpp"
#include "program_counters.hpp"
#include "report.hpp"

#include <thrt/error.hpp>
#include <thrt/io/program_file.hpp>
#include <thrt/ir/ops.hpp>
#include <thrt/ir/print.hpp>
#include <thrt/runtime/context.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace thrt::cli {
namespace {

struct ProgramOptions {
  std::string action;
  std::string file;
  bool fused = false;
  std::optional<std::string> backend;
  PluginOptions plugins;
  bool json = false;
};

// Of a program and its sub-programs, each counted once.
struct Counts {
  std::uint64_t ops = 0;
  std::uint64_t values = 0;
  std::uint64_t constants = 0;
  std::uint64_t constant_bytes = 0;
  std::uint64_t subprograms = 0;
  std::map<std::string_view, std::uint64_t> by_op;
};

void count(const thrt_program& program, Counts& counts) {
  counts.ops += program.op_count;
  counts.values += program.value_count;
  counts.constant_bytes += program.constant_bytes;
  for (std::uint32_t i = 0; i < program.op_count; ++i) {
    const ir::OpKind kind = static_cast<ir::OpKind>(program.ops[i].kind);
    ++counts.by_op[ir::op_info(kind).name];
    if (kind == ir::OpKind::CONSTANT) ++counts.constants;
  }
  for (std::uint32_t i = 0; i < program.subprogram_count; ++i) {
    ++counts.subprograms;
    count(*program.subprograms[i], counts);
  }
}

std::string as_json(const thrt_program& program) {
  Counts counts;
  count(program, counts);
  const nlohmann::ordered_json object = {
      {"name", program.strings + program.name},
      {"fingerprint", fmt::format("{:016x}{:016x}", program.fingerprint[0], program.fingerprint[1])},
      {"op_set", program.opset},
      {"slots", program.slot_count},
      {"ops", counts.ops},
      {"values", counts.values},
      {"subprograms", counts.subprograms},
      {"constants", counts.constants},
      {"constant_bytes", counts.constant_bytes},
      {"by_op", counts.by_op}};
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// What a backend makes of it.
int show_fused(const ProgramOptions& options, const thrt_program& program) {
  rl::RunConfig config;
  if (options.backend) config.backend = *options.backend;
  const SelectedBackend backend = open_backend(config, options.plugins);
  const Context context(backend.plugin, {.device_index = backend.device_index});
  const Executable executable(context, copy_of(program));
  const std::optional<std::string> description = executable.describe();
  if (!description) {
    throw Error(fmt::format("backend {} does not say what it makes of a program", backend_name(backend)),
                fmt::format("{} offers no {} extension, or has nothing to say about this program",
                            backend.plugin->file().string(), THRT_DESCRIBE_ID),
                "another --backend, or `thrust program show FILE` for the program as it is");
  }
  if (!options.json) {
    fmt::print("{}\n{}", executable.summary(), *description);
    return 0;
  }
  const thrt_executable_info& info = executable.info();
  const nlohmann::ordered_json object = {{"name", executable.program().name()},
                                         {"backend", backend_name(backend)},
                                         {"device", backend.device().name},
                                         {"ops", info.ops},
                                         {"steps", info.steps},
                                         {"workspace_bytes", info.workspace_bytes},
                                         {"counters", counters_json(executable.counters())},
                                         {"description", *description}};
  fmt::print("{}\n", object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  return 0;
}

int run_program(const ProgramOptions& options) {
  if (options.action != "show") {
    throw Error(options.action.empty() ? std::string("`thrust program` needs to know what to do")
                                       : fmt::format("unknown action '{}'", options.action),
                "actions: show", "thrust program show FILE");
  }
  if (options.file.empty())
    throw Error("no program file", "`thrust program show` takes one", "thrust program show FILE");
  if (!options.fused && (options.backend || !options.plugins.files.empty())) {
    throw Error(fmt::format("{} goes with --fused", options.backend ? "--backend" : "--plugin"),
                "the program itself is the same for every backend", "thrust program show FILE --fused --backend cpu");
  }
  const io::StoredProgram program = io::StoredProgram::read(options.file);
  if (options.fused) return show_fused(options, *program.abi());
  const std::string text = options.json ? as_json(*program.abi()) : ir::print(*program.abi());
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace

Command add_program_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("program", "look into a program file");
  const auto options = std::make_shared<ProgramOptions>();
  command->add_option("ACTION", options->action, "show: print it, one line an op");
  command->add_option("FILE", options->file, "a program file, as a training saves them");
  command->add_flag("--fused", options->fused, "what a backend makes of it: its kernels or steps");
  command->add_option("--backend", options->backend, "with --fused: ID, ID:INDEX or ID:NAME [cpu]")->type_name("ID");
  command->add_option("--plugin", options->plugins.files, "with --fused: a backend plugin; may be repeated")
      ->type_name("FILE")
      ->type_size(1)
      ->allow_extra_args(false);
  command->add_flag("--json", options->json, "name, fingerprint and counts as one JSON object");
  return {command, [options] { return run_program(*options); }};
}

}  // namespace thrt::cli
