// The text of the functions of two values; see math.hpp.
#pragma once

#include <string_view>

namespace thrt::emit::detail {

// A divisor that 1 / y would take to a denormal is made smaller, and x with it. What x loses by that is less than what
// the quotient can hold.
inline constexpr std::string_view kDivText = R"glsl(float thrt_div(float x, float y) {
  precise float scale = (floatBitsToUint(y) & 0x7fffffffu) > 0x7e800000u ? 5.9604645e-8 : 1.0;
  precise float q = (x * scale) / (y * scale);
  return q;
}
)glsl";

// The upper 12 bits of a mantissa: products of two such numbers are exact.
inline constexpr std::string_view kHeadText = R"glsl(float thrt_head(float x) {
  return uintBitsToFloat(floatBitsToUint(x) & 0xfffff000u);
}
)glsl";

// |x|^y = 2^(y log2 |x|), with the logarithm in two parts, as it needs 8 bits more than the result. |x| = 2^k m,
// m in [sqrt(1/2), sqrt(2)), log m = 2 atanh(s), s = (m - 1) / (m + 1), log2 |x| = k + (2 / ln 2) (s + s q), q minimax in
// s^2 (2.5e-11 of the logarithm). Which parts must be split, and how without fused products, is known from fdlibm's
// e_pow.c (Sun) and its successor for f32. y beyond 2^32 does what 2^32 does: every x but 1 over- or underflows.
inline constexpr std::string_view kPowText = R"glsl(float thrt_pow(float x, float y) {
  uint bits = floatBitsToUint(x), of_y = floatBitsToUint(y);
  uint size = bits & 0x7fffffffu, size_y = of_y & 0x7fffffffu;

  bool tiny = size < 0x00800000u;
  uint scaled = floatBitsToUint(float(size));
  uint offset = (tiny ? scaled : size) - 0x3f3504f3u;
  int e = int(offset) >> 23;
  precise float k = float(e - (tiny ? 149 : 0));
  precise float m = uintBitsToFloat((offset & 0x007fffffu) + 0x3f3504f3u);
  precise float f = m - 1.0;
  precise float g = m + 1.0;
  precise float g_head = thrt_head(g);
  precise float g_rest = m - (g_head - 1.0);
  precise float v = 1.0 / g;
  precise float s_head = thrt_head(f * v);
  precise float s_rest = ((f - s_head * g_head) - s_head * g_rest) * v;
  precise float s = s_head + s_rest;
  precise float z = s * s;
  precise float q = 1.2139409e-1 * z + 1.42493963e-1;
  q = q * z + 2.00004861e-1;
  q = (q * z + 3.33333313e-1) * z;
  precise float whole = 2.8857421875 * s_head;
  precise float rest = -3.52105722e-4 * s_head + 2.88539004 * (s_rest + s * q);
  precise float sum = k + whole;
  rest = (whole - (sum - k)) + rest;
  precise float log_head = thrt_head(sum + rest);
  precise float log_rest = rest - (log_head - sum);

  precise float c = uintBitsToFloat(min(size_y, 0x4f800000u) | (of_y & 0x80000000u));
  precise float c_head = thrt_head(c);
  precise float p_head = c_head * log_head;
  precise float p_rest = (c - c_head) * log_head + c * log_rest;
  uint of_p = floatBitsToUint(p_head), size_p = of_p & 0x7fffffffu;
  uint most = of_p < 0x80000000u ? 0x43004000u : 0x43170000u;
  p_head = uintBitsToFloat(min(size_p, most) | (of_p & 0x80000000u));
  p_rest = size_p > most ? 0.0 : p_rest;
  precise float shifted = (p_head + p_rest) + 12582912.0;
  precise float r = (p_head - (shifted - 12582912.0)) + p_rest;
  precise float p = 1.53267814e-4 * r + 1.33910251e-3;
  p = p * r + 9.61850584e-3;
  p = p * r + 5.55035956e-2;
  p = p * r + 2.40226477e-1;
  p = p * r + 6.93147182e-1;
  p = p * r + 1.0;
  int power = floatBitsToInt(p) + (floatBitsToInt(shifted) << 23);
  precise float low = intBitsToFloat(power + 0x20000000) * 5.42101086e-20;
  uint result = power < 0x00800000 ? floatBitsToUint(low) : uint(min(power, 0x7f800000));

  bool grows = (size > 0x3f800000u) == (of_y < 0x80000000u);
  result = size == 0u || size >= 0x7f800000u ? (grows ? 0x7f800000u : 0u) : result;
  precise float step = uintBitsToFloat(min(size_y, 0x4b800000u));
  uint steps = uint(step);
  bool is_whole = floatBitsToUint(float(steps)) == floatBitsToUint(step);
  bool negative = bits >= 0x80000000u;
  result |= negative && is_whole && (steps & 1u) != 0u ? 0x80000000u : 0u;
  bool outside = negative && !is_whole && size != 0u && size < 0x7f800000u;
  result = outside || size > 0x7f800000u || size_y > 0x7f800000u ? 0x7fc00000u : result;
  result = size_y == 0u || bits == 0x3f800000u ? 0x3f800000u : result;
  return uintBitsToFloat(result);
}
)glsl";

// (r 2^k) mod m of whole numbers, r and m below 2^24, r < m unless k = 0, k <= 24. The quotient by 1 / m in f32 (inv) is
// off by less than 10, so that what is left fits in 32 bits; of that the quotient is off by at most 1.
inline constexpr std::string_view kFmodStepText = R"glsl(uint thrt_fmod_step(uint r, uint k, uint m, float inv) {
  precise float q = (float(r) * uintBitsToFloat((127u + k) << 23)) * inv;
  int rest = int((r << k) - uint(q) * m);
  precise float again = floor(float(rest) * inv);
  rest -= int(again) * int(m);
  rest += rest < 0 ? int(m) : 0;
  rest -= rest >= int(m) ? int(m) : 0;
  return uint(rest);
}
)glsl";

// C's fmod, exactly, with denormals: both as whole numbers r and m times powers of two, and long division by 24 bits at a
// time, once when |x / y| < 2^24 and never more than 11 times. The result is r 2^(of_m - 150).
inline constexpr std::string_view kFmodText = R"glsl(float thrt_fmod(float x, float y) {
  uint bits = floatBitsToUint(x), size = bits & 0x7fffffffu, size_y = floatBitsToUint(y) & 0x7fffffffu;
  uint of_x = max(size >> 23, 1u), of_m = max(size_y >> 23, 1u);
  uint r = size - ((of_x - 1u) << 23), m = max(size_y - ((of_m - 1u) << 23), 1u);
  precise float inv = 1.0 / float(m);
  r = thrt_fmod_step(r, 0u, m, inv);
  int left = int(of_x) - int(of_m);
  while (left > 0) {
    r = thrt_fmod_step(r, uint(min(left, 24)), m, inv);
    left -= 24;
  }
  uint scaled = floatBitsToUint(float(r));
  int of_r = int(scaled >> 23) + int(of_m) - 150;
  uint normal = scaled + ((of_m - 150u) << 23);
  uint denormal = r << min(of_m - 1u, 31u);
  uint result = of_r >= 1 ? normal : denormal;
  result = r == 0u ? 0u : result;
  result = size < size_y ? size : result;
  result |= bits & 0x80000000u;
  return uintBitsToFloat(size >= 0x7f800000u || size_y > 0x7f800000u || size_y == 0u ? 0x7fc00000u : result);
}
)glsl";

}  // namespace thrt::emit::detail
