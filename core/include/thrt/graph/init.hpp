// How a state slot is filled before the first step. Part of the graph, so that a program's state describes itself.
#pragma once

#include <cstdint>

namespace thrt {

struct Init {
  enum class Kind : std::uint8_t {
    kZeros,
    kConstant,        // every element `value`
    kUniform,         // U(-value, value)
    kNormal,          // N(0, value^2)
    kOrthogonal,      // orthonormal rows or columns times `value` (Saxe, McClelland and Ganguli 2014)
    kKaimingUniform,  // U(-b, b), b = value * sqrt(3 / fan_in)  (He et al. 2015); value sqrt(2) for ReLU
    kXavierUniform,   // U(-b, b), b = value * sqrt(6 / (fan_in + fan_out))  (Glorot and Bengio 2010)
    kRandomState,     // u32[4]: a Philox state with the seed as its key (thrt/philox.h)
  };

  Kind kind = Kind::kZeros;
  double value = 0.0;

  static Init zeros() { return {}; }
  static Init constant(double value) { return {Kind::kConstant, value}; }
  static Init uniform(double bound) { return {Kind::kUniform, bound}; }
  static Init normal(double deviation) { return {Kind::kNormal, deviation}; }
  static Init orthogonal(double gain) { return {Kind::kOrthogonal, gain}; }
  static Init kaiming_uniform(double gain) { return {Kind::kKaimingUniform, gain}; }
  static Init xavier_uniform(double gain) { return {Kind::kXavierUniform, gain}; }
  static Init random_state() { return {Kind::kRandomState, 0.0}; }

  friend bool operator==(const Init& a, const Init& b) { return a.kind == b.kind && a.value == b.value; }
};

}  // namespace thrt
