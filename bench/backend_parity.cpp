// backend_parity A B [UPDATES [SEED]]: PPO on CartPole-v1 with two backends, compared after each update, as a table in
// Markdown. Backends are named as --backend takes them: backend_parity cpu vulkan:llvmpipe 50 1
//
// Two questions, two halves of the table. How far off is one update? There B begins each update from A's own state:
// weights, optimiser, random streams and environments. And how long do two trainings that begin from one seed stay
// together? Rounding differs, so sooner or later a sampled action differs, and from then on they are two trainings: that
// says nothing about either backend, while the first half does.
//
// Ends with 1 when an update from one state and with the same actions is off by more than kMostOff, and when actions differ more
// often than rounding explains.
#include <thrt/bench/targets.hpp>
#include <thrt/error.hpp>
#include <thrt/plugin/probe.hpp>
#include <thrt/rl/algo/learner.hpp>
#include <thrt/rl/train/fields.hpp>
#include <thrt/standard_streams.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace thrt::bench {
namespace {

// Of the relative difference of all weights together, |a - b| / |a| in the Euclidean norm: some hundred roundings of f32.
// An update is 20 steps of Adam, each of which moves a weight by up to the learning rate, so what is wrong by more than
// rounding shows.
constexpr double kMostOff = 1e-5;

// From one state, an action differs only where the random number lies within rounding of a probability: about one in a million.
constexpr std::size_t kMostActions = 1;            // that differ in a rollout of some hundreds
constexpr double kMostRolloutsWithOthers = 0.125;  // of all rollouts

rl::RunConfig config_of(std::uint64_t seed) {
  rl::RunConfig config = rl::default_config("ppo", "CartPole-v1");
  config.seed = seed;
  return config;
}

class Training {
 public:
  Training(const Context& context, const rl::RunConfig& config, std::int64_t updates)
      : learner_(rl::make_learner(context, config)), updates_(updates) {
    learner_->environment().reset(config.seed);
    learner_->environment_changed();
  }

  // Takes over where `other` is.
  void follow(Training& other) {
    for (const auto& [name, entry] : other.learner_->buffers().entries()) {
      if (entry.kind == Graph::SlotKind::kState) {
        learner_->buffers().at(name).write(std::span<const std::byte>(entry.buffer.read<std::byte>()));
      }
    }
    learner_->environment().load_state(other.learner_->environment().save_state());
    learner_->environment_changed();
    done_ = other.done_;
  }

  void update() {
    std::vector<rl::EpisodeEnd> finished;
    rl::TimeSplit split;
    const std::int64_t steps = learner_->steps_per_iteration();
    learner_->iterate({.step = done_ * steps, .total_steps = updates_ * steps}, split, finished);
    ++done_;
  }

