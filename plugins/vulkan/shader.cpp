#include "shader.hpp"

#include <thrt/sdk/error.hpp>

#include <glslang/Include/glslang_c_interface.h>
#include <glslang/Public/resource_limits_c.h>
#include <glslang/build_info.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>

namespace thrt_vulkan {

using thrt::sdk::Error;

namespace {

// Numbers of the SPIR-V specification, "Binary Form".
constexpr std::size_t kHeaderWords = 5;
constexpr std::uint32_t kMagic = 0x07230203;
constexpr std::uint32_t kOpEntryPoint = 15, kOpExecutionMode = 16, kOpCapability = 17;
constexpr std::uint32_t kCapabilitySignedZeroInfNanPreserve = 4466, kCapabilityRoundingModeRte = 4467;
constexpr std::uint32_t kModeSignedZeroInfNanPreserve = 4461, kModeRoundingModeRte = 4462;

constexpr std::uint32_t instruction(std::uint32_t words, std::uint32_t opcode) {
  return words << 16 | opcode;
}

Error failure(const std::string& name, const char* stage, const char* log) {
  return Error(THRT_INTERNAL, "kernel " + name + " does not " + stage + " as GLSL: " + (log != nullptr ? log : ""))
      .native("glslang", -1);
}

// glslang counts its users, but frees what they share after it has let go of its own lock: one that comes while the last one goes
// must wait.
std::mutex& glslang_users() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

ShaderCompiler::ShaderCompiler() {
  const std::lock_guard<std::mutex> lock(glslang_users());
  glslang_initialize_process();
}
ShaderCompiler::~ShaderCompiler() {
  const std::lock_guard<std::mutex> lock(glslang_users());
  glslang_finalize_process();
}

std::string ShaderCompiler::version() {
  return "glslang " + std::to_string(GLSLANG_VERSION_MAJOR) + "." + std::to_string(GLSLANG_VERSION_MINOR) + "." +
         std::to_string(GLSLANG_VERSION_PATCH);
}

Words ShaderCompiler::compile(const std::string& name, const std::string& text, const FloatControls& controls) const {
  glslang_input_t input{};
  input.language = GLSLANG_SOURCE_GLSL;
  input.stage = GLSLANG_STAGE_COMPUTE;
  input.client = GLSLANG_CLIENT_VULKAN;
  input.client_version = GLSLANG_TARGET_VULKAN_1_2;
  input.target_language = GLSLANG_TARGET_SPV;
  input.target_language_version = GLSLANG_TARGET_SPV_1_5;
  input.code = text.c_str();
  input.default_version = 450;
  input.default_profile = GLSLANG_NO_PROFILE;
  input.messages = static_cast<glslang_messages_t>(GLSLANG_MSG_SPV_RULES_BIT | GLSLANG_MSG_VULKAN_RULES_BIT);
  input.resource = glslang_default_resource();

  const std::unique_ptr<glslang_shader_t, void (*)(glslang_shader_t*)> shader(glslang_shader_create(&input),
                                                                              glslang_shader_delete);
  if (shader == nullptr) throw std::bad_alloc();
  if (glslang_shader_preprocess(shader.get(), &input) == 0 || glslang_shader_parse(shader.get(), &input) == 0) {
    throw failure(name, "compile", glslang_shader_get_info_log(shader.get()));
  }
  const std::unique_ptr<glslang_program_t, void (*)(glslang_program_t*)> program(glslang_program_create(),
                                                                                 glslang_program_delete);
  if (program == nullptr) throw std::bad_alloc();
  glslang_program_add_shader(program.get(), shader.get());
  if (glslang_program_link(program.get(), input.messages) == 0) {
    throw failure(name, "link", glslang_program_get_info_log(program.get()));
  }
  glslang_spv_options_t options{};
  options.disable_optimizer = true;
  glslang_program_SPIRV_generate_with_options(program.get(), input.stage, &options);
  const std::uint32_t* words = glslang_program_SPIRV_get_ptr(program.get());
  Words module(words, words + glslang_program_SPIRV_get_size(program.get()));
  add_float_controls(module, controls);
  return module;
}

void add_float_controls(Words& module, const FloatControls& controls) {
  if (module.size() < kHeaderWords || module[0] != kMagic) throw Error(THRT_INTERNAL, "not a SPIR-V module");
  std::size_t after_capabilities = kHeaderWords, after_modes = 0;
  std::uint32_t entry_point = 0;
  std::vector<std::uint32_t> has;  // execution modes
  for (std::size_t at = kHeaderWords; at < module.size();) {
    const std::uint32_t length = module[at] >> 16, opcode = module[at] & 0xffff;
    if (length == 0 || length > module.size() - at) throw Error(THRT_INTERNAL, "a cut SPIR-V module");
    if (opcode == kOpCapability) after_capabilities = at + length;
    if (opcode == kOpEntryPoint) entry_point = module[at + 2];
    if (opcode == kOpExecutionMode) has.push_back(module[at + 2]);
    if (opcode == kOpEntryPoint || opcode == kOpExecutionMode) after_modes = at + length;
    at += length;
  }
  if (after_modes == 0) throw Error(THRT_INTERNAL, "a SPIR-V module without an entry point");
  Words capabilities, modes;
  const auto ask = [&](std::uint32_t capability, std::uint32_t mode) {
    if (std::find(has.begin(), has.end(), mode) != has.end()) return;
    capabilities.insert(capabilities.end(), {instruction(2, kOpCapability), capability});
    modes.insert(modes.end(), {instruction(4, kOpExecutionMode), entry_point, mode, 32});  // of 32-bit floats
  };
  if (controls.signed_zero_inf_nan_preserve) {
    ask(kCapabilitySignedZeroInfNanPreserve, kModeSignedZeroInfNanPreserve);
  }
  if (controls.rounding_rte) ask(kCapabilityRoundingModeRte, kModeRoundingModeRte);
  // From the back, so that the places stay right.
  module.insert(module.begin() + static_cast<std::ptrdiff_t>(after_modes), modes.begin(), modes.end());
  module.insert(module.begin() + static_cast<std::ptrdiff_t>(after_capabilities), capabilities.begin(),
                capabilities.end());
}

}  // namespace thrt_vulkan
