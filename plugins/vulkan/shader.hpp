// GLSL compute shaders to SPIR-V for Vulkan 1.2, by glslang, which is linked in: the libshaderc.so.1 of Debian 12 cannot be opened at
// run time (its references to glslang stay open). No optimiser: drivers optimise themselves; on lavapipe spirv-opt -O makes neither
// pipelines nor first launches quicker, and takes five times as long as compiling.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace thrt_vulkan {

using Words = std::vector<std::uint32_t>;

// What the arithmetic of a shader in f32 must keep to, where the device can promise it (VkPhysicalDeviceFloatControlsProperties).
struct FloatControls {
  bool signed_zero_inf_nan_preserve = false;
  bool rounding_rte = false;
};

// While one is alive, shaders can be compiled. From any thread.
class ShaderCompiler {
 public:
  ShaderCompiler();
  ShaderCompiler(const ShaderCompiler&) = delete;
  ShaderCompiler& operator=(const ShaderCompiler&) = delete;
  ~ShaderCompiler();

  // `name` is for the error message: INTERNAL with the compiler's log.
  Words compile(const std::string& name, const std::string& text, const FloatControls& controls) const;
  // Of what compile() returns: part of the key of a cache.
  static std::string version();
};

// Asks for the float controls in the SPIR-V module's words, where it does not ask for them already.
void add_float_controls(Words& module, const FloatControls& controls);

}  // namespace thrt_vulkan
