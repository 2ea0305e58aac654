// The precisions of products and convolutions: f32, or operands rounded to bf16 with f32 sums.
#pragma once

#include "kernels/kernels.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace thrt::cpu {

// THRT_PRECISION_...: why these kernels do not compute in it, or nothing.
std::optional<std::string> refuse_precision(std::uint32_t precision, const Kernels& kernels);

}  // namespace thrt::cpu
