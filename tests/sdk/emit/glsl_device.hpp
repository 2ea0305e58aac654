// GLSL's words in C++ for a processor that behaves as badly as Vulkan lets a device: what the functions of
// thrt/emit/math.hpp must bear. Compile with -ffp-contract=off.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

struct GlslDevice {
  int division_ulps = 0;     // added to the rounded quotient; Vulkan allows an error of 2.5 for divisors up to 2^126
  int inversesqrt_ulps = 0;  // 2
  bool flushes = false;      // denormal operands and results are zeros
};
extern "C" {
inline GlslDevice glsl_device;
}

using uint = std::uint32_t;

class GlslFloat {
 public:
  GlslFloat() = default;
  GlslFloat(float value) : value_(value) {}
  explicit GlslFloat(int value) : value_(static_cast<float>(value)) {}
  explicit GlslFloat(uint value) : value_(static_cast<float>(value)) {}
  // What is out of the range is undefined in both languages; devices give some number.
  explicit operator int() const { return std::fabs(value_) < 0x1p31f ? static_cast<int>(value_) : 12345; }
  explicit operator uint() const { return value_ > -1.0f && value_ < 0x1p32f ? static_cast<uint>(value_) : 12345u; }
  float value() const { return value_; }
  float operand() const { return flushed(value_); }

  static GlslFloat result(float value) { return flushed(value); }
  static GlslFloat off_by(float value, int ulps) {
    const int size = std::bit_cast<int>(std::fabs(value));
    if (size == 0 || size >= kInfinityBits) return value;
    const int moved = std::clamp(size + ulps, 0, kInfinityBits);
    return flushed(std::copysign(std::bit_cast<float>(moved), value));
  }

 private:
  static constexpr int kInfinityBits = 0x7f800000;
  static float flushed(float value) {
    return glsl_device.flushes && std::fabs(value) < 0x1p-126f ? std::copysign(0.0f, value) : value;
  }
  float value_ = 0;
};

inline GlslFloat operator+(GlslFloat x, GlslFloat y) {
  return GlslFloat::result(x.operand() + y.operand());
}
inline GlslFloat operator-(GlslFloat x, GlslFloat y) {
  return GlslFloat::result(x.operand() - y.operand());
}
inline GlslFloat operator*(GlslFloat x, GlslFloat y) {
  return GlslFloat::result(x.operand() * y.operand());
}
inline GlslFloat operator/(GlslFloat x, GlslFloat y) {
  const float divisor = y.operand();
  if (std::fabs(divisor) > 0x1p126f && std::isfinite(divisor)) return std::copysign(0.0f, x.operand() * divisor);
  return GlslFloat::off_by(x.operand() / divisor, glsl_device.division_ulps);
}
inline GlslFloat operator-(GlslFloat x) {
  return -x.value();
}

inline uint floatBitsToUint(GlslFloat x) {
  return std::bit_cast<uint>(x.value());
}
inline int floatBitsToInt(GlslFloat x) {
  return std::bit_cast<int>(x.value());
}
inline GlslFloat uintBitsToFloat(uint x) {
  return std::bit_cast<float>(x);
}
inline GlslFloat intBitsToFloat(int x) {
  return std::bit_cast<float>(x);
}
template <class T>
inline T min(T x, T y) {
  return y < x ? y : x;
}
template <class T>
inline T max(T x, T y) {
  return y > x ? y : x;
}
inline GlslFloat inversesqrt(GlslFloat x) {
  const double exact = 1.0 / std::sqrt(static_cast<double>(x.operand()));
  return GlslFloat::off_by(static_cast<float>(exact), glsl_device.inversesqrt_ulps);
}
// Zeros without a sign, which they lose where a device need not preserve it.
inline GlslFloat floor(GlslFloat x) {
  return std::floor(x.operand()) + 0.0f;
}
inline GlslFloat roundEven(GlslFloat x) {
  return std::nearbyint(x.operand()) + 0.0f;
}
