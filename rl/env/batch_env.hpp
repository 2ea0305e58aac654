// What every environment of a batch needs besides its equations: seeding, time limit, same-step autoreset, episode
// statistics, saving. An environment is then only a `Dynamics`, which keeps the states of the batch as one array per
// component and provides:
//   static constexpr std::string_view kId;  kMaxEpisodeSteps;  kObservationSize
//   Action                              std::int32_t, or float for continuous ones
//   static ObservationSpace observation_space();  static DiscreteSpace or BoxSpace action_space();
//   Dynamics(n);
//   reset(i, rng)                       new episode in environment i
//   step(actions, rewards, terminated)  all environments, no reset
//   observe(i, row)                     writes kObservationSize floats
//   observe_all(rows)                   the same for all
//   save(writer)  load(reader)
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "rl/env/state_bytes.hpp"
#include "thrt/rl/env/pcg64.hpp"
#include "thrt/rl/env/vector_env.hpp"

namespace thrt::rl {

template <class Dynamics>
class BatchEnv final : public VectorEnv {
 public:
  explicit BatchEnv(std::size_t num_envs)
      : observation_space_(Dynamics::observation_space()), action_space_(Dynamics::action_space()), batch_(num_envs) {}

  std::string_view id() const override { return Dynamics::kId; }
  std::size_t num_envs() const override { return batch_.returns.size(); }
  const ObservationSpace& observation_space() const override { return observation_space_; }
  const ActionSpace& action_space() const override { return action_space_; }
  std::int64_t max_episode_steps() const override { return Dynamics::kMaxEpisodeSteps; }

  void reset(std::uint64_t seed) override {
    if (seed > std::numeric_limits<std::uint64_t>::max() - (num_envs() - 1)) {
      throw Error(fmt::format("seed {} is too large", seed),
                  fmt::format("environment i of {} is seeded with seed + i, which must fit 64 bits", num_envs()),
                  "choose a smaller seed");
    }
    batch_.rngs.clear();
    for (std::size_t i = 0; i < num_envs(); ++i) {
      batch_.rngs.emplace_back(seed + i);
      start_episode(i);
    }
  }

  void observe(std::span<float> observations) const override {
    require_reset();
    if (observations.size() != num_envs() * Dynamics::kObservationSize) {
      throw Error(fmt::format("{} observation elements for {} environments", observations.size(), num_envs()),
                  fmt::format("an observation of {} has {} elements", id(), Dynamics::kObservationSize));
    }
    batch_.dynamics.observe_all(observations);
  }

  void step(std::span<const std::int32_t> actions, StepResult& out) override { step_with(actions, out); }
  void step(std::span<const float> actions, StepResult& out) override { step_with(actions, out); }

  std::string save_state() const override {
    require_reset();
    StateWriter writer;
    writer.text(kFormat);
    writer.text(id());
    writer.u64(num_envs());
    for (std::size_t i = 0; i < num_envs(); ++i) {
      const Pcg64State& rng = batch_.rngs[i].state();
      for (std::uint64_t word : {rng.state_high, rng.state_low, rng.increment_high, rng.increment_low}) {
        writer.u64(word);
      }
      writer.u64(static_cast<std::uint64_t>(batch_.lengths[i]));
      writer.f64(batch_.returns[i]);
    }
    batch_.dynamics.save(writer);
    return writer.take();
  }

  void load_state(std::string_view bytes) override {
    StateReader reader(bytes);
    if (bytes.size() < sizeof(std::uint64_t) + kFormat.size() || reader.text() != kFormat) {
      throw damaged(fmt::format("it does not start with '{}'", kFormat));
    }
    if (const std::string saved_id = reader.text(); saved_id != id()) {
      throw Error(fmt::format("the saved state is of environment '{}', not '{}'", saved_id, id()));
    }
    if (const std::uint64_t saved = reader.u64(); saved != num_envs()) {
      throw Error(fmt::format("the saved state holds {} environments, this run has {}", saved, num_envs()), "",
                  fmt::format("resume with --num-envs {}", saved));
    }
    Batch fresh(num_envs());
    for (std::size_t i = 0; i < num_envs(); ++i) {
      Pcg64State rng;
      for (std::uint64_t* word : {&rng.state_high, &rng.state_low, &rng.increment_high, &rng.increment_low}) {
        *word = reader.u64();
      }
      fresh.rngs.emplace_back(rng);
      const std::uint64_t length = reader.u64();
      if (length >= static_cast<std::uint64_t>(Dynamics::kMaxEpisodeSteps) || (rng.increment_low & 1) == 0) {
        throw damaged("a step count or a generator in it is impossible");
      }
      fresh.lengths[i] = static_cast<std::int32_t>(length);
      fresh.returns[i] = reader.f64();
    }
    fresh.dynamics.load(reader);
    if (reader.left() != 0) throw damaged(fmt::format("{} bytes are left over", reader.left()));
    batch_ = std::move(fresh);
  }

 private:
  static constexpr std::string_view kFormat = "thrt-env-state-1";

