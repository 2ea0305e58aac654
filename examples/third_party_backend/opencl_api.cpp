#include "opencl_api.hpp"

#include <thrt/sdk/error.hpp>

#include <dlfcn.h>

namespace thrt_opencl {

Api load_api() {
  const KeepSignalHandlers keep;
  Api api;
  // Never closed: drivers start threads and do not survive being unloaded. Opening it again costs nothing.
  void* library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    api.missing =
        "libOpenCL.so.1 not found; install an OpenCL loader and driver, on Debian ocl-icd-libopencl1 and "
        "pocl-opencl-icd";
    return api;
  }
#define THRT_FIND(name)                                                   \
  api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, #name)); \
  if (api.name == nullptr) api.missing = "libOpenCL.so.1 has no " #name "; OpenCL 1.2 is needed";
  THRT_OPENCL_FUNCTIONS(THRT_FIND)
#undef THRT_FIND
  return api;
}

std::mutex KeepSignalHandlers::one_at_a_time;

KeepSignalHandlers::KeepSignalHandlers() {
  for (std::size_t number = 1; number < handlers_.size(); ++number) {
    sigaction(static_cast<int>(number), nullptr, &handlers_[number]);
  }
}

KeepSignalHandlers::~KeepSignalHandlers() {
  for (std::size_t number = 1; number < handlers_.size(); ++number) {
    sigaction(static_cast<int>(number), &handlers_[number], nullptr);
  }
}

void check(cl_int code, const char* function) {
  if (code == CL_SUCCESS) return;
  thrt_status status = THRT_INTERNAL;
  std::string what = "answered " + std::to_string(code);
  switch (code) {
    case CL_OUT_OF_HOST_MEMORY:
    case CL_OUT_OF_RESOURCES:
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
      status = THRT_OUT_OF_MEMORY;
      what = "is out of memory (" + std::to_string(code) + ")";
      break;
    case CL_DEVICE_NOT_AVAILABLE:
    case CL_INVALID_COMMAND_QUEUE:
    case CL_INVALID_CONTEXT:
      status = THRT_DEVICE_LOST;
      what = "finds no device any more (" + std::to_string(code) + ")";
      break;
    default:
      break;
  }
  throw thrt::sdk::Error(status, std::string(function) + " " + what).native(function, code);
}

}  // namespace thrt_opencl
