// Kernels in GLSL are what a Vulkan compiler takes: every op, compiled with shaderc where that is installed. Needs no device.
#include "every_kernel.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <map>
#include <type_traits>

namespace thrt::testing {
namespace {

// The part of shaderc.h that is needed here; the library need not be there when this is compiled.
struct Shaderc {
  using Compiler = struct shaderc_compiler*;
  using Options = struct shaderc_compile_options*;
  using Result = struct shaderc_compilation_result*;
  Compiler (*make)() = nullptr;
  Options (*make_options)() = nullptr;
  void (*set_target)(Options, int environment, std::uint32_t version) = nullptr;
  void (*set_warnings_as_errors)(Options) = nullptr;
  Result (*compile)(Compiler, const char*, std::size_t, int kind, const char* name, const char* entry,
                    Options) = nullptr;
  int (*status)(Result) = nullptr;
  const char* (*message)(Result) = nullptr;
  void (*release_result)(Result) = nullptr;
  void (*release_options)(Options) = nullptr;
  void (*release)(Compiler) = nullptr;

  bool load() {
    void* library = dlopen("libshaderc.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return false;
    const auto find = [&](auto& function, const char* symbol) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, symbol));
      return function != nullptr;
    };
    return find(make, "shaderc_compiler_initialize") && find(make_options, "shaderc_compile_options_initialize") &&
           find(set_target, "shaderc_compile_options_set_target_env") &&
           find(set_warnings_as_errors, "shaderc_compile_options_set_warnings_as_errors") &&
           find(compile, "shaderc_compile_into_spv") && find(status, "shaderc_result_get_compilation_status") &&
           find(message, "shaderc_result_get_error_message") && find(release_result, "shaderc_result_release") &&
           find(release_options, "shaderc_compile_options_release") && find(release, "shaderc_compiler_release");
  }
};

void expect_compiles(const emit::Dialect& dialect, DType half) {
  Shaderc shaderc;
  if (!shaderc.load()) GTEST_SKIP() << "there is no libshaderc.so.1";
  const std::map<std::string, emit::Kernel> kernels = every_kernel(dialect, half);
  ASSERT_GT(kernels.size(), 200u);
  const Shaderc::Compiler compiler = shaderc.make();
  const Shaderc::Options options = shaderc.make_options();
  shaderc.set_target(options, 0, 1u << 22 | 2u << 12);  // Vulkan 1.2
  shaderc.set_warnings_as_errors(options);
  int failures = 0;
  for (const auto& [key, kernel] : kernels) {
    const emit::Kernel* const one[] = {&kernel};
    const std::string text = emit::translation_unit(dialect, one);
    const Shaderc::Result result =
        shaderc.compile(compiler, text.c_str(), text.size(), 2, kernel.name.c_str(), "main", options);
    EXPECT_EQ(shaderc.status(result), 0) << shaderc.message(result) << text;
    failures += shaderc.status(result) != 0 ? 1 : 0;
    shaderc.release_result(result);
    if (failures == 3) break;
  }
  shaderc.release_options(options);
  shaderc.release(compiler);
}

TEST(EmitGlsl, EveryOpCompiles) {
  expect_compiles(emit::glsl(), DType::kF16);
}

TEST(EmitGlsl, EveryOpCompilesThatKeepsNan) {
  emit::GlslFeatures features;
  features.keeps_nan = true;
  expect_compiles(emit::glsl(features), DType::kBF16);
}

}  // namespace
}  // namespace thrt::testing
