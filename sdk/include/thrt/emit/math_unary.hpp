// The text of the functions of one value; see math.hpp.
#pragma once

#include <string_view>

namespace thrt::emit::detail {

// exp(x) = 2^n exp(r), |r| <= ln(2) / 2, with ln 2 in two parts of which the first has few bits (Cody and Waite, Software
// Manual for the Elementary Functions; the parts are Cephes'). exp(r) = 1 + r + r^2 P(r), P minimax. Adding 1.5 * 2^23
// leaves n in the low bits, and the shift by 23 leaves only n. The last product rounds, or the device flushes, denormals.
inline constexpr std::string_view kExpText = R"glsl(float thrt_exp(float x) {
  uint bits = floatBitsToUint(x), size = bits & 0x7fffffffu;
  uint most = bits < 0x80000000u ? 0x42b20000u : 0x42d00000u;
  precise float c = uintBitsToFloat(min(size, most) | (bits & 0x80000000u));
  precise float shifted = c * 1.44269504 + 12582912.0;
  precise float n = shifted - 12582912.0;
  precise float r = (c - n * 0.693359375) - n * -2.12194440e-4;
  precise float p = 1.38189388e-3 * r + 8.36870354e-3;
  p = p * r + 4.16682884e-2;
  p = p * r + 1.66665211e-1;
  p = p * r + 4.9999994e-1;
  p = (p * (r * r) + r) + 1.0;
  int y = floatBitsToInt(p) + (floatBitsToInt(shifted) << 23);
  precise float low = intBitsToFloat(y + 0x20000000) * 5.42101086e-20;
  y = y < 0x00800000 ? floatBitsToInt(low) : min(y, 0x7f800000);
  return intBitsToFloat(size > 0x7f800000u ? 0x7fc00000 : y);
}
)glsl";

// exp of what is not positive does not overflow; the numerator keeps the left tail accurate.
inline constexpr std::string_view kSigmoidText = R"glsl(float thrt_sigmoid(float x) {
  uint bits = floatBitsToUint(x);
  precise float e = thrt_exp(uintBitsToFloat(bits | 0x80000000u));
  precise float above = bits >= 0x80000000u ? e : 1.0;
  precise float y = above / (1.0 + e);
  uint result = min(floatBitsToUint(y), 0x3f800000u);
  return uintBitsToFloat((bits & 0x7fffffffu) > 0x7f800000u ? bits : result);
}
)glsl";

// x P(x^2) / Q(x^2), the minimax rational function of these degrees for |x| <= 8.8 (relative error 1.7e-8, Lawson's
// weighted least squares). Beyond, the result rounds to 1. P(0) = Q(0) = 1.
inline constexpr std::string_view kTanhText = R"glsl(float thrt_tanh(float x) {
  uint bits = floatBitsToUint(x), size = bits & 0x7fffffffu;
  precise float a = uintBitsToFloat(min(size, 0x410ccccdu));
  precise float t = a * a;
  precise float p = t * 1.3714785e-8 + 2.0865473e-5;
  p = p * t + 3.5110586e-3;
  p = p * t + 1.3394025e-1;
  p = p * t + 1.0;
  precise float q = t * 7.922835e-7 + 3.3110054e-4;
  q = q * t + 2.5935749e-2;
  q = q * t + 4.6727344e-1;
  q = q * t + 1.0;
  precise float y = (a * p) / q;
  uint result = min(floatBitsToUint(y), 0x3f800000u) | (bits & 0x80000000u);
  return uintBitsToFloat(size > 0x7f800000u ? bits : result);
}
)glsl";

// As tanh, for |x| <= 3.92 (relative error 5.8e-8). P(0) is 2 / sqrt(pi).
inline constexpr std::string_view kErfText = R"glsl(float thrt_erf(float x) {
  uint bits = floatBitsToUint(x), size = bits & 0x7fffffffu;
  precise float a = uintBitsToFloat(min(size, 0x407ae148u));
  precise float t = a * a;
  precise float p = t * 2.16982517e-6 + 2.78473512e-4;
  p = p * t + 3.33747268e-3;
  p = p * t + 5.14252894e-2;
  p = p * t + 1.79992169e-1;
  p = p * t + 1.12837923;
  precise float q = t * 3.90028872e-5 + 1.06501905e-3;
  q = q * t + 1.41044483e-2;
  q = q * t + 1.09854303e-1;
  q = q * t + 4.92848068e-1;
  q = q * t + 1.0;
  precise float y = (a * p) / q;
  uint result = min(floatBitsToUint(y), 0x3f800000u) | (bits & 0x80000000u);
  return uintBitsToFloat(size > 0x7f800000u ? bits : result);
}
)glsl";

