// Mathematical functions as GLSL 4.50, for ops whose errors ops.def bounds closer than Vulkan bounds the built-ins (The
// Vulkan Specification, "Precision and Operation of SPIR-V Instructions").
//
// They rely on: +, -, * rounded to nearest, each by itself (`precise`, SPIR-V's NoContraction); the difference, the product
// and the conversions of whole numbers exact; x / y within 2.5 ulps for |y| in [2^-126, 2^126]; inversesqrt within 2 ulps.
// Denormal operands and results may be flushed; a device that keeps them gets them right. NaN, infinity and the sign of
// zero are decided on bits, but thrt_div, and floor and round with NaN and infinity, give what the device's do. No 64-bit
// types; selections, and in fmod alone a loop.
//
// Largest errors in ulps of all f32, or for pow and fmod of 3.5e7 pairs of all magnitudes (tests/sdk/emit/math_test.cpp),
// where division and inversesqrt are rounded correctly, and where they are off by as much as they may:
//
//   exp      1.0         log      0.9         sqrt   0.8, 0.9     fmod, floor, round  exact
//   sigmoid  2.5, 5.0    log1p    1.5, 4.5    div    0.5, 2.5
//   tanh     5.9, 7.9    erf      7.8, 9.8    pow    3.3
//   sin, cos 2^-23.6 absolute for |x| <= 1e5 (1 ulp for |x| <= 0.7); beyond, that of an x off by a rounding, then any
//            number in [-1, 1]
#pragma once

#include <thrt/emit/math_binary.hpp>
#include <thrt/emit/math_unary.hpp>

#include <string>
#include <string_view>

namespace thrt::emit {

struct MathFunction {
  std::string_view name, text;
};

inline constexpr MathFunction kMathFunctions[] = {
    {"thrt_exp", detail::kExpText},     {"thrt_sigmoid", detail::kSigmoidText},
    {"thrt_tanh", detail::kTanhText},   {"thrt_erf", detail::kErfText},
    {"thrt_log", detail::kLogText},     {"thrt_log1p", detail::kLog1pText},
    {"thrt_sine", detail::kSineText},   {"thrt_sin", detail::kSinText},
    {"thrt_cos", detail::kCosText},     {"thrt_sqrt", detail::kSqrtText},
    {"thrt_floor", detail::kFloorText}, {"thrt_round", detail::kRoundText},
    {"thrt_div", detail::kDivText},     {"thrt_head", detail::kHeadText},
    {"thrt_pow", detail::kPowText},     {"thrt_fmod_step", detail::kFmodStepText},
    {"thrt_fmod", detail::kFmodText},
};

// The definition of one function, which calls others only as thrt_NAME(; empty if it is none of these.
inline std::string math_text(std::string_view name) {
  for (const MathFunction& function : kMathFunctions) {
    if (function.name == name) return std::string(function.text);
  }
  return "";
}

}  // namespace thrt::emit
