// numpy's default random stream: PCG64 (XSL-RR 128/64) seeded through SeedSequence, bit for bit.
// Gymnasium's environments draw their start states from it, so an environment here starts where theirs does.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace thrt::rl {

// Turns a seed of any length into well-mixed words: numpy.random.SeedSequence without spawning.
// Source: M. E. O'Neill, "Developing a seed_seq Alternative" (2015), with numpy's constants.
class SeedSequence {
 public:
  explicit SeedSequence(std::uint64_t seed);
  // The seed as 32-bit words, lowest first, as numpy splits a Python integer. Empty means 0.
  explicit SeedSequence(std::span<const std::uint32_t> entropy);

  std::vector<std::uint32_t> generate_state_u32(std::size_t words) const;
  std::vector<std::uint64_t> generate_state_u64(std::size_t words) const;

 private:
  std::array<std::uint32_t, 4> pool_{};
};

// 128-bit numbers as two halves, so that a state can be stored anywhere.
struct Pcg64State {
  std::uint64_t state_high = 0;
  std::uint64_t state_low = 0;
  std::uint64_t increment_high = 0;
  std::uint64_t increment_low = 0;

  bool operator==(const Pcg64State&) const = default;
};

// M. E. O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for Random Number
// Generation" (2014); the stream of numpy.random.default_rng(seed).
class Pcg64 {
 public:
  explicit Pcg64(const SeedSequence& seed);
  explicit Pcg64(std::uint64_t seed) : Pcg64(SeedSequence(seed)) {}
  explicit Pcg64(const Pcg64State& state) : state_(state) {}

  std::uint64_t next_uint64();
  double random_double();                   // uniform in [0, 1), 53 bits; Generator.random()
  double uniform(double low, double high);  // uniform in [low, high); Generator.uniform(low, high)

  const Pcg64State& state() const { return state_; }

 private:
  Pcg64State state_;
};

}  // namespace thrt::rl
