// One number in the bytes of a dtype, and back: what constants are made of.
#pragma once

#include <thrt/ir/type.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace thrt {

// Rounded to nearest even, as ops.def's cast does; integers are truncated.
std::vector<std::byte> scalar_bytes(double value, ir::DType dtype);
double scalar_value(std::span<const std::byte> bytes, ir::DType dtype);

}  // namespace thrt