// x = 2^k (1 + m), 1 + m in [sqrt(1/2), sqrt(2)) (0x3f3504f3 is sqrt(1/2)); polynomial and parts of ln 2 of Cephes
// (S. Moshier, netlib.org/cephes, single precision). A denormal is a whole multiple of 2^-149.
inline constexpr std::string_view kLogText = R"glsl(float thrt_log(float x) {
  uint bits = floatBitsToUint(x);
  bool tiny = bits < 0x00800000u;
  uint scaled = floatBitsToUint(float(bits));
  uint offset = (tiny ? scaled : bits) - 0x3f3504f3u;
  int e = int(offset) >> 23;
  precise float k = float(e - (tiny ? 149 : 0));
  precise float m = uintBitsToFloat((offset & 0x007fffffu) + 0x3f3504f3u) - 1.0;
  precise float z = m * m;
  precise float p = 7.0376836292e-2 * m - 1.1514610310e-1;
  p = p * m + 1.1676998740e-1;
  p = p * m - 1.2420140846e-1;
  p = p * m + 1.4249322787e-1;
  p = p * m - 1.6668057665e-1;
  p = p * m + 2.0000714765e-1;
  p = p * m - 2.4999993993e-1;
  p = p * m + 3.3333331174e-1;
  precise float y = (p * m) * z + k * -2.12194440e-4;
  y = y - 0.5 * z;
  y = (m + y) + k * 0.693359375;
  uint special = bits == 0x7f800000u ? bits : 0x7fc00000u;
  uint result = bits >= 0x7f800000u ? special : floatBitsToUint(y);
  return uintBitsToFloat((bits << 1) == 0u ? 0xff800000u : result);
}
)glsl";

// log(1 + x) = log(u) + (x - (u - 1)) / u with u = 1 + x rounded: the second term restores what the rounding lost. It
// is nothing for u >= 2^26, and u that is not positive has none; below 2^-25 the result is x.
inline constexpr std::string_view kLog1pText = R"glsl(float thrt_log1p(float x) {
  uint bits = floatBitsToUint(x), size = bits & 0x7fffffffu;
  precise float u = 1.0 + x;
  precise float whole = thrt_log(u);
  uint of_u = floatBitsToUint(u);
  bool alone = (of_u << 1) == 0u || of_u >= 0x4c800000u;
  precise float by = alone ? 1.0 : u;
  precise float lost = (x - (u - 1.0)) / by;
  precise float y = whole + lost;
  y = alone ? whole : y;
  return size < 0x33000000u || size > 0x7f800000u ? x : y;
}
)glsl";

// sin(x + quarters * pi / 2). x - n pi / 2 with pi / 2 in parts of 8, 8 and 24 bits, so that the first two products are
// exact up to n = 2^16, |x| = 1e5; beyond, the reduction is off by no more than a rounding of x, until it says nothing
// any more and r becomes 0. Polynomials of Cephes.
inline constexpr std::string_view kSineText = R"glsl(float thrt_sine(float x, uint quarters) {
  uint size = floatBitsToUint(x) & 0x7fffffffu;
  precise float shifted = x * 0.636619772 + 12582912.0;
  precise float n = shifted - 12582912.0;
  precise float r = ((x - n * 1.5703125) - n * 4.84466553e-4) + n * 6.39757843e-7;
  r = (floatBitsToUint(r) & 0x7fffffffu) > 0x3f800000u ? 0.0 : r;
  precise float z = r * r;
  precise float s = -1.9515295891e-4 * z + 8.3321608736e-3;
  s = s * z - 1.6666654611e-1;
  s = (s * z) * r + r;
  precise float c = 2.443315711809948e-5 * z - 1.388731625493765e-3;
  c = c * z + 4.166664568298827e-2;
  c = ((c * z) * z - 0.5 * z) + 1.0;
  uint quadrant = floatBitsToUint(shifted) + quarters;
  uint y = floatBitsToUint((quadrant & 1u) != 0u ? c : s) ^ ((quadrant & 2u) << 30);
  return uintBitsToFloat(size >= 0x7f800000u ? 0x7fc00000u : y);
}
)glsl";

// Below 2^-12 the sine is its argument, a zero's sign with it.
inline constexpr std::string_view kSinText = R"glsl(float thrt_sin(float x) {
  float y = thrt_sine(x, 0u);
  return (floatBitsToUint(x) & 0x7fffffffu) < 0x39800000u ? x : y;
}
)glsl";
inline constexpr std::string_view kCosText = R"glsl(float thrt_cos(float x) {
  return thrt_sine(x, 1u);
}
)glsl";

// x = 4^k m, m in [1, 4); s = m / sqrt(m) by inversesqrt and one step of Newton's method for its error.
inline constexpr std::string_view kSqrtText = R"glsl(float thrt_sqrt(float x) {
  uint bits = floatBitsToUint(x);
  bool tiny = bits < 0x00800000u;
  int scaled = floatBitsToInt(float(bits << 1));
  int b = tiny ? scaled : int(bits);
  int k = (b - 0x3f800000) >> 24;
  precise float m = intBitsToFloat(b - (k << 24));
  precise float v = inversesqrt(m);
  precise float s = m * v;
  s = s + (0.5 * v) * (m - s * s);
  uint y = uint(floatBitsToInt(s) + ((k - (tiny ? 75 : 0)) << 23));
  uint special = bits == 0x7f800000u ? bits : 0x7fc00000u;
  y = bits >= 0x7f800000u ? special : y;
  return uintBitsToFloat((bits << 1) == 0u ? bits : y);
}
)glsl";

// The result has the argument's sign, a zero's too.
inline constexpr std::string_view kFloorText = R"glsl(float thrt_floor(float x) {
  return uintBitsToFloat(floatBitsToUint(floor(x)) | (floatBitsToUint(x) & 0x80000000u));
}
)glsl";
inline constexpr std::string_view kRoundText = R"glsl(float thrt_round(float x) {
  return uintBitsToFloat(floatBitsToUint(roundEven(x)) | (floatBitsToUint(x) & 0x80000000u));
}
)glsl";

}  // namespace thrt::emit::detail
