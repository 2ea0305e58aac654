#include "eval.hpp"

#include "open_backend.hpp"
#include "report.hpp"
#include "stop_signal.hpp"

#include <thrt/error.hpp>
#include <thrt/rl/train/config_file.hpp>
#include <thrt/rl/train/fields.hpp>
#include <thrt/rl/train/run_folder.hpp>
#include <thrt/rl/train/trainer.hpp>
#include <thrt/shell_word.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>

namespace thrt::cli {
namespace {

namespace fs = std::filesystem;

struct EvalCommand {
  std::optional<std::string> run;
  std::optional<std::string> checkpoint;
  std::string episodes = "100";
  std::string seed = "1000000";
  std::optional<std::string> backend;
  std::optional<std::string> threads;
  bool stochastic = false;
  bool json = false;
  PluginOptions plugins;
};

struct Subject {
  rl::RunFolder folder;
  fs::path checkpoint;
};

fs::path existing(const fs::path& checkpoint) {
  std::error_code failure;
  if (fs::is_regular_file(checkpoint, failure)) return checkpoint;
  throw Error(fmt::format("there is no checkpoint '{}'", checkpoint.string()),
              fs::exists(checkpoint, failure) ? "it is not a file"
              : failure                       ? failure.message()
                                              : "no such file",
              "`ls RUN/checkpoints` shows a run's");
}

fs::path newest(const rl::RunFolder& folder) {
  if (const auto latest = folder.latest_checkpoint()) return *latest;
  throw Error(fmt::format("the run '{}' has no checkpoint yet", folder.path().string()),
              "it was stopped before it wrote one",
              fmt::format("thrust train --resume {}", shell_word(folder.path().string())));
}

// RUN is a run's folder, or a file of its checkpoints folder.
Subject find_subject(const EvalCommand& command) {
  std::error_code failure;
  const fs::path run = *command.run;
  if (!fs::is_regular_file(run, failure)) {
    rl::RunFolder folder = rl::RunFolder::open(run);
    fs::path checkpoint = command.checkpoint ? existing(*command.checkpoint) : newest(folder);
    return {std::move(folder), std::move(checkpoint)};
  }
  if (command.checkpoint) {
    throw Error(fmt::format("--checkpoint {} and the file '{}' are two checkpoints", *command.checkpoint, *command.run),
                "RUN is a file already", "name the run's folder, or leave --checkpoint out");
  }
  const fs::path owner = fs::absolute(run).lexically_normal().parent_path().parent_path();
  if (!fs::exists(owner / "config.toml", failure)) {
    throw Error(fmt::format("'{}' is not in a run folder", *command.run),
                fmt::format("'{}' has no config.toml, which says what network it is", owner.string()),
                "thrust eval RUN --checkpoint FILE with the run it is from");
  }
  rl::RunFolder folder = rl::RunFolder::open(owner);
  fs::path checkpoint = run.filename() == "latest" ? newest(folder) : run;
  return {std::move(folder), std::move(checkpoint)};
}

void set(rl::RunConfig& config, std::string_view name, const std::optional<std::string>& text) {
  if (!text) return;
  for (const rl::Field& field : rl::run_fields()) {
    if (field.name == name) rl::set_field(field, config, *text, "", rl::option_name(field));
  }
}

rl::EvalOptions options_of(const EvalCommand& command) {
  rl::EvalOptions options;
  options.episodes = parse_count("--episodes", command.episodes, 1);
  options.seed = static_cast<std::uint64_t>(parse_count("--seed", command.seed, 0));
  options.stochastic = command.stochastic;
  return options;
}

nlohmann::ordered_json as_json(const SelectedBackend& backend, const rl::RunConfig& config,
                               const rl::EvalOptions& options, const fs::path& checkpoint,
                               const rl::EvalResult& result) {
  return {{"mean_return", result.mean},
          {"std_return", result.standard_deviation},
          {"episodes", result.returns.size()},
          {"returns", result.returns},
          {"lengths", result.lengths},
          {"backend", backend_name(backend)},
          {"device", backend.device().name},
          {"plugin", backend.plugin->file().string()},
          {"precision", config.precision},
          {"threads", config.threads},
          {"algorithm", config.algorithm},
          {"environment", config.environment},
          {"checkpoint", checkpoint.string()},
          {"step", result.step},
          {"seed", options.seed},
          {"stochastic", options.stochastic}};
}

void print_text(const rl::EvalOptions& options, const fs::path& checkpoint, const rl::EvalResult& result) {
  const auto [least, most] = std::minmax_element(result.returns.begin(), result.returns.end());
  const double length =
      static_cast<double>(std::accumulate(result.lengths.begin(), result.lengths.end(), std::int64_t{0})) /
      static_cast<double>(result.lengths.size());
  fmt::print("checkpoint {} (step {})\n", checkpoint.string(), grouped(result.step));
  fmt::print(
      "mean return {:.2f}, standard deviation {:.2f}, from {:.2f} to {:.2f}, over {} {} episodes of {:.1f} steps\n",
      result.mean, result.standard_deviation, *least, *most, result.returns.size(),
      options.stochastic ? "stochastic" : "greedy", length);
}

int run_eval(const EvalCommand& command) {
  let_writes_fail();
  const rl::EvalOptions options = options_of(command);
  if (!command.run) {
    throw Error("no run to evaluate", "`thrust eval` needs a run folder or a checkpoint", "thrust eval runs/NAME");
  }
  const Subject subject = find_subject(command);
  rl::RunConfig config = rl::read_config(subject.folder);
  set(config, "backend", command.backend);
  set(config, "threads", command.threads);
  rl::validate(config);
  const SelectedBackend backend = open_backend(config, command.plugins);
  if (!command.json) {
    fmt::print("{}\n", first_line(backend, config));
    std::fflush(stdout);
  }
  const rl::EvalResult result = rl::evaluate(backend, config, subject.checkpoint.string(), options);
  if (command.json) {
    fmt::print("{}\n", as_json(backend, config, options, subject.checkpoint, result)
                           .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    print_text(options, subject.checkpoint, result);
  }
  report_violations(backend);
  return 0;
}

}  // namespace

Command add_eval_command(CLI::App& app) {
  CLI::App* eval = app.add_subcommand("eval", "evaluate the newest checkpoint of a run on fresh episodes");
  const auto command = std::make_shared<EvalCommand>();
  eval->add_option("RUN", command->run, "a run folder, or a file of its checkpoints folder")->type_name("");
  const auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    eval->add_option(name, value, help)->type_name(type);
  };
  option("--episodes", command->episodes, "N", "how many, 1 or more [100]");
  eval->add_flag("--stochastic", command->stochastic, "sample actions instead of taking the most probable");
  option("--seed", command->seed, "N", "of the episodes and of sampling [1000000]");
  option("--checkpoint", command->checkpoint, "FILE", "another checkpoint than the newest");
  option("--backend", command->backend, "TEXT", "where to compute: ID, ID:INDEX or ID:NAME [the run's]");
  option("--threads", command->threads, "N", "of the backend, or auto [the run's]");
  eval->add_option("--plugin", command->plugins.files, "a backend plugin; may be repeated")
      ->type_name("FILE")
      ->type_size(1)
      ->allow_extra_args(false);
  eval->add_flag("--validate", command->plugins.validate, "check every call to the backend against the ABI's rules");
  eval->add_flag("--json", command->json, "one JSON object on standard output and nothing else");
  return {eval, [command] { return run_eval(*command); }};
}

}  // namespace thrt::cli
