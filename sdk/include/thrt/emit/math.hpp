// Mathematical functions as GLSL 4.50, for ops whose errors ops.def bounds closer than Vulkan bounds the built-ins (The
// Vulkan Specification, "Precision and Operation of SPIR-V Instructions").
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
