// Kernels in GLSL are what a Vulkan compiler takes: every op, compiled with glslc where that is installed. Needs no device.
#include "every_kernel.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace thrt::testing {
namespace {

// One call of the compiler for all: starting it takes longer than what it does for a kernel.
void expect_compiles(DType half) {
  if (std::system("glslc --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "there is no glslc";
  const std::map<std::string, emit::Kernel> kernels = every_kernel(emit::glsl(), half);
  ASSERT_GT(kernels.size(), 200u);
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / ("thrt_glsl_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  for (const auto& [text, kernel] : kernels) {
    const emit::Kernel* const one[] = {&kernel};
    std::ofstream(folder / (kernel.name + ".comp")) << emit::translation_unit(emit::glsl(), one);
  }
  const std::string command = "cd '" + folder.string() + "' && glslc -c -Werror --target-env=vulkan1.2 *.comp 2> log";
  const int code = std::system(command.c_str());
  std::ifstream log(folder / "log");
  EXPECT_EQ(code, 0) << std::string(std::istreambuf_iterator<char>(log), {}).substr(0, 3000);
  std::size_t modules = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    modules += entry.path().extension() == ".spv" && entry.file_size() > 0 ? 1 : 0;
  EXPECT_EQ(modules, kernels.size());
  std::filesystem::remove_all(folder);
}

TEST(EmitGlsl, EveryOpCompilesWithF16) {
  expect_compiles(DType::kF16);
}

TEST(EmitGlsl, EveryOpCompilesWithBf16) {
  expect_compiles(DType::kBF16);
}

}  // namespace
}  // namespace thrt::testing
