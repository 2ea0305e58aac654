#include "bench.hpp"

#include "bench_report.hpp"
#include "progress.hpp"
#include "stop_signal.hpp"

#include <thrt/bench/groups.hpp>
#include <thrt/bench/measure.hpp>
#include <thrt/bench/targets.hpp>
#include <thrt/error.hpp>
#include <thrt/io/atomic_file.hpp>
#include <thrt/nearest_name.hpp>
#include <thrt/rl/train/fields.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace thrt::cli {
namespace {

constexpr int kInterrupted = 130;  // as a shell reports a process that SIGINT ended

struct BenchCommand {
  std::optional<std::string> filter;
  std::optional<std::string> backends;
  std::vector<std::string> plugins;
  std::string threads = "1";
  std::string precision = "f32";
  std::string min_time = "0.5";
  std::optional<std::string> output;
  std::optional<std::string> crossover;
  bool list = false;
  bool counters = false;
  bool json = false;
};

std::vector<std::string> split(const std::string& option, const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    if (parts.back().empty())
      throw Error(fmt::format("{} is '{}'", option, text), "a name between its commas is missing",
                  option == "--backend" ? "--backend cpu,cuda" : "--precision f32,bf16");
    if (std::count(parts.begin(), parts.end(), parts.back()) > 1) {
      throw Error(fmt::format("{} is '{}'", option, text), fmt::format("'{}' is in it twice", parts.back()),
                  "name it once");
    }
    if (end == text.size()) return parts;
    begin = end + 1;
  }
}

// As `thrust train` takes it, but for `auto`: a figure says how many threads it is of.
std::int64_t threads_of(const BenchCommand& command) {
  constexpr std::int64_t kMost = 1024;
  const auto threads = rl::parse_whole_number(command.threads);
  if (threads && *threads >= 1 && *threads <= kMost) return *threads;
  throw Error(fmt::format("--threads is '{}'", command.threads),
              fmt::format("it takes a whole number from 1 to {}", kMost), "--threads 2");
}

// Before minutes of measuring: what cannot be written at their end is said now.
void require_writable(const std::string& option, const std::optional<std::string>& file) {
  namespace fs = std::filesystem;
  if (!file) return;
  const fs::path folder = fs::path(*file).has_parent_path() ? fs::path(*file).parent_path() : fs::path(".");
  std::error_code failure;
  if (fs::is_directory(*file, failure)) {
    failure = std::make_error_code(std::errc::is_a_directory);
  } else {
    failure.clear();
    if (access(folder.c_str(), W_OK) != 0) failure = {errno, std::generic_category()};
    if (!failure && !fs::is_directory(folder)) failure = std::make_error_code(std::errc::not_a_directory);
  }
  if (!failure) return;
  throw Error(fmt::format("{}: '{}' cannot be written", option, *file), failure.message(),
              "a file in a folder that is there and that you may write to");
}

bench::TargetRequest request_of(const BenchCommand& command) {
  bench::TargetRequest request;
  if (command.backends) request.backends = split("--backend", *command.backends);
  request.plugins = command.plugins;
  request.precisions = split("--precision", command.precision);
  request.threads = threads_of(command);
  return request;
}

double seconds_of(const BenchCommand& command) {
  const auto seconds = rl::parse_number(command.min_time);
  if (seconds && *seconds > 0.0 && *seconds <= 3600.0) return *seconds;
  throw Error(fmt::format("--min-time is '{}'", command.min_time), "it takes seconds, above 0 and up to 3600",
              "--min-time 0.5");
}

// One line on standard error that says what is being timed, where somebody watches.
class Notice {
 public:
  Notice() : shown_(is_terminal(stderr)) {}
  ~Notice() { clear(); }
  Notice(const Notice&) = delete;
  Notice& operator=(const Notice&) = delete;

  void show(const std::string& text) {
    if (!shown_) return;
    clear();
    fmt::print(stderr, "{}", text);
    std::fflush(stderr);
    width_ = text.size();
  }
  void clear() {
    if (width_ > 0) fmt::print(stderr, "\r{:{}}\r", "", width_);
    width_ = 0;
  }

 private:
  bool shown_;
  std::size_t width_ = 0;
};

struct Item {
  bench::Group group;
  const bench::Target* target = nullptr;  // nullptr: the host's own code

  std::string target_name() const { return target != nullptr ? target->label : "host"; }
  std::string id() const { return bench::benchmark_id(group, target_name()); }
};

