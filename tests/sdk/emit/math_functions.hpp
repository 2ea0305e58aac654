// The functions of thrt/emit/math.hpp, compiled as C++ for the device of glsl_device.hpp.
#pragma once

#include "glsl_device.hpp"

#include <thrt/emit/math.hpp>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace thrt::testing {

class MathFunctions {
 public:
  using Unary = void (*)(const float* x, float* result, std::size_t count);
  using Binary = void (*)(const float* x, const float* y, float* result, std::size_t count);

  // `folder` has glsl_device.hpp.
  MathFunctions(const std::string& compiler, const std::string& folder) {
    std::string text = "#include \"" + folder + "/glsl_device.hpp\"\n#include <cstddef>\n";
    text += "#define float GlslFloat\n#define precise\n";
    for (const emit::MathFunction& function : emit::kMathFunctions) text += function.text;
    text += "#undef float\n";
    for (const char* name : kUnary) {
      text += std::string("extern \"C\" void run_") + name +
              "(const float* x, float* result, std::size_t count) {\n"
              "  for (std::size_t i = 0; i < count; ++i) result[i] = thrt_" +
              name + "(x[i]).value();\n}\n";
    }
    for (const char* name : kBinary) {
      text += std::string("extern \"C\" void run_") + name +
              "(const float* x, const float* y, float* result, std::size_t count) {\n"
              "  for (std::size_t i = 0; i < count; ++i) result[i] = thrt_" +
              name + "(x[i], y[i]).value();\n}\n";
    }
    const std::string base = ::testing::TempDir() + "thrt_math_" + std::to_string(getpid());
    std::ofstream(base + ".cpp") << text;
    const std::string command =
        compiler + " -std=c++20 -O2 -w -fPIC -shared -ffp-contract=off -o " + base + ".so " + base + ".cpp";
    const int code = std::system(command.c_str());
    EXPECT_EQ(code, 0) << command;
    library_ = dlopen((base + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library_, nullptr) << dlerror();
    std::remove((base + ".so").c_str());
    std::remove((base + ".cpp").c_str());
  }
  MathFunctions(const MathFunctions&) = delete;
  MathFunctions& operator=(const MathFunctions&) = delete;
  ~MathFunctions() {
    if (library_ != nullptr) dlclose(library_);
  }

  // "exp", "tanh" and so on.
  Unary unary(const std::string& name) const { return reinterpret_cast<Unary>(find("run_" + name)); }
  Binary binary(const std::string& name) const { return reinterpret_cast<Binary>(find("run_" + name)); }
  GlslDevice& device() const { return *static_cast<GlslDevice*>(find("glsl_device")); }

  static constexpr const char* kUnary[] = {"exp", "sigmoid", "tanh", "erf",   "log",  "log1p",
                                           "sin", "cos",     "sqrt", "floor", "round"};
  static constexpr const char* kBinary[] = {"div", "pow", "fmod"};

 private:
  void* find(const std::string& symbol) const {
    void* found = library_ == nullptr ? nullptr : dlsym(library_, symbol.c_str());
    if (found == nullptr) ADD_FAILURE() << symbol;
    return found;
  }
  void* library_ = nullptr;
};

}  // namespace thrt::testing
