// What `thrust bench` found, as text and as JSON.
#pragma once

#include <thrt/describe.h>
#include <thrt/bench/measure.hpp>
#include <thrt/bench/targets.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace thrt::cli {

// One program of a group's work, and what one run of it does.
struct BenchProgram {
  std::string name;
  std::optional<thrt_program_counters> counters;  // nothing: the backend does not count
};

struct BenchRow {
  std::string id;  // "ppo_train_step/cpu/b64"
  std::string group;
  std::string target;  // "cpu", or "host" for what runs on no backend
  std::int64_t batch = 0;
  double setup = 0.0;  // seconds: building, compiling, binding, the first run
  bench::Timing timing;
  double env_steps = 0.0;  // of one run
  std::int64_t parameters = 0;
  std::vector<BenchProgram> programs;  // with --counters
  std::string refusal;                 // why it was not timed, or empty
};

struct BenchResults {
  std::int64_t threads = 1;
  bool interrupted = false;
  std::vector<BenchRow> rows;
};

std::string duration_text(double seconds);  // "12.3 µs"

// Lines of a table, each with its end.
std::string bench_heading();
std::string bench_line(const BenchRow& row);
std::string counters_lines(const BenchRow& row);  // one for each of its programs

std::string bench_json(const bench::Targets& targets, const BenchResults& results);

// The step times of each target against the network's width, as `thrust bench --crossover` finds them.
struct Crossover {
  struct Line {
    std::string target;
    std::vector<double> seconds;  // by width; shorter when a width was refused or not reached
    std::string refusal;
  };
  std::vector<std::int64_t> widths;
  std::vector<Line> lines;
};

// A table, and from which width on another target is the fastest.
std::string crossover_text(const Crossover& crossover);
std::string crossover_svg(const Crossover& crossover);
std::string crossover_json(const bench::Targets& targets, const Crossover& crossover, std::int64_t threads,
                           bool interrupted);

}  // namespace thrt::cli