std::vector<Item> items_on(const bench::Targets& targets, const std::vector<bench::Group>& groups) {
  std::vector<Item> items;
  for (const bench::Group& group : groups) {
    if (!group.on_device) items.push_back({group, nullptr});
    for (const bench::Target& target : targets.targets) {
      if (group.on_device && (target.is_f32 || group.mixed)) items.push_back({group, &target});
    }
  }
  return items;
}

// The groups whose name, or name and batch as in "name/b32", holds the filter.
std::vector<bench::Group> chosen_groups(const std::optional<std::string>& filter) {
  const std::vector<bench::Group> all = bench::groups();
  if (!filter) return all;
  std::vector<bench::Group> chosen;
  std::vector<std::string> names;
  for (const bench::Group& group : all) {
    if (std::find(names.begin(), names.end(), group.name) == names.end()) names.push_back(group.name);
    if (fmt::format("{}/b{}", group.name, group.batch).find(*filter) != std::string::npos) chosen.push_back(group);
  }
  if (!chosen.empty()) return chosen;
  const std::string nearest = nearest_name(*filter, names);
  throw Error(
      fmt::format("no group's name holds '{}'", *filter), fmt::format("groups: {}", fmt::join(names, ", ")),
      nearest.empty() ? "`thrust bench --list` tells what they do" : fmt::format("the nearest is '{}'", nearest));
}

BenchRow time_item(const Item& item, const bench::MeasureOptions& options, bool counters) {
  BenchRow row;
  row.id = item.id();
  row.group = item.group.name;
  row.target = item.target_name();
  row.batch = item.group.batch;
  try {
    const auto start = std::chrono::steady_clock::now();
    const bench::Work work = item.target != nullptr ? item.group.make(item.target->context) : item.group.make_host();
    work.run();
    row.setup = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    row.env_steps = work.env_steps;
    row.parameters = work.parameters;
    row.timing = bench::measure(work.run, options);
    if (counters) {
      for (const Executable& program : work.programs) {
        row.programs.push_back({program.program().name(), program.counters()});
      }
    }
  } catch (const Error& error) {  // what one backend lacks must not hide what the others do
    row.refusal = error.why().empty() ? error.what() : fmt::format("{}: {}", error.what(), error.why());
  }
  return row;
}

void write_output(const BenchCommand& command, const std::string& json) {
  if (command.output) io::write_file_atomically(*command.output, json);
  if (command.json) std::fwrite(json.data(), 1, json.size(), stdout);
}

void print_targets(const bench::Targets& targets, std::int64_t threads) {
  for (const bench::Target& target : targets.targets) {
    fmt::print("backend {} ({})  threads {}  plugin {}\n", target.label, target.device, threads, target.plugin);
  }
}

int run_groups(const BenchCommand& command) {
  const std::vector<bench::Group> groups = chosen_groups(command.filter);
  const bench::TargetRequest request = request_of(command);
  const StopSignal stop(/*announce=*/false);
  const bench::MeasureOptions options = {.min_seconds = seconds_of(command), .stop = [&] { return stop.requested(); }};
  const bool needs_backend = command.backends || std::any_of(groups.begin(), groups.end(),
                                                             [](const bench::Group& group) { return group.on_device; });
  const bench::Targets targets = needs_backend ? bench::open_targets(request) : bench::Targets{};
  for (const std::string& line : targets.left_out) fmt::print(stderr, "left out: {}\n", line);
  const std::vector<Item> items = items_on(targets, groups);
  if (items.empty()) {
    throw Error(fmt::format("no group of '{}' is timed in {}", command.filter.value_or(""), command.precision),
                "what is not bound by products or convolutions is timed in f32 alone", "--precision f32");
  }

  BenchResults results;
  results.threads = request.threads;
  if (!command.json) {
    print_targets(targets, request.threads);
    fmt::print("{}", bench_heading());
    std::fflush(stdout);
  }
  Notice notice;
  for (const Item& item : items) {
    notice.show(fmt::format("{} of {}: {}", results.rows.size() + 1, items.size(), item.id()));
    BenchRow row = time_item(item, options, command.counters);
    notice.clear();
    results.interrupted = stop.requested();
    if (results.interrupted) break;
    if (!command.json) {
      fmt::print("{}{}", bench_line(row), counters_lines(row));
      std::fflush(stdout);
    }
    results.rows.push_back(std::move(row));
  }
  write_output(command, bench_json(targets, results));
  if (results.interrupted) {
    fmt::print(stderr, "interrupted after {} of {}\n", results.rows.size(), items.size());
    return kInterrupted;
  }
  const bool any =
      std::any_of(results.rows.begin(), results.rows.end(), [](const BenchRow& r) { return r.refusal.empty(); });
  return any ? 0 : 1;
}

