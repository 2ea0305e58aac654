// The functions of thrt/emit/math.hpp as a Vulkan compiler reads them. Needs glslc, but no device.
#include <thrt/emit/math.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace thrt::testing {
namespace {

// The assembly of a shader; `ok` says whether there was nothing to complain about.
std::string assembly(const std::string& shader, bool& ok) {
  const std::string base = ::testing::TempDir() + "thrt_math_glsl_" + std::to_string(getpid());
  std::ofstream(base + ".comp") << shader;
  const std::string command =
      "glslc -S -Werror --target-env=vulkan1.2 -o '" + base + ".spvasm' '" + base + ".comp' 2> '" + base + ".log'";
  ok = std::system(command.c_str()) == 0;
  std::ostringstream text;
  text << std::ifstream(base + (ok ? ".spvasm" : ".log")).rdbuf();
  for (const char* end : {".comp", ".spvasm", ".log"}) std::remove((base + end).c_str());
  return text.str();
}

// Contracted to a fused operation or reordered, the two-part arithmetic of logarithms and reductions is wrong.
TEST(EmitMathGlsl, EveryOperationIsPrecise) {
  if (std::system("glslc --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "there is no glslc";
  std::string shader = "#version 450\nlayout(set = 0, binding = 0) buffer B { float b[]; };\n";
  for (const emit::MathFunction& function : emit::kMathFunctions) shader += function.text;
  shader += "void main() {\n";  // what is not called is left out
  for (const char* name : {"exp", "sigmoid", "tanh", "erf", "log", "log1p", "sin", "cos", "sqrt", "floor", "round"})
    shader += std::string("  b[0] = thrt_") + name + "(b[0]);\n";
  for (const char* name : {"div", "pow", "fmod"}) shader += std::string("  b[0] = thrt_") + name + "(b[0], b[1]);\n";
  bool ok = false;
  const std::string text = assembly(shader + "}\n", ok);
  ASSERT_TRUE(ok) << text;

  std::istringstream lines(text);
  std::set<std::string> precise;
  int operations = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first, second, third;
    words >> first >> second >> third;
    if (first == "OpDecorate" && third == "NoContraction") precise.insert(second);
    if (third != "OpFAdd" && third != "OpFSub" && third != "OpFMul" && third != "OpFDiv") continue;
    ++operations;
    EXPECT_TRUE(precise.count(first) == 1) << line;
  }
  EXPECT_GT(operations, 150);
}

// Each function is defined after those that it calls, and once.
TEST(EmitMathGlsl, CallsOnlyWhatStandsBefore) {
  std::set<std::string> defined;
  for (const emit::MathFunction& function : emit::kMathFunctions) {
    const std::string text(function.text);
    const std::string name(function.name);
    EXPECT_EQ(emit::math_text(name), text);
    EXPECT_TRUE(defined.insert(name).second);
    for (std::size_t at = text.find("thrt_"); at != std::string::npos; at = text.find("thrt_", at + 1)) {
      const std::string called = text.substr(at, text.find('(', at) - at);
      EXPECT_EQ(defined.count(called), 1u) << name << " calls " << called;
    }
  }
  EXPECT_EQ(emit::math_text("thrt_nothing"), "");
}

}  // namespace
}  // namespace thrt::testing
