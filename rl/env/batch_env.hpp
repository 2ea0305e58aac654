// What every environment of a batch needs besides its equations: seeding, time limit, same-step autoreset, episode
// statistics, saving. An environment is then only a `Dynamics`, which keeps the states of the batch as one array per
// component and provides:
//   static constexpr std::string_view kId;  kMaxEpisodeSteps;  kObservationSize
//   static ObservationSpace observation_space();  static DiscreteSpace action_space();
//   Dynamics(n);
//   reset(i, rng)                       new episode in environment i
//   step(actions, rewards, terminated)  all environments, no reset
//   observe(i, row)                     writes kObservationSize floats
//   save(writer)  load(reader)
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <limits>
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
    for (std::size_t i = 0; i < num_envs(); ++i) batch_.dynamics.observe(i, row(observations, i));
  }

  void step(std::span<const std::int32_t> actions, StepResult& out) override {
    require_reset();
    require_valid(actions);
    out.resize(num_envs(), Dynamics::kObservationSize);
    out.finished.clear();
    batch_.dynamics.step(actions, out.rewards, out.terminated);
    for (std::size_t i = 0; i < num_envs(); ++i) {
      batch_.lengths[i] += 1;
      batch_.returns[i] += static_cast<double>(out.rewards[i]);
      out.truncated[i] = batch_.lengths[i] >= Dynamics::kMaxEpisodeSteps ? 1 : 0;
      if ((out.terminated[i] | out.truncated[i]) != 0) {
        batch_.dynamics.observe(i, row(out.final_observations, i));
        out.finished.push_back({i, batch_.returns[i], batch_.lengths[i]});
        start_episode(i);
      }
      batch_.dynamics.observe(i, row(out.observations, i));
    }
  }

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
      fresh.lengths[i] = static_cast<std::int64_t>(length);
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
    std::vector<std::int64_t> lengths;  // steps of the running episode
    std::vector<double> returns;        // rewards of the running episode
  };

  template <class Floats>
  static float* row(Floats& matrix, std::size_t i) {
    return matrix.data() + i * Dynamics::kObservationSize;
  }

  static Error damaged(std::string why) {
    return Error("the environment state cannot be read", std::move(why), "use an older checkpoint of this run");
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
    const auto outside = [n](std::int32_t action) { return action < 0 || action >= n; };
    const auto bad = std::find_if(actions.begin(), actions.end(), outside);
    if (bad != actions.end()) {
      throw Error(fmt::format("action {} of environment {} is outside the action space", *bad, bad - actions.begin()),
                  fmt::format("{} takes the actions 0 to {}", id(), n - 1));
    }
  }

  ObservationSpace observation_space_;
  ActionSpace action_space_;
  Batch batch_;
};

}  // namespace thrt::rl
