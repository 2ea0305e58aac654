// f16 and bf16 conversions for kernels: those of thrt/ir/float16.hpp under the sdk's name.
#pragma once

#include <thrt/ir/float16.hpp>

namespace thrt::sdk {

using ir::bf16_to_f32;
using ir::f16_to_f32;
using ir::f32_to_bf16;
using ir::f32_to_f16;
using ir::f64_to_bf16;
using ir::f64_to_f16;

}  // namespace thrt::sdk