int run_crossover(const BenchCommand& command) {
  if (command.filter) {
    throw Error("FILTER and --crossover exclude each other", "the chart times one thing: PPO's gradient step",
                "leave one of them out");
  }
  const bench::TargetRequest request = request_of(command);
  const StopSignal stop(/*announce=*/false);
  const bench::MeasureOptions options = {.min_seconds = seconds_of(command), .stop = [&] { return stop.requested(); }};
  const bench::Targets targets = bench::open_targets(request);
  for (const std::string& line : targets.left_out) fmt::print(stderr, "left out: {}\n", line);

  Crossover crossover;
  crossover.widths = {16, 32, 64, 128, 256, 512, 1024};
  Notice notice;
  for (const bench::Target& target : targets.targets) {
    Crossover::Line& line = crossover.lines.emplace_back();
    line.target = target.label;
    for (const std::int64_t width : crossover.widths) {
      if (stop.requested()) break;
      notice.show(fmt::format("{}: width {}", target.label, width));
      try {
        const bench::Work work = bench::ppo_step_of_width(target.context, width);
        work.run();
        const bench::Timing timing = bench::measure(work.run, options);
        if (timing.samples > 0) line.seconds.push_back(timing.median);
      } catch (const Error& error) {
        line.refusal = error.why().empty() ? error.what() : fmt::format("{}: {}", error.what(), error.why());
        break;
      }
    }
  }
  notice.clear();
  const bool interrupted = stop.requested();
  if (!command.json) {
    print_targets(targets, request.threads);
    fmt::print("{}", crossover_text(crossover));
  }
  write_output(command, crossover_json(targets, crossover, request.threads, interrupted));
  if (interrupted) {
    fmt::print(stderr, "interrupted: no chart was written\n");
    return kInterrupted;
  }
  io::write_file_atomically(*command.crossover, crossover_svg(crossover));
  if (!command.json) fmt::print("chart: {}\n", *command.crossover);
  return 0;
}

int list_groups(const BenchCommand& command) {
  for (const bench::Group& group : chosen_groups(command.filter)) {
    fmt::print("{:<36} {}\n", fmt::format("{}/b{}", group.name, group.batch), group.description);
  }
  return 0;
}

int run_bench(const BenchCommand& command) {
  let_writes_fail();
  if (command.counters && command.crossover) {
    throw Error("--counters and --crossover exclude each other", "the chart is of times alone",
                "leave one of them out");
  }
  if (command.list && command.crossover) {
    throw Error("--list and --crossover exclude each other", "the chart times one thing: PPO's gradient step",
                "leave one of them out");
  }
  if (command.list) return list_groups(command);
  require_writable("--output", command.output);
  require_writable("--crossover", command.crossover);
  return command.crossover ? run_crossover(command) : run_groups(command);
}

}  // namespace

Command add_bench_command(CLI::App& app) {
  CLI::App* bench = app.add_subcommand("bench", "time what training does on the backends of this machine");
  const auto command = std::make_shared<BenchCommand>();
  bench->add_option("FILTER", command->filter, "only the groups whose name holds it")->type_name("");
  bench->add_option("--backend", command->backends, "backends with a comma between them [all but reference]")
      ->type_name("ID,ID..");
  bench->add_option("--plugin", command->plugins, "a backend plugin; may be repeated")
      ->type_name("FILE")
      ->type_size(1)
      ->allow_extra_args(false);
  bench->add_option("--threads", command->threads, "of each backend [1]")->type_name("N");
  bench->add_option("--precision", command->precision, "f32, or several as in f32,bf16 [f32]")->type_name("NAME,..");
  bench->add_option("--min-time", command->min_time, "seconds of timed runs for each [0.5]")->type_name("S");
  bench->add_option("--crossover", command->crossover, "draw step time against network width instead, as SVG")
      ->type_name("FILE");
  bench->add_option("--output", command->output, "write the results there as JSON")->type_name("FILE");
  bench->add_flag("--counters", command->counters, "what a run of each program launches, waits for, reads and writes");
  bench->add_flag("--list", command->list, "list the groups and what they do");
  bench->add_flag("--json", command->json, "one JSON object on standard output and nothing else");
  return {bench, [command] { return run_bench(*command); }};
}

}  // namespace thrt::cli
