#include <thrt/rl/train/fields.hpp>

#include <thrt/rl/env/vector_env.hpp>

#include "rl/algo/algorithm.hpp"

#include <array>
#include <vector>

namespace thrt::rl {
namespace {

template <auto Member>
FieldPointer of_run(RunConfig& config) {
  return &(config.*Member);
}

std::vector<std::string> precisions() {
  return {"f32", "tf32", "bf16", "f16"};
}

constexpr double kMostSteps = 1e15;  // counted exactly in a double
constexpr double kMostEpisodes = 1e6;
constexpr double kMostSeed = 9.2e18;  // TOML's integers end at 2^63 - 1

const std::array kRunFields = {
    Field{.section = "",
          .name = "algorithm",
          .help = "what learns",
          .pointer = of_run<&RunConfig::algorithm>,
          .choices = algorithm_names,
          .positional = true},
    Field{.section = "",
          .name = "environment",
          .help = "what it learns",
          .pointer = of_run<&RunConfig::environment>,
          .choices = vector_env_ids,
          .positional = true},
    Field{.section = "",
          .name = "seed",
          .help = "of everything that is drawn at random",
          .pointer = of_run<&RunConfig::seed>,
          .range = {.low = 0.0, .high = kMostSeed}},
    Field{.section = "",
          .name = "total_timesteps",
          .help = "environment steps, over all environments",
          .pointer = of_run<&RunConfig::total_timesteps>,
          .range = {.low = 1.0, .high = kMostSteps}},
    Field{
        .section = "",
        .name = "checkpoint_every",
        .help =
            "environment steps from one checkpoint to the next; auto: a tenth of the run, none within 5 seconds of the "
            "last",
        .pointer = of_run<&RunConfig::checkpoint_every>,
        .range = {.low = 1.0, .high = kMostSteps},
        .zero_word = "auto"},
    Field{.section = "",
          .name = "eval_every",
          .help =
              "environment steps from one greedy evaluation to the next; auto: a fiftieth of the run when there is a "
              "stop_at, else none",
          .pointer = of_run<&RunConfig::eval_every>,
          .range = {.low = 1.0, .high = kMostSteps},
          .zero_word = "auto"},
    Field{.section = "",
          .name = "eval_episodes",
          .help = "of each evaluation, in environments and with seeds of their own",
          .pointer = of_run<&RunConfig::eval_episodes>,
          .range = {.low = 1.0, .high = kMostEpisodes}},
    Field{.section = "",
          .name = "stop_at",
          .help = "end the run at the first evaluation with at least this mean return",
          .pointer = of_run<&RunConfig::stop_at>,
          .infinity_word = "never"},
    Field{.section = "",
          .name = "backend",
          .help = "where to compute: ID, ID:INDEX or ID:NAME (see thrust backends)",
          .pointer = of_run<&RunConfig::backend>},
    Field{.section = "",
          .name = "threads",
          .help = "of the backend; auto: its own choice",
          .pointer = of_run<&RunConfig::threads>,
          .range = {.low = 1.0, .high = 1024.0},
          .zero_word = "auto"},
    Field{.section = "",
          .name = "precision",
          .help = "of matrix products and convolutions",
          .pointer = of_run<&RunConfig::precision>,
          .choices = precisions},
    Field{.section = "",
          .name = "memory_budget",
          .help = "most memory to take on the device; all: what it has",
          .pointer = of_run<&RunConfig::memory_budget>,
          .zero_word = "all",
          .bytes = true},
};

}  // namespace

std::span<const Field> run_fields() {
  static const std::vector<Field> kFields = [] {
    std::vector<Field> all(kRunFields.begin(), kRunFields.end());
    for (const Algorithm& algorithm : algorithms()) {
      const auto own = algorithm.fields();
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }();
  return kFields;
}

}  // namespace thrt::rl
