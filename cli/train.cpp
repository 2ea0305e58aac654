#include "train.hpp"

#include "open_backend.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "run_options.hpp"
#include "stop_signal.hpp"

#include <thrt/error.hpp>
#include <thrt/io/program_file.hpp>
#include <thrt/rl/train/config_file.hpp>
#include <thrt/rl/train/trainer.hpp>
#include <thrt/shell_word.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

namespace thrt::cli {
namespace {

constexpr int kInterrupted = 130;  // as a shell reports a process that SIGINT ended

struct TrainCommand {
  explicit TrainCommand(CLI::App& app) : settings(app) {}

  RunOptions settings;
  std::optional<std::string> config_file;
  std::optional<std::string> run_dir;
  std::optional<std::string> resume;
  std::optional<std::string> save_programs;
  bool json = false;
  PluginOptions plugins;
};

// What is to be done, known before anything is made.
struct Plan {
  rl::RunConfig config;
  std::optional<rl::RunFolder> resumed;
  bool config_changed = false;  // of the resumed run
  bool end_changed = false;     // it is to go on for longer, or to another mark
};

Plan plan_resumed(const TrainCommand& command) {
  for (const auto& [name, value] : {std::pair{"--config", &command.config_file}, {"--run-dir", &command.run_dir}}) {
    if (value->has_value()) {
      throw Error(fmt::format("{} and --resume exclude each other", name),
                  "a resumed run has its own settings and folder", "leave one of them out");
    }
  }
  Plan plan;
  plan.resumed = rl::RunFolder::resume(*command.resume);
  plan.config = rl::read_config(*plan.resumed);
  const rl::RunConfig before = plan.config;
  command.settings.refuse_conflicts(
      plan.config, {"total_timesteps", "threads", "backend", "stop_at", "eval_every", "eval_episodes"});
  command.settings.apply(plan.config);
  plan.end_changed = plan.config.total_timesteps != before.total_timesteps || plan.config.stop_at != before.stop_at;
  plan.config_changed = rl::to_toml(before) != rl::to_toml(plan.config);
  return plan;
}

Plan plan_new(const TrainCommand& command) {
  // Which environment it is decides the defaults, which come before the file, which comes before the options.
  rl::RunConfig named;
  named.algorithm.clear();
  if (command.config_file) rl::apply_config_file(*command.config_file, named);
  command.settings.apply(named);
  if (named.algorithm.empty() || named.environment.empty()) {
    throw Error(named.algorithm.empty() ? "no algorithm to train with" : "no environment to train in",
                "`thrust train` takes ALGO and ENV, unless --config or --resume name them",
                "thrust train ppo CartPole-v1");
  }
  Plan plan;
  plan.config = rl::default_config(named.algorithm, named.environment);
  if (command.config_file) rl::apply_config_file(*command.config_file, plan.config);
  command.settings.apply(plan.config);
  return plan;
}

// The step that a checkpoint's name says; RunFolder lets only step_N.safetensors through.
std::int64_t step_of(const std::filesystem::path& checkpoint) {
  const std::string stem = checkpoint.stem().string();
  const char* const digits = stem.data() + stem.find('_') + 1;
  std::int64_t step = 0;
  if (std::from_chars(digits, stem.data() + stem.size(), step).ec != std::errc()) {
    throw Error(fmt::format("'{}' is not a checkpoint's name", checkpoint.string()), "the step is too large",
                "name another one in the file `latest` beside it");
  }
  return step;
}

// The evaluation that ended a run at its mark, as its summary tells it, if the run has not gone on since and the mark is
// still that or a lower one.
std::optional<nlohmann::json> find_reached(const rl::RunFolder& folder, std::int64_t step, double stop_at) {
  std::ifstream file(folder.summary_file());
  const nlohmann::json summary = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!summary.is_object() || !summary.contains("reached")) return std::nullopt;
  const nlohmann::json& reached = summary["reached"];
  const bool whole = reached.is_object() && reached.contains("step") && reached["step"] == step &&
                     reached.contains("mean_return") && reached["mean_return"].is_number() &&
                     reached["mean_return"].get<double>() >= stop_at;
  return whole ? std::optional(reached) : std::nullopt;
}

struct Complete {
  std::string checkpoint;
  std::int64_t step = 0;
  std::optional<nlohmann::json> reached;
};

// Where a resumed run stands when no update is left to make, or it reached what it was to reach. Throws when it is past its new end.
std::optional<Complete> find_complete(const Plan& plan) {
  if (!plan.resumed) return std::nullopt;
  const auto checkpoint = plan.resumed->latest_checkpoint();
  if (!checkpoint) return std::nullopt;
  const std::int64_t step = step_of(*checkpoint);
  const std::int64_t total = plan.config.total_timesteps;
  if (total < step) {
    throw Error(fmt::format("--total-timesteps {} is less than the run has made", total),
                fmt::format("its newest checkpoint is of step {}", step),
                fmt::format("--total-timesteps {} or more", step + rl::steps_per_iteration(plan.config)));
  }
  std::optional<nlohmann::json> reached = find_reached(*plan.resumed, step, plan.config.stop_at);
  const bool goes_on = plan.end_changed || !reached;
  if (goes_on && total - step >= rl::steps_per_iteration(plan.config)) return std::nullopt;
  return Complete{checkpoint->string(), step, std::move(reached)};
}

// Its folder stays as it is: the times in its summary are those of the training.
void print_complete(const Complete& complete, const Plan& plan, bool json) {
  const std::string run = plan.resumed->path().string();
  if (json) {
    nlohmann::ordered_json object = {{"run", run},
                                     {"checkpoint", complete.checkpoint},
                                     {"interrupted", false},
                                     {"step", complete.step},
                                     {"seconds", 0.0}};
    if (complete.reached) object["reached"] = *complete.reached;
    fmt::print("{}\n", object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  const std::string mark =
      complete.reached ? fmt::format(", where it reached {:.1f}", (*complete.reached)["mean_return"].get<double>())
                       : std::string();
  const std::int64_t end = std::max(plan.config.total_timesteps, complete.step);
  fmt::print("nothing to do: the run is complete at step {}{}\nnext: thrust eval {}, or go on with {}{} or more\n",
             grouped(complete.step), mark, shell_word(run), complete.reached ? "another --stop-at, or " : "",
             fmt::format("--total-timesteps {}",
                         (complete.reached ? end : complete.step) + rl::steps_per_iteration(plan.config)));
}

rl::RunFolder make_folder(const TrainCommand& command, const rl::RunConfig& config) {
  if (command.run_dir) return rl::RunFolder::create(*command.run_dir);
  const std::time_t now = std::time(nullptr);
  return rl::RunFolder::create_new_name("runs", fmt::format("{}__{}__{}__{:%Y%m%d-%H%M%S}", config.environment,
                                                            config.algorithm, config.seed, fmt::localtime(now)));
}

void print_summary(const rl::TrainResult& result, const rl::RunFolder& folder) {
  const rl::TrainProgress& last = result.last;
  const std::string run = shell_word(folder.path().string());
  fmt::print("{} at step {} after {:.2f} s ({} steps/s), mean return {} over the last {} episodes\n",
             result.interrupted ? "interrupted" : "done", grouped(last.step), result.seconds,
             short_number(last.steps_per_second), mean_text(last.mean_return),
             std::min<std::int64_t>(last.episodes, 100));
  const double parts = result.acting_seconds + result.environment_seconds + result.update_seconds;
  const auto percent = [&](double seconds) { return result.seconds > 0.0 ? 100.0 * seconds / result.seconds : 0.0; };
  fmt::print(
      "time: acting {:.2f} s ({:.0f} %), environment {:.2f} s ({:.0f} %), update {:.2f} s ({:.0f} %), other {:.2f} s; "
      "set-up {:.2f} s{}\n",
      result.acting_seconds, percent(result.acting_seconds), result.environment_seconds,
      percent(result.environment_seconds), result.update_seconds, percent(result.update_seconds),
      std::max(0.0, result.seconds - parts), result.setup_seconds,
      result.evaluations.empty() ? std::string()
                                 : fmt::format("; apart from it evaluations {:.2f} s", result.evaluation_seconds));
  if (result.reached) {
    fmt::print("reached {:.1f} at step {} after {:.2f} s of training\n", result.reached->mean,
               grouped(result.reached->step), result.reached->seconds);
  }
  fmt::print("run folder: {}\n", folder.path().string());
  if (result.interrupted) {
    fmt::print("checkpoint: {}\nnext: thrust train --resume {}\n", result.checkpoint, run);
  } else {
    fmt::print("next: thrust eval {}\n", run);
  }
  // Like the progress: it is all in the run folder, so a reader that went away does not make the training a failure.
  std::fflush(stdout);
  std::clearerr(stdout);
}

void print_json(const rl::TrainResult& result, const rl::RunFolder& folder, const SelectedBackend& backend) {
  nlohmann::ordered_json object = {{"run", folder.path().string()},
                                   {"checkpoint", result.checkpoint},
                                   {"interrupted", result.interrupted},
                                   {"step", result.last.step},
                                   {"episodes", result.last.episodes},
                                   {"mean_return", result.last.mean_return},
                                   {"seconds", result.seconds},
                                   {"setup_seconds", result.setup_seconds},
                                   {"steps_per_second", result.last.steps_per_second},
                                   {"acting_seconds", result.acting_seconds},
                                   {"environment_seconds", result.environment_seconds},
                                   {"update_seconds", result.update_seconds},
                                   {"evaluation_seconds", result.evaluation_seconds},
                                   {"backend", backend_name(backend)}};
  if (result.reached) {
    object["reached"] = {
        {"step", result.reached->step}, {"seconds", result.reached->seconds}, {"mean_return", result.reached->mean}};
  }
  fmt::print("{}\n", object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

// Before the backend is asked for anything: what cannot be written later is said now.
void make_programs_folder(const std::filesystem::path& folder) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (!failure && !std::filesystem::is_directory(folder)) failure = std::make_error_code(std::errc::not_a_directory);
  if (!failure && access(folder.c_str(), W_OK) != 0) failure = {errno, std::generic_category()};
  if (!failure) return;
  throw Error(fmt::format("--save-programs: programs cannot be written to '{}'", folder.string()), failure.message(),
              "a folder that you may write to, or one that is not there yet");
}

// Trains in a folder that is there. A run that fails before its first update leaves nothing behind.
rl::TrainResult train_in(rl::RunFolder& folder, const Plan& plan, const SelectedBackend& backend,
                         const StopSignal& stop, const std::optional<std::string>& save_programs,
                         ProgressPrinter* printer) {
  bool updated = false;
  rl::TrainHooks hooks;
  hooks.stop_requested = [&] { return stop.requested(); };
  hooks.progress = [&](const rl::TrainProgress& progress) {
    updated = true;
    if (printer != nullptr) printer->update(progress);
  };
  if (save_programs) {
    hooks.program = [&](const Program& program) {
      io::write_program(std::filesystem::path(*save_programs) / (program.name() + ".program"), *program.abi());
    };
  }
  if (printer != nullptr) {
    hooks.evaluation = [&](const rl::Evaluation& evaluation) { printer->note(evaluation_text(evaluation)); };
  }
  if (printer != nullptr) hooks.note = [&](const std::string& line) { printer->note(line); };
  try {
    if (!plan.resumed || plan.config_changed) rl::write_config(folder, plan.config);
    rl::TrainResult result = rl::train(backend, plan.config, folder, hooks);
    if (printer != nullptr) printer->finish();
    return result;
  } catch (...) {
    if (printer != nullptr) printer->finish();
    if (!updated) folder.discard();  // does nothing to a resumed one
    throw;
  }
}

// A run that was to reach a return and did not has failed, with all it wrote in its folder.
void require_reached(const rl::TrainResult& result, const rl::RunConfig& config) {
  if (!std::isfinite(config.stop_at) || result.reached) return;
  double best = -std::numeric_limits<double>::infinity();
  for (const rl::Evaluation& evaluation : result.evaluations) best = std::max(best, evaluation.mean);
  throw Error(fmt::format("the run did not reach a mean return of {}", config.stop_at),
              fmt::format("the best of {} evaluations was {:.1f}", result.evaluations.size(), best),
              "go on with --resume and more --total-timesteps, or try another --seed", ErrorKind::kRun);
}

int run_train(const TrainCommand& command) {
  let_writes_fail();
  const Plan plan = command.resume ? plan_resumed(command) : plan_new(command);
  rl::validate(plan.config);
  if (const auto complete = find_complete(plan)) {
    print_complete(*complete, plan, command.json);
    return 0;
  }
  if (command.save_programs) make_programs_folder(*command.save_programs);
  const SelectedBackend backend = open_backend(plan.config, command.plugins);
  const StopSignal stop(!command.json);
  rl::RunFolder folder = plan.resumed ? *plan.resumed : make_folder(command, plan.config);

  ProgressPrinter printer(stdout, is_terminal(stdout));
  if (!command.json) {
    printer.note(first_line(backend, plan.config));
    printer.note(fmt::format("run folder: {}", folder.path().string()));
  }
  const rl::TrainResult result =
      train_in(folder, plan, backend, stop, command.save_programs, command.json ? nullptr : &printer);
  if (command.json) {
    print_json(result, folder, backend);
  } else {
    print_summary(result, folder);
  }
  report_violations(backend);
  if (result.interrupted) return kInterrupted;
  require_reached(result, plan.config);
  return 0;
}

}  // namespace

Command add_train_command(CLI::App& app) {
  CLI::App* train = app.add_subcommand("train", "train an agent");
  const auto command = std::make_shared<TrainCommand>(*train);
  const auto option = [&](const char* name, std::optional<std::string>& value, const char* type, const char* help) {
    train->add_option(name, value, help)->type_name(type)->group("Run");
  };
  option("--config", command->config_file, "FILE", "settings from a TOML file, such as another run's config.toml");
  option("--run-dir", command->run_dir, "DIR", "a new folder for the run [runs/ENV__ALGO__SEED__TIME]");
  option("--resume", command->resume, "DIR", "go on with the run of that folder from its newest checkpoint");
  option("--save-programs", command->save_programs, "DIR", "write what the backend compiles there, as NAME.program");
  train->add_option("--plugin", command->plugins.files, "a backend plugin; may be repeated")
      ->type_name("FILE")
      ->type_size(1)
      ->allow_extra_args(false)
      ->group("Run");
  train->add_flag("--validate", command->plugins.validate, "check every call to the backend against the ABI's rules")
      ->group("Run");
  train->add_flag("--json", command->json, "one JSON object on standard output and nothing else")->group("Run");
  return {train, [command] { return run_train(*command); }};
}

}  // namespace thrt::cli