  std::vector<double> weights() {
    std::vector<double> all;
    for (const auto& [name, entry] : learner_->buffers().entries()) {
      if (entry.kind != Graph::SlotKind::kState || name.rfind("agent/", 0) != 0) continue;
      const std::vector<float> values = entry.buffer.read<float>();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }
  // Of the last rollout.
  std::vector<std::int32_t> actions() { return learner_->buffers().at("rollout/actions").read<std::int32_t>(); }

 private:
  std::unique_ptr<rl::Learner> learner_;
  std::int64_t updates_;
  std::int64_t done_ = 0;
};

struct Difference {
  double largest = 0;   // of a weight
  double relative = 0;  // of all weights
  std::size_t actions = 0;
};

Difference compare(Training& a, Training& b) {
  const std::vector<double> x = a.weights(), y = b.weights();
  Difference difference;
  double squares = 0, off = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    // NaN must not be lost in a comparison.
    const double distance = std::isfinite(x[i]) && std::isfinite(y[i]) ? std::abs(x[i] - y[i]) : INFINITY;
    difference.largest = std::max(difference.largest, distance);
    squares += x[i] * x[i];
    off += distance * distance;
  }
  difference.relative = std::sqrt(off / squares);
  const std::vector<std::int32_t> chosen = a.actions(), other = b.actions();
  for (std::size_t i = 0; i < chosen.size(); ++i) difference.actions += chosen[i] != other[i] ? 1 : 0;
  return difference;
}

std::int64_t whole_number(const char* text, const char* what) {
  const auto number = rl::parse_whole_number(text);
  if (number && *number >= 1 && *number <= 1'000'000) return *number;
  throw Error(fmt::format("{} is '{}'", what, text), "it takes a whole number from 1 to 1000000", "50");
}

int run(const std::vector<std::string>& backends, std::int64_t updates, std::uint64_t seed) {
  const Targets targets = open_targets({.backends = backends});
  const rl::RunConfig config = config_of(seed);
  const Target& a = targets.targets.at(0);
  const Target& b = targets.targets.at(1);
  Training reference(a.context, config, updates);
  Training following(b.context, config, updates);
  Training free(b.context, config, updates);

  fmt::print("PPO on CartPole-v1, seed {}: {} ({}) and {} ({})\n\n", seed, a.label, a.device, b.label, b.device);
  fmt::print(
      "| update | from one state: largest | relative | actions that differ | from one seed: largest | relative |"
      " actions that differ |\n|---:|---:|---:|---:|---:|---:|---:|\n");
  double worst = 0;
  std::size_t most_actions = 0;
  std::int64_t rollouts_with_others = 0;
  std::optional<std::int64_t> parted;
  for (std::int64_t update = 1; update <= updates; ++update) {
    following.follow(reference);
    for (Training* training : {&reference, &following, &free}) training->update();
    const Difference one = compare(reference, following);
    const Difference all = compare(reference, free);
    if (one.actions == 0 && !(one.relative <= worst)) worst = one.relative;  // NaN, too
    most_actions = std::max(most_actions, one.actions);
    rollouts_with_others += one.actions > 0 ? 1 : 0;
    if (all.actions > 0 && !parted) parted = update;
    fmt::print("| {} | {:.1e} | {:.1e} | {} | {:.1e} | {:.1e} | {} |\n", update, one.largest, one.relative, one.actions,
               all.largest, all.relative, all.actions);
    std::fflush(stdout);
  }
  fmt::print("\nFrom one seed, {}.\n",
             parted ? fmt::format("the first action differs in the rollout of update {}", *parted)
                    : std::string("no action differs"));
  if (most_actions > kMostActions ||
      static_cast<double>(rollouts_with_others) > kMostRolloutsWithOthers * static_cast<double>(updates)) {
    fmt::print(stderr, "error: from one state, up to {} actions differ, in {} of {} rollouts\n", most_actions,
               rollouts_with_others, updates);
    return 1;
  }
  if (worst <= kMostOff) return 0;
  fmt::print(stderr, "error: an update from one state, with the same actions, is off by {:.1e}; {:.0e} is allowed\n",
             worst, kMostOff);
  return 1;
}

}  // namespace
}  // namespace thrt::bench

int main(int argc, char** argv) {
  // The child that discovery starts for each plugin.
  if (argc == 4 && std::string_view(argv[1]) == "__probe") return thrt::probe_main(argv[2], std::atoi(argv[3]));
  try {
    if (argc < 3 || argc > 5) {
      throw thrt::Error("it takes two backends", {}, "backend_parity cpu vulkan:llvmpipe [UPDATES [SEED]]");
    }
    const std::int64_t updates = argc > 3 ? thrt::bench::whole_number(argv[3], "UPDATES") : 50;
    const std::int64_t seed = argc > 4 ? thrt::bench::whole_number(argv[4], "SEED") : 1;
    return thrt::bench::run({argv[1], argv[2]}, updates, static_cast<std::uint64_t>(seed));
  } catch (const thrt::Error& error) {
    return thrt::report_failure(error);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
