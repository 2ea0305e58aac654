// Kernels in CUDA C are what NVIDIA's compiler takes: every op, compiled with NVRTC where that is installed. Needs no GPU.
#include "every_kernel.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <map>

namespace thrt::testing {
namespace {

// The part of nvrtc.h that is needed here; the library need not be there when this is compiled.
struct Nvrtc {
  using Program = struct _nvrtcProgram*;
  int (*create)(Program*, const char* text, const char* name, int, const char* const*, const char* const*) = nullptr;
  int (*compile)(Program, int options, const char* const*) = nullptr;
  int (*log_size)(Program, std::size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*destroy)(Program*) = nullptr;

  bool load() {
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so",
                             "/usr/local/cuda/lib/libnvrtc.so"}) {
      void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) continue;
      const auto find = [&](auto& function, const char* symbol) {
        function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, symbol));
        return function != nullptr;
      };
      return find(create, "nvrtcCreateProgram") && find(compile, "nvrtcCompileProgram") &&
             find(log_size, "nvrtcGetProgramLogSize") && find(log, "nvrtcGetProgramLog") &&
             find(destroy, "nvrtcDestroyProgram");
    }
    return false;
  }
};

TEST(EmitCuda, EveryOpCompiles) {
  Nvrtc nvrtc;
  if (!nvrtc.load()) GTEST_SKIP() << "there is no libnvrtc.so";
  std::map<std::string, emit::Kernel> kernels = every_kernel(emit::cuda_c(), DType::kF16);
  kernels.merge(every_kernel(emit::cuda_c(), DType::kBF16));
  std::vector<const emit::Kernel*> distinct;
  for (const auto& [text, kernel] : kernels) distinct.push_back(&kernel);
  ASSERT_GT(distinct.size(), 200u);
  const std::string text = emit::translation_unit(emit::cuda_c(), distinct);
  Nvrtc::Program program = nullptr;
  ASSERT_EQ(nvrtc.create(&program, text.c_str(), "kernels.cu", 0, nullptr, nullptr), 0);
  const char* const options[] = {"--std=c++17", "-default-device", "-arch=compute_80"};
  const int code = nvrtc.compile(program, 3, options);
  std::size_t size = 0;
  nvrtc.log_size(program, &size);
  std::string log(size, '\0');
  nvrtc.log(program, log.data());
  nvrtc.destroy(&program);
  EXPECT_EQ(code, 0) << log.substr(0, 3000);
}

}  // namespace
}  // namespace thrt::testing
