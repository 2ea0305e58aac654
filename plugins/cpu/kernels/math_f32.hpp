// f32 functions without branches, tables or calls, so that a loop over them becomes vector code, and so that an
// element's bits do not depend on where in an array it stands. Polynomials and reductions for exp, log, sin and
// cos are those of Cephes (S. Moshier, netlib.org/cephes, single precision); measured errors are in tests/plugins/cpu.
#pragma once

#include "lanes.hpp"

#include <cstdint>

namespace {

// Templates are for float and for Floats.
template <class V>
inline V absolute(V x) {
  return from_bits(to_bits(x) & 0x7fffffffu);
}

inline float with_sign_of(float magnitude, float sign) {
  return from_bits((to_bits(magnitude) & 0x7fffffffu) | (to_bits(sign) & 0x80000000u));
}
constexpr float kInfinity = __builtin_inff();
constexpr float kNan = __builtin_nanf("");
constexpr float kRounder = 12582912.0f;  // 1.5 * 2^23: adding it leaves x rounded to an integer in the low bits
constexpr std::uint32_t kRounderBits = 0x4b400000u;

template <class V>
inline V exp_f32(V x) {
  // Beyond these the result is infinite, or rounds to zero below half of the smallest denormal. NaN stays.
  x = smaller(spread<V>(89.0f), x);
  x = larger(spread<V>(-104.0f), x);
  const V shifted = x * 1.44269504088896341f + kRounder;
  const auto n = to_bits(shifted) - kRounderBits;
  const V n_float = shifted - kRounder;
  const V r = (x - n_float * 0.693359375f) - n_float * -2.12194440e-4f;
  V p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  return scaled(p, n_float, n);
}

inline float log_f32(float x) {
  const bool denormal = x < 1.17549435e-38f;
  const float scaled = denormal ? x * 33554432.0f : x;  // 2^25
  const std::uint32_t bits = to_bits(scaled);
  // Mantissa in [sqrt(1/2), sqrt(2)): 0x3f3504f3 is sqrt(1/2).
  const std::uint32_t offset = bits - 0x3f3504f3u;
  float e = static_cast<float>(static_cast<std::int32_t>(offset) >> 23);
  e = denormal ? e - 25.0f : e;
  const float m = from_bits((offset & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
  const float z = m * m;
  float p = 7.0376836292e-2f;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  float y = p * m * z;
  y = y + e * -2.12194440e-4f;
  y = y - 0.5f * z;
  float result = m + y;
  result = result + e * 0.693359375f;
  result = x > 3.402823466e38f ? x : result;  // infinity
  result = x == 0.0f ? -kInfinity : result;
  result = x < 0.0f ? kNan : result;
  return x != x ? x : result;
}

// log(1 + x) = log(u) + (x - (u - 1)) / u with u = 1 + x rounded: the second term restores what the rounding lost.
inline float log1p_f32(float x) {
  const float u = 1.0f + x;
  const float lost = (x - (u - 1.0f)) / u;
  float result = log_f32(u) + lost;
  result = u == 0.0f ? -kInfinity : result;
  result = u == kInfinity ? u : result;
  return x == 0.0f ? x : result;  // keeps -0
}

// x P(x^2) / Q(x^2): the minimax rational function of these degrees on [0, 8.8], relative error 1.7e-8, found by Lawson's
// weighted least squares. Beyond 8.8 the result rounds to 1. P(0) = Q(0) = 1, which keeps the smallest numbers exact.
template <class V>
inline V tanh_f32(V x) {
  const V a = smaller(spread<V>(8.8f), absolute(x));
  const V t = a * a;
  V p = t * 1.3714785e-08f + 2.0865473e-05f;
  p = p * t + 0.0035110586f;
  p = p * t + 0.13394025f;
  p = p * t + 1.0f;
  V q = t * 7.922835e-07f + 0.00033110054f;
  q = q * t + 0.025935749f;
  q = q * t + 0.46727344f;
  q = q * t + 1.0f;
  const V result = smaller(spread<V>(1.0f), a * p / q);
  return from_bits(to_bits(result) | (to_bits(x) & 0x80000000u));
}

// exp(-|x|) never overflows; the numerator keeps the left tail exact down to the denormals.
template <class V>
inline V sigmoid_f32(V x) {
  const V e = exp_f32<V>(from_bits(to_bits(x) | 0x80000000u));
  const V one = spread<V>(1.0f);
  return (x < spread<V>(0.0f) ? e : one) / (e + one);  // NaN comes through e
}

// Maclaurin's series up to |x| = 1 (the first term left out is 1e-9 of the result), then 1 - erfc by Abramowitz and
// Stegun 7.1.26, whose error of 1.5e-7 is small beside a result above 0.84.
inline float erf_f32(float x) {
  const float a = absolute(x);
  const float z = x * x;
  float p = -1.0f / 918086400.0f;  // (-1)^n / (n! (2n + 1)), n = 11 down to 0
  p = p * z + 1.0f / 76204800.0f;
  p = p * z - 1.0f / 6894720.0f;
  p = p * z + 1.0f / 685440.0f;
  p = p * z - 1.0f / 75600.0f;
  p = p * z + 1.0f / 9360.0f;
  p = p * z - 1.0f / 1320.0f;
  p = p * z + 1.0f / 216.0f;
  p = p * z - 1.0f / 42.0f;
  p = p * z + 1.0f / 10.0f;
  p = p * z - 1.0f / 3.0f;
  const float two_over_root_pi = 1.12837916709551257f;
  const float small = with_sign_of(two_over_root_pi * (x + x * z * p), x);  // the sum loses -0
  const float t = 1.0f / (1.0f + 0.3275911f * a);
  float q = 1.061405429f;
  q = q * t - 1.453152027f;
  q = q * t + 1.421413741f;
  q = q * t - 0.284496736f;
  q = q * t + 0.254829592f;
  const float large = with_sign_of(1.0f - q * t * exp_f32(-(a * a)), x);
  return a < 1.0f ? small : large;
}

// The reduced argument in double: exact enough for any |x| that f32 can still tell apart from its neighbours' sines.
template <bool kCosine>
inline float sincos_f32(float x) {
  constexpr double kDoubleRounder = 6755399441055744.0;  // 1.5 * 2^52
  const double wide = static_cast<double>(x);
  const double shifted = wide * 0.63661977236758134308 + kDoubleRounder;
  const double n = shifted - kDoubleRounder;
  const auto quadrant = static_cast<std::uint32_t>(__builtin_bit_cast(std::uint64_t, shifted)) + (kCosine ? 1u : 0u);
  // pi / 2 as a head with 33 bits and its tail, as in fdlibm's e_rem_pio2.c.
  float r = static_cast<float>((wide - n * 1.57079632673412561417e+00) - n * 6.07710050650619224932e-11);
  // Where x is so large that its reduction says nothing, any number in [-1, 1] will do.
  r = absolute(r) > 1.0f ? 0.0f : r;
  const float z = r * r;
  float s = -1.9515295891e-4f;
  s = s * z + 8.3321608736e-3f;
  s = s * z - 1.6666654611e-1f;
  s = s * z * r + r;
  float c = 2.443315711809948e-5f;
  c = c * z - 1.388731625493765e-3f;
  c = c * z + 4.166664568298827e-2f;
  c = c * z * z - 0.5f * z + 1.0f;
  float result = (quadrant & 1u) != 0 ? c : s;
  result = from_bits(to_bits(result) ^ ((quadrant & 2u) << 30));
  result = !kCosine && x == 0.0f ? x : result;  // keeps -0
  result = result > 1.0f ? 1.0f : result;
  return result < -1.0f ? -1.0f : result;
}

inline float round_f32(float x) {
  const float a = absolute(x);
  const float rounded = with_sign_of((a + 8388608.0f) - 8388608.0f, x);  // 2^23: above it every f32 is an integer
  return a < 8388608.0f ? rounded : x;
}

inline float floor_f32(float x) {
  const float rounded = round_f32(x);
  const float lowered = rounded > x ? rounded - 1.0f : rounded;
  return with_sign_of(lowered, lowered == 0.0f ? x : lowered);
}

}  // namespace
