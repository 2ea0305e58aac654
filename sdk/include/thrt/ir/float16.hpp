// f16 (IEEE 754 binary16) and bf16 (the upper half of a binary32) from and to f32, bit by bit: to nearest, ties to
// even; subnormals kept; NaNs stay NaNs (quiet, upper payload bits kept).
#pragma once

#include <bit>
#include <cstdint>

namespace thrt::ir {

inline float bf16_to_f32(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

inline std::uint16_t f32_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<std::uint16_t>(bits >> 16 | 0x0040u);  // quiet NaN
  // Adding 0x7FFF, and one more when the kept part is odd, carries into the kept part exactly when it has to go up.
  return static_cast<std::uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

inline float f16_to_f32(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1Fu;
  const std::uint32_t fraction = bits & 0x3FFu;
  if (exponent == 31) {  // infinity, or NaN made quiet
    return std::bit_cast<float>(sign | 0x7F800000u | fraction << 13 | (fraction != 0 ? 0x00400000u : 0u));
  }
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24, exact in f32
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | (exponent + 112u) << 23 | fraction << 13);
}

inline std::uint16_t f32_to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return static_cast<std::uint16_t>(sign | 0x7E00u | (magnitude >> 13 & 0x3FFu));
  if (magnitude >= 0x477FF000u) return sign | 0x7C00u;  // 65520 and above round to infinity
  std::uint32_t kept, dropped, half;
  if (magnitude >= 0x38800000u) {  // normal in f16: 2^-14 and above
    kept = (magnitude >> 13) - (112u << 10);
    dropped = magnitude & 0x1FFFu;
    half = 0x1000u;
  } else {
    const std::uint32_t exponent = magnitude >> 23;
    if (exponent < 102) return sign;  // below 2^-25: rounds to zero
    const std::uint32_t shift = 126u - exponent;
    const std::uint32_t mantissa = (magnitude & 0x7FFFFFu) | 0x800000u;
    kept = mantissa >> shift;
    dropped = mantissa & ((1u << shift) - 1u);
    half = 1u << (shift - 1u);
  }
  if (dropped > half || (dropped == half && (kept & 1u) != 0)) ++kept;
  return static_cast<std::uint16_t>(sign | kept);
}

// f64 to f32 so that a second rounding to a format at least two bits narrower gives what one rounding would: towards
// zero, and the last bit set when that lost anything ("round to odd": Boldo and Melquiond, "When double rounding is
// odd", 2005).
inline float f64_to_f32_odd(double value) {
  const auto nearest = static_cast<float>(value);
  if (value != value || static_cast<double>(nearest) == value) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  const double wide = static_cast<double>(nearest);
  if ((wide < 0 ? -wide : wide) > (value < 0 ? -value : value)) --bits;
  return std::bit_cast<float>(bits | 1u);
}

inline std::uint16_t f64_to_f16(double value) {
  return f32_to_f16(f64_to_f32_odd(value));
}
inline std::uint16_t f64_to_bf16(double value) {
  return f32_to_bf16(f64_to_f32_odd(value));
}

}  // namespace thrt::ir