  struct Batch {
    explicit Batch(std::size_t num_envs) : dynamics(num_envs), lengths(num_envs, 0), returns(num_envs, 0.0) {}

    Dynamics dynamics;
    std::vector<Pcg64> rngs;            // empty until the first reset
    std::vector<std::int32_t> lengths;  // steps of the running episode
    std::vector<double> returns;        // rewards of the running episode
  };

  template <class Floats>
  static float* row(Floats& matrix, std::size_t i) {
    return matrix.data() + i * Dynamics::kObservationSize;
  }

  static Error damaged(std::string why) {
    return Error("the environment state cannot be read", std::move(why), "use an older checkpoint of this run");
  }

  template <class Given>
  void step_with(std::span<const Given> actions, StepResult& out) {
    require_reset();
    if constexpr (std::is_same_v<Given, typename Dynamics::Action>) {
      require_valid(actions);
      out.resize(num_envs(), Dynamics::kObservationSize);
      out.finished.clear();
      batch_.dynamics.step(actions, out.rewards, out.terminated);
      const bool any_ended = count_step(out);
      batch_.dynamics.observe_all(out.observations);
      if (any_ended) restart_ended(out);
    } else {
      throw Error(fmt::format("{} takes {} actions", id(), std::is_same_v<Given, float> ? "discrete" : "continuous"));
    }
  }

  // Each loop on numbers of one width, so that it becomes vector instructions.
  bool count_step(StepResult& out) {
    const std::size_t n = num_envs();
    std::int32_t* const lengths = batch_.lengths.data();
    double* const returns = batch_.returns.data();
    const float* const rewards = out.rewards.data();
    std::int32_t longest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      lengths[i] += 1;
      longest = std::max(longest, lengths[i]);
    }
    for (std::size_t i = 0; i < n; ++i) returns[i] += static_cast<double>(rewards[i]);
    std::uint8_t any = 0;
    for (std::size_t i = 0; i < n; ++i) any = static_cast<std::uint8_t>(any | out.terminated[i]);
    const bool any_cut = longest >= Dynamics::kMaxEpisodeSteps;
    if (any_cut) {
      for (std::size_t i = 0; i < n; ++i) out.truncated[i] = lengths[i] >= Dynamics::kMaxEpisodeSteps ? 1 : 0;
    } else {
      std::fill(out.truncated.begin(), out.truncated.end(), std::uint8_t{0});
    }
    return any != 0 || any_cut;
  }

  void restart_ended(StepResult& out) {
    for (std::size_t i = 0; i < num_envs(); ++i) {
      if ((out.terminated[i] | out.truncated[i]) == 0) continue;
      std::copy_n(row(out.observations, i), Dynamics::kObservationSize, row(out.final_observations, i));
      out.finished.push_back({i, batch_.returns[i], batch_.lengths[i]});
      start_episode(i);
      batch_.dynamics.observe(i, row(out.observations, i));
    }
  }

  void start_episode(std::size_t i) {
    batch_.dynamics.reset(i, batch_.rngs[i]);
    batch_.lengths[i] = 0;
    batch_.returns[i] = 0.0;
  }

  void require_reset() const {
    if (batch_.rngs.empty()) throw Error(fmt::format("{} was not reset", id()), "", "call reset(seed) first");
  }

  void require_valid(std::span<const std::int32_t> actions) const {
    if (actions.size() != num_envs()) {
      throw Error(fmt::format("{} actions for {} environments", actions.size(), num_envs()));
    }
    const std::int32_t n = std::get<DiscreteSpace>(action_space_).n;
    bool all_inside = true;
    for (const std::int32_t action : actions) {  // as unsigned, negative ones are too large
      all_inside &= static_cast<std::uint32_t>(action) < static_cast<std::uint32_t>(n);
    }
    if (all_inside) return;
    const auto outside = [n](std::int32_t action) { return action < 0 || action >= n; };
    const auto bad = std::find_if(actions.begin(), actions.end(), outside);
    throw Error(fmt::format("action {} of environment {} is outside the action space", *bad, bad - actions.begin()),
                fmt::format("{} takes the actions 0 to {}", id(), n - 1));
  }

  void require_valid(std::span<const float> actions) const {
    const std::size_t size = std::get<BoxSpace>(action_space_).size();
    if (actions.size() != num_envs() * size) {
      throw Error(fmt::format("{} action elements for {} environments", actions.size(), num_envs()),
                  fmt::format("an action of {} has {}", id(), size));
    }
    float sum = 0.0F;  // 0 * x is 0 for a finite x, else NaN, and a NaN stays
    for (const float action : actions) sum += 0.0F * action;
    if (sum == 0.0F) return;
    const auto bad = std::find_if(actions.begin(), actions.end(), [](float action) { return !std::isfinite(action); });
    throw Error(fmt::format("action {} of environment {} is not a finite number", *bad,
                            static_cast<std::size_t>(bad - actions.begin()) / size));
  }

  ObservationSpace observation_space_;
  ActionSpace action_space_;
  Batch batch_;
};

}  // namespace thrt::rl
