#include <thrt/nn/initialise.hpp>

#include <thrt/philox.h>
#include <thrt/error.hpp>
#include <thrt/graph/scalar_bytes.hpp>

#include "orthogonal.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <numbers>

namespace thrt::nn {
namespace {

// FNV-1a (Fowler, Noll and Vo), finished with SplitMix64's mixer (Steele, Lea and Flood 2014), so that names that
// differ in one character are far apart in every bit.
std::uint64_t hash_of(std::string_view domain, std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const std::string_view part : {domain, name}) {
    for (const char c : part) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
  return hash ^ (hash >> 31);
}

std::array<std::uint32_t, 4> philox_state(std::uint64_t seed, std::uint32_t stream_low, std::uint32_t stream_high) {
  return {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32), stream_low, stream_high};
}

// Numbers of one slot, in order.
class Stream {
 public:
  Stream(std::uint64_t seed, std::string_view name) {
    const std::uint64_t hash = hash_of("init:", name);
    state_ = philox_state(seed, static_cast<std::uint32_t>(hash), static_cast<std::uint32_t>(hash >> 32));
  }

  // (0, 1): 52 bits and a half.
  double uniform() {
    const std::uint64_t high = thrt_random_word(state_.data(), next_++);
    const std::uint64_t low = thrt_random_word(state_.data(), next_++);
    return (static_cast<double>((high << 32 | low) >> 12) + 0.5) * 0x1p-52;
  }

  double normal() {  // Box and Muller 1958
    const double radius = std::sqrt(-2.0 * std::log(uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

 private:
  std::array<std::uint32_t, 4> state_{};
  std::uint64_t next_ = 0;
};

struct Fans {
  std::size_t in, out;
};

[[noreturn]] void refuse(std::string_view what, const ir::Type& type, std::string_view name, std::string_view needs) {
  throw Error(fmt::format("state '{}': {} does not initialise {}", name, what, type.str()),
              fmt::format("it needs {}", needs));
}

// The slot as a matrix: [in, out], or a filter as [O, C*KH*KW].
Fans matrix_of(std::string_view what, const ir::Type& type, std::string_view name) {
  const ir::Shape& s = type.shape;
  if (s.rank() == 2) return {static_cast<std::size_t>(s[0]), static_cast<std::size_t>(s[1])};
  if (s.rank() == 4) return {static_cast<std::size_t>(s[0]), static_cast<std::size_t>(s[1] * s[2] * s[3])};
  refuse(what, type, name, "a matrix [in, out] or a filter [O, C, KH, KW]");
}

Fans fans_of(std::string_view what, const ir::Type& type, std::string_view name) {
  const Fans matrix = matrix_of(what, type, name);
  if (type.shape.rank() == 2) return matrix;
  return {matrix.out, static_cast<std::size_t>(type.shape[0] * type.shape[2] * type.shape[3])};
}

std::vector<std::byte> bytes_of(const std::vector<double>& values, ir::DType dtype) {
  std::vector<std::byte> bytes;
  bytes.reserve(values.size() * ir::dtype_size(dtype));
  for (const double value : values) {
    const std::vector<std::byte> one = scalar_bytes(value, dtype);
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  return bytes;
}

std::vector<std::byte> random_state(const ir::Type& type, std::string_view name, std::uint64_t seed) {
  if (!(type == ir::Type{ir::DType::kU32, {4}})) refuse("a random state", type, name, "u32[4]");
  // The device adds to the third word, and nothing carries into the fourth: a stream of 2^32 draws for each name.
  const std::array<std::uint32_t, 4> state =
      philox_state(seed, 0, static_cast<std::uint32_t>(hash_of("rng:", name) >> 32));
  std::vector<std::byte> bytes(sizeof(state));
  std::memcpy(bytes.data(), state.data(), sizeof(state));
  return bytes;
}

std::vector<double> uniform_values(Stream stream, std::size_t count, double bound) {
  std::vector<double> values(count);
  for (double& value : values) value = bound * (2.0 * stream.uniform() - 1.0);
  return values;
}

std::vector<double> float_values(const Init& init, const ir::Type& type, std::string_view name, std::uint64_t seed) {
  const auto count = static_cast<std::size_t>(type.elements());
  Stream stream(seed, name);
  switch (init.kind) {
    case Init::Kind::kUniform:
      return uniform_values(stream, count, init.value);
    case Init::Kind::kNormal: {
      std::vector<double> values(count);
      for (double& value : values) value = init.value * stream.normal();
      return values;
    }
    case Init::Kind::kOrthogonal: {
      const Fans matrix = matrix_of("an orthogonal matrix", type, name);
      std::vector<double> values = random_orthogonal(matrix.in, matrix.out, [&] { return stream.normal(); });
      for (double& value : values) value *= init.value;
      return values;
    }
    case Init::Kind::kKaimingUniform: {
      const Fans fans = fans_of("Kaiming's rule", type, name);
      return uniform_values(stream, count, init.value * std::sqrt(3.0 / static_cast<double>(fans.in)));
    }
    case Init::Kind::kXavierUniform: {
      const Fans fans = fans_of("Xavier's rule", type, name);
      return uniform_values(stream, count, init.value * std::sqrt(6.0 / static_cast<double>(fans.in + fans.out)));
    }
    case Init::Kind::kZeros:
    case Init::Kind::kConstant:
    case Init::Kind::kRandomState:
      break;
  }
  return std::vector<double>(count, 0.0);
}

}  // namespace

std::vector<std::byte> initial_value(const Init& init, const ir::Type& type, std::string_view name,
                                     std::uint64_t seed) {
  switch (init.kind) {
    case Init::Kind::kRandomState:
      return random_state(type, name, seed);
    case Init::Kind::kZeros:
      return std::vector<std::byte>(type.bytes());
    case Init::Kind::kConstant:
      return bytes_of(std::vector<double>(static_cast<std::size_t>(type.elements()), init.value), type.dtype);
    default:
      if (!ir::is_float(type.dtype)) refuse("a random number", type, name, "a float dtype");
      return bytes_of(float_values(init, type, name, seed), type.dtype);
  }
}

}  // namespace thrt::nn
