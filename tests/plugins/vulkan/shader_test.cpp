// SPIR-V from GLSL: float controls in their places, errors that name the kernel, several threads at once.
#include "../../../plugins/vulkan/shader.hpp"

#include <thrt/sdk/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

namespace thrt_vulkan {
namespace {

using testing::HasSubstr;

std::string shader(const std::string& body, const std::string& head = "") {
  return "#version 450\n" + head +
         "layout(local_size_x = 64) in;\n"
         "layout(set = 0, binding = 0) readonly buffer A { float a[]; };\n"
         "layout(set = 0, binding = 1) buffer B { float b[]; };\n"
         "void main() { const uint i = gl_GlobalInvocationID.x; " +
         body + " }\n";
}

// Instructions of a module, in order: {opcode, operands...}.
std::vector<std::vector<std::uint32_t>> instructions(const Words& module) {
  std::vector<std::vector<std::uint32_t>> list;
  for (std::size_t at = 5; at < module.size();) {
    const std::size_t length = module[at] >> 16;
    std::vector<std::uint32_t> one(module.begin() + static_cast<std::ptrdiff_t>(at),
                                   module.begin() + static_cast<std::ptrdiff_t>(at + length));
    one[0] &= 0xffff;
    list.push_back(one);
    at += length;
  }
  return list;
}

constexpr std::uint32_t kOpEntryPoint = 15, kOpExecutionMode = 16, kOpCapability = 17;

TEST(ShaderTest, AsksForFloatControlsWhereTheSpecificationWantsThem) {
  const ShaderCompiler compiler;
  const std::string text = shader("b[i] = a[i] + 1.0;");
  const Words plain = compiler.compile("k", text, {false, false});
  for (const auto& each : instructions(plain)) {
    EXPECT_FALSE(each[0] == kOpCapability && (each[1] == 4466 || each[1] == 4467));
  }
  const auto list = instructions(compiler.compile("k", text, {true, true}));
  ASSERT_EQ(list.size(), instructions(plain).size() + 4);
  // The layout of a module: capabilities first; execution modes right after the entry point, before all else.
  std::vector<std::uint32_t> capabilities, modes;
  std::size_t last_capability = 0, entry = 0, last_mode = 0, first_mode = list.size();
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i][0] == kOpCapability) {
      capabilities.push_back(list[i][1]);
      last_capability = i;
    } else if (list[i][0] == kOpEntryPoint) {
      entry = i;
    } else if (list[i][0] == kOpExecutionMode) {
      modes.push_back(list[i][2]);
      EXPECT_EQ(list[i][1], list[entry][2]) << "of another entry point";
      if (list[i][2] == 4461 || list[i][2] == 4462) {
        EXPECT_EQ(list[i][3], 32u);
      }
      first_mode = std::min(first_mode, i);
      last_mode = i;
    }
  }
  EXPECT_EQ(last_capability + 1, capabilities.size());
  EXPECT_EQ(entry + 1, first_mode);
  EXPECT_EQ(last_mode - first_mode + 1, modes.size());
  EXPECT_EQ(std::count(capabilities.begin(), capabilities.end(), 4466), 1);
  EXPECT_EQ(std::count(capabilities.begin(), capabilities.end(), 4467), 1);
  EXPECT_EQ(std::count(modes.begin(), modes.end(), 4461), 1);
  EXPECT_EQ(std::count(modes.begin(), modes.end(), 4462), 1);
}

TEST(ShaderTest, AsksOnceForWhatTheTextAsksFor) {
  const ShaderCompiler compiler;
  const std::string text =
      shader("b[i] = a[i];",
             "#extension GL_EXT_spirv_intrinsics : require\n"
             "spirv_execution_mode(extensions = [\"SPV_KHR_float_controls\"], capabilities = [4466], 4461, 32);\n");
  int modes = 0;
  for (const auto& each : instructions(compiler.compile("k", text, {true, false}))) {
    modes += each[0] == kOpExecutionMode && each[2] == 4461;
  }
  EXPECT_EQ(modes, 1);
}

TEST(ShaderTest, AnErrorNamesTheKernelAndTheLine) {
  const ShaderCompiler compiler;
  try {
    static_cast<void>(compiler.compile("matmul_0123", shader("\nb[i] = nothing;"), {}));
    FAIL() << "compiled";
  } catch (const thrt::sdk::Error& e) {
    EXPECT_EQ(e.status(), static_cast<thrt_status>(THRT_INTERNAL));
    EXPECT_THAT(e.what(), HasSubstr("matmul_0123"));
    EXPECT_THAT(e.what(), HasSubstr("nothing"));
    EXPECT_THAT(e.what(), HasSubstr(":6"));
  }
}

TEST(ShaderTest, RefusesWhatIsNoModule) {
  Words words = {1, 2, 3};
  EXPECT_THROW(add_float_controls(words, {true, true}), thrt::sdk::Error);
  Words cut = ShaderCompiler().compile("k", shader("b[i] = a[i];"), {});
  cut.resize(6);  // in the middle of the first instruction
  EXPECT_THROW(add_float_controls(cut, {true, true}), thrt::sdk::Error);
}

TEST(ShaderTest, CompilesOnSeveralThreadsAtOnce) {
  const ShaderCompiler compiler;
  constexpr int kTexts = 12;
  std::vector<Words> alone(kTexts), beside(kTexts);
  const auto text = [](int i) { return shader("b[i] = a[i] * " + std::to_string(i) + ".5;"); };
  for (int i = 0; i < kTexts; ++i) alone[static_cast<std::size_t>(i)] = compiler.compile("k", text(i), {true, true});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = t; i < kTexts; i += 4) {
        beside[static_cast<std::size_t>(i)] = ShaderCompiler().compile("k", text(i), {true, true});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(alone, beside);
}

}  // namespace
}  // namespace thrt_vulkan
