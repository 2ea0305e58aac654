// A batch of N copies of one environment, stepped together.
//
// Semantics are Gymnasium's vector environments with same-step autoreset: when an episode ends, the observation that
// step() returns is the first one of the next episode, and the ended episode's last observation is kept apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace thrt::rl {

// Real vectors of a fixed shape, f32. `low` and `high` have one bound per element, row-major, infinities allowed.
struct BoxSpace {
  std::vector<std::int64_t> shape;
  std::vector<float> low;
  std::vector<float> high;

  std::size_t size() const;  // product of the shape
};

// The integers 0 … n-1.
struct DiscreteSpace {
  std::int32_t n = 0;
};

using ObservationSpace = BoxSpace;
using ActionSpace = std::variant<DiscreteSpace, BoxSpace>;

struct EpisodeEnd {
  std::size_t env = 0;
  double episode_return = 0.0;  // undiscounted sum of rewards
  std::int64_t length = 0;      // steps

  bool operator==(const EpisodeEnd&) const = default;
};

// What one step of N environments with D observation elements gave. Reuse one object: its memory is kept.
struct StepResult {
  std::vector<float> observations;        // [N, D], to act on next
  std::vector<float> rewards;             // [N]
  std::vector<std::uint8_t> terminated;   // [N], 1: the episode reached an end of the task; its future is worth 0
  std::vector<std::uint8_t> truncated;    // [N], 1: the time limit cut it; may be set together with terminated
  std::vector<float> final_observations;  // [N, D], valid where terminated or truncated: the ended episode's last
  std::vector<EpisodeEnd> finished;       // episodes that ended in this step, by env

  void resize(std::size_t num_envs, std::size_t observation_size);
};

class VectorEnv {
 public:
  virtual ~VectorEnv() = default;

  virtual std::string_view id() const = 0;
  virtual std::size_t num_envs() const = 0;
  virtual const ObservationSpace& observation_space() const = 0;  // of one environment
  virtual const ActionSpace& action_space() const = 0;            // of one environment
  virtual std::int64_t max_episode_steps() const = 0;

  // Starts a new episode everywhere; environment i draws from a fresh generator seeded with seed + i.
  // Throws thrt::Error when seed + N - 1 does not fit 64 bits.
  virtual void reset(std::uint64_t seed) = 0;

  // Writes the observations [N, D] that the next actions answer: after reset() or load_state().
  virtual void observe(std::span<float> observations) const = 0;

  // One step of all with actions [N], or continuous ones [N, A]; each environment has one of the two. A continuous action
  // beyond its bounds is for the environment to clip, as Gymnasium's do. Ended episodes restart from their own generator,
  // which is not re-seeded. Throws thrt::Error, with nothing changed, for an action outside the space (or not finite), a
  // wrong count or kind, or before a reset.
  virtual void step(std::span<const std::int32_t> actions, StepResult& out) = 0;
  virtual void step(std::span<const float> actions, StepResult& out) = 0;

  // Everything that later steps depend on (dynamics, step counts, running returns, generators) as bytes for a
  // checkpoint. Continuing after load_state() gives the same bits. load_state() throws thrt::Error, with nothing
  // changed, for bytes of another environment, another count or version, or damaged ones.
  virtual std::string save_state() const = 0;
  virtual void load_state(std::string_view bytes) = 0;

 protected:
  VectorEnv() = default;
  VectorEnv(const VectorEnv&) = default;
  VectorEnv& operator=(const VectorEnv&) = default;
};

// Ids that make_vector_env knows, sorted.
std::vector<std::string> vector_env_ids();

// Throws thrt::Error for an unknown id (naming the known ones and the nearest) and for num_envs < 1.
std::unique_ptr<VectorEnv> make_vector_env(std::string_view id, std::int64_t num_envs);

}  // namespace thrt::rl
