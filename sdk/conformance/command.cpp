#include <thrt/conformance/command.hpp>

#include "progress.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "selection.hpp"

#include <thrt/error.hpp>
#include <thrt/nearest_name.hpp>
#include <thrt/plugin/registry.hpp>
#include <thrt/shell_word.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>

namespace thrt::conformance {
namespace {

namespace fs = std::filesystem;

// A handler gets nothing but the signal's number, so this has to be global.
volatile std::sig_atomic_t stop_requested = 0;

// The first asks for a report of what there is, the second ends the process at once.
void on_signal(int number) {
  if (stop_requested != 0) {
    std::signal(number, SIG_DFL);
    std::raise(number);
  }
  stop_requested = 1;
}

// Ctrl-C and SIGTERM while it lives, unless the process was started with them ignored. SIGPIPE is ignored from here on:
// a write to a closed pipe fails instead.
class StopSignals {
 public:
  StopSignals() {
    stop_requested = 0;
    std::signal(SIGPIPE, SIG_IGN);
    handle(SIGINT, old_interrupt_);
    handle(SIGTERM, old_terminate_);
  }
  ~StopSignals() {
    sigaction(SIGINT, &old_interrupt_, nullptr);
    sigaction(SIGTERM, &old_terminate_, nullptr);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

 private:
  static void handle(int number, struct sigaction& old) {
    sigaction(number, nullptr, &old);
    if (old.sa_handler == SIG_IGN) return;
    struct sigaction action {};
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, nullptr);
  }

  struct sigaction old_interrupt_ {};
  struct sigaction old_terminate_ {};
};

unsigned parse_count(const char* option, const std::string& text) {
  unsigned value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr unsigned kMost = 100'000;
  if (failure == std::errc() && end == text.data() + text.size() && value >= 1 && value <= kMost) return value;
  throw Error(fmt::format("{} is '{}'", option, text), fmt::format("it takes a whole number from 1 to {}", kMost),
              fmt::format("for example {} 2", option));
}

// The file that `option` names, tried in a process of its own.
Backend named_plugin(const char* option, const std::string& file) {
  SearchOptions search;
  search.named_files.emplace_back(file);
  Discovery found = discover(search, Prober());
  if (!found.backends.empty()) return std::move(found.backends.front());
  const UnusableFile& bad = found.unusable.front();
  std::string why = bad.reason;
  if (!bad.printed.empty()) why += "; it printed: " + bad.printed.substr(0, bad.printed.find('\n'));
  throw Error(fmt::format("{} {} cannot be used", option, bad.file.string()), why,
              bad.next.empty() ? "another build of it, or report this to its vendor" : bad.next);
}

Backend found_backend(const BackendSpec& spec) {
  const Discovery found = discover(search_of_this_process(), Prober());
  std::vector<std::string> ids;
  for (const Backend& backend : found.backends) {
    if (backend.manifest.id == spec.id) return backend;
    ids.push_back(backend.manifest.id);
  }
  for (const UnusableFile& bad : found.unusable) {
    if (id_of_file_name(bad.file) != spec.id) continue;
    throw Error(fmt::format("backend '{}' cannot be used", spec.id),
                fmt::format("{}: {}", bad.file.string(), bad.reason), bad.next);
  }
  throw Error(fmt::format("no backend is named '{}'", spec.id),
              ids.empty() ? "no backend was found" : fmt::format("backends found: {}", fmt::join(ids, ", ")),
              fmt::format("give its file: --plugin libthrust_backend_{}.so", spec.id));
}

Subject find_subject(const Arguments& arguments) {
  if (arguments.plugin && arguments.backend) {
    throw Error(fmt::format("--plugin {} and --backend {} name two backends", *arguments.plugin, *arguments.backend),
                "one is tested at a time", "one of the two");
  }
  if (!arguments.plugin && !arguments.backend) {
    throw Error("no backend to test", "neither --plugin nor --backend is given", "--plugin libthrust_backend_NAME.so");
  }
  BackendSpec spec;
  if (arguments.backend) spec = BackendSpec::parse(*arguments.backend);
  Backend backend = arguments.plugin ? named_plugin("--plugin", *arguments.plugin) : found_backend(spec);
  spec.id = backend.manifest.id;
  if (arguments.device) spec.device = *arguments.device;
  const std::uint32_t index = select_device(spec, backend.devices);
  return {std::move(backend.manifest), fs::absolute(backend.file), backend.devices[index]};
}

// Any other's mistakes would be put down to the backend under test, and what it lacks as well.
Subject as_reference(const Backend& backend) {
  const char* next = "the reference backend that comes with this suite";
  const auto refuse = [&](const std::string& why) {
    throw Error(fmt::format("{} cannot be compared with", backend.file.string()), why, next);
  };
  if (backend.manifest.id != "reference") refuse(fmt::format("it is backend '{}'", backend.manifest.id));
  if (backend.devices.empty()) refuse("it has no device");
  std::vector<std::string_view> missing;
  for (std::uint32_t dtype = THRT_DTYPE_F32; dtype <= THRT_DTYPE_F64; ++dtype) {
    if ((backend.devices.front().storage_dtypes & (1u << dtype)) != 0) continue;
    missing.push_back(dtype_names(1u << dtype).front());
  }
  if (!missing.empty()) refuse(fmt::format("it lacks {}", fmt::join(missing, ", ")));
  return {backend.manifest, fs::absolute(backend.file), {}};
}

Subject find_reference(const Arguments& arguments) {
  if (arguments.reference) return as_reference(named_plugin("--reference", *arguments.reference));
  const SearchResult found = search_plugins(search_of_this_process());
  for (const Candidate& candidate : found.candidates) {
    if (id_of_file_name(candidate.file) != "reference") continue;
    check_trust(candidate.file);
    return as_reference(named_plugin("the reference backend", candidate.file.string()));
  }
  std::vector<std::string> folders;
  for (const SearchedFolder& folder : found.folders) folders.push_back(folder.folder.string());
  throw Error("the reference backend is not there",
              fmt::format("no libthrust_backend_reference.so in {}", fmt::join(folders, ", ")),
              "--reference FILE, or install the sdk with its reference backend");
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void list(const std::vector<Case>& cases, const std::vector<bool>& chosen, bool json) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  std::string text;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!chosen[i]) continue;
    text += cases[i].name + "\n";
    all.push_back({{"name", cases[i].name}, {"area", cases[i].area}, {"level", level_name(cases[i].level)}});
  }
  print(json ? nlohmann::ordered_json{{"cases", all}}.dump(2) + "\n" : text);
}

