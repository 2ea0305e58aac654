#include "thrt/rl/env/pcg64.hpp"

#include <cstddef>

namespace thrt::rl {
namespace {

__extension__ using Uint128 = unsigned __int128;

constexpr std::uint32_t kInitA = 0x43b0d7e5;
constexpr std::uint32_t kMultiplierA = 0x931e8875;
constexpr std::uint32_t kInitB = 0x8b51f9dd;
constexpr std::uint32_t kMultiplierB = 0x58f38ded;
constexpr std::uint32_t kMixLeft = 0xca01f9dd;
constexpr std::uint32_t kMixRight = 0x4973f715;
constexpr unsigned kShift = 16;

// PCG_DEFAULT_MULTIPLIER_128.
constexpr Uint128 kMultiplier = (static_cast<Uint128>(0x2360ed051fc65da4ULL) << 64) | 0x4385df649fccf645ULL;

std::uint32_t hash(std::uint32_t value, std::uint32_t& constant) {
  value ^= constant;
  constant *= kMultiplierA;
  value *= constant;
  return value ^ (value >> kShift);
}

std::uint32_t mix(std::uint32_t left, std::uint32_t right) {
  const std::uint32_t value = kMixLeft * left - kMixRight * right;
  return value ^ (value >> kShift);
}

Uint128 join(std::uint64_t high, std::uint64_t low) {
  return (static_cast<Uint128>(high) << 64) | low;
}

void advance(Pcg64State& state) {
  const Uint128 next =
      join(state.state_high, state.state_low) * kMultiplier + join(state.increment_high, state.increment_low);
  state.state_high = static_cast<std::uint64_t>(next >> 64);
  state.state_low = static_cast<std::uint64_t>(next);
}

std::array<std::uint32_t, 2> split(std::uint64_t seed) {
  return {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
}

}  // namespace

// A zero high word mixes like an absent one: words missing from the pool are hashed as zero.
SeedSequence::SeedSequence(std::uint64_t seed) : SeedSequence(std::span<const std::uint32_t>(split(seed))) {}

SeedSequence::SeedSequence(std::span<const std::uint32_t> entropy) {
  std::uint32_t constant = kInitA;
  for (std::size_t i = 0; i < pool_.size(); ++i) pool_[i] = hash(i < entropy.size() ? entropy[i] : 0, constant);
  for (std::size_t from = 0; from < pool_.size(); ++from) {
    for (std::size_t to = 0; to < pool_.size(); ++to) {
      if (from != to) pool_[to] = mix(pool_[to], hash(pool_[from], constant));
    }
  }
  for (std::size_t from = pool_.size(); from < entropy.size(); ++from) {
    for (std::uint32_t& word : pool_) word = mix(word, hash(entropy[from], constant));
  }
}

std::vector<std::uint32_t> SeedSequence::generate_state_u32(std::size_t words) const {
  std::vector<std::uint32_t> out(words);
  std::uint32_t constant = kInitB;
  for (std::size_t i = 0; i < words; ++i) {
    std::uint32_t value = pool_[i % pool_.size()] ^ constant;
    constant *= kMultiplierB;
    value *= constant;
    out[i] = value ^ (value >> kShift);
  }
  return out;
}

std::vector<std::uint64_t> SeedSequence::generate_state_u64(std::size_t words) const {
  const std::vector<std::uint32_t> halves = generate_state_u32(2 * words);
  std::vector<std::uint64_t> out(words);
  for (std::size_t i = 0; i < words; ++i) {
    out[i] = (static_cast<std::uint64_t>(halves[2 * i + 1]) << 32) | halves[2 * i];
  }
  return out;
}

Pcg64::Pcg64(const SeedSequence& seed) {
  const std::vector<std::uint64_t> words = seed.generate_state_u64(4);
  const Uint128 increment = (join(words[2], words[3]) << 1) | 1;
  state_.increment_high = static_cast<std::uint64_t>(increment >> 64);
  state_.increment_low = static_cast<std::uint64_t>(increment);
  advance(state_);
  const Uint128 start = join(state_.state_high, state_.state_low) + join(words[0], words[1]);
  state_.state_high = static_cast<std::uint64_t>(start >> 64);
  state_.state_low = static_cast<std::uint64_t>(start);
  advance(state_);
}

std::uint64_t Pcg64::next_uint64() {
  advance(state_);
  const std::uint64_t value = state_.state_high ^ state_.state_low;
  const unsigned rotation = static_cast<unsigned>(state_.state_high >> 58);
  return (value >> rotation) | (value << ((64 - rotation) & 63));
}

double Pcg64::random_double() {
  return static_cast<double>(next_uint64() >> 11) * 0x1p-53;
}

double Pcg64::uniform(double low, double high) {
  return low + (high - low) * random_double();
}

}  // namespace thrt::rl