void run_chosen(Session& session, const RunnerOptions& given) {
  std::vector<Case> cases;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < session.cases.size(); ++i) {
    if (!session.chosen[i]) continue;
    cases.push_back(session.cases[i]);
    places.push_back(i);
  }
  const StopSignals signals;
  ProgressLine progress(stderr, cases.size());
  RunnerOptions options = given;
  options.stop = [] { return stop_requested != 0; };
  options.on_progress = [&](std::size_t done) { progress.update(done); };
  const auto start = std::chrono::steady_clock::now();
  RunnerReport report = run_cases(cases, options);
  session.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (std::size_t i = 0; i < places.size(); ++i) session.results[places[i]] = std::move(report.results[i]);
  session.faults = std::move(report.faults);
  session.stopped = report.stopped;
}

int exit_code(const Session& session, std::optional<Level> level) {
  constexpr int kInterrupted = 130;
  if (session.stopped) return kInterrupted;
  const Counts counts = count_all(session);
  if (counts.failed > 0 || !session.faults.empty()) return 1;
  // All chosen cases are of the level or of what it builds on.
  return level && counts.unsupported > 0 ? 1 : 0;
}

std::string reproducing_command(const Arguments& arguments, const Subject& subject, const std::string& called) {
  std::string command = fmt::format("{} --plugin {}", called, shell_word(subject.file.string()));
  if (arguments.device) command += " --device " + shell_word(*arguments.device);
  if (arguments.reference) command += " --reference " + shell_word(*arguments.reference);
  return command;
}

}  // namespace

void add_options(CLI::App& app, Arguments& arguments) {
  const auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    return app.add_option(name, value, help)->type_name(type);
  };
  option("--plugin", arguments.plugin, "FILE", "the backend to test");
  option("--backend", arguments.backend, "ID", "the same by name: ID, ID:INDEX or ID:NAME");
  option("--device", arguments.device, "TEXT", "which of its devices: an index or a part of a name [the first]");
  option("--filter", arguments.filters, "TEXT",
         "only cases whose name contains it, or fits it with * and ?; repeatable")
      ->type_size(1)
      ->allow_extra_args(false);
  option("--level", arguments.level, "NAME",
         "only the cases of this level and those below, all of which must be claimed: core, training, vision, mixed");
  option("--reference", arguments.reference, "FILE", "the backend to compare with [the one beside this binary]");
  option("--jobs", arguments.jobs, "N", "cases to run at a time [1]");
  option("--timeout", arguments.timeout, "N", "seconds that a case may take [60]");
  app.add_flag("--list", arguments.list, "the names of the cases, without running them");
  app.add_flag("--json", arguments.json, "one JSON object on standard output and nothing else");
}

int run(const Arguments& arguments, const std::string& called) {
  RunnerOptions options;
  options.jobs = parse_count("--jobs", arguments.jobs);
  options.timeout = std::chrono::seconds(parse_count("--timeout", arguments.timeout));
  std::optional<Level> level;
  if (arguments.level) level = parse_level(*arguments.level);
  Session session;
  session.cases = all_cases();
  session.chosen = choose(session.cases, arguments.filters, level);
  session.results.resize(session.cases.size());
  if (arguments.list) {
    list(session.cases, session.chosen, arguments.json);
    return 0;
  }
  session.subject = find_subject(arguments);
  session.reference = find_reference(arguments);
  session.called = reproducing_command(arguments, session.subject, called);
  options.plugin = session.subject.file;
  options.reference = session.reference.file;
  options.device_index = session.subject.device.index;
  run_chosen(session, options);
  print(arguments.json ? report_as_json(session) : report_as_text(session));
  return exit_code(session, level);
}

}  // namespace thrt::conformance
