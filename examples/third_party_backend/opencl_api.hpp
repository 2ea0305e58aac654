// The functions of OpenCL 1.2 that this backend calls, found at run time: a plugin that links libOpenCL would not load where there is
// none, and could not say so.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <array>
#include <csignal>
#include <mutex>
#include <string>
#include <utility>

namespace thrt_opencl {

// clang-format off
#define THRT_OPENCL_FUNCTIONS(X)                                                                       \
  X(clGetPlatformIDs) X(clGetPlatformInfo) X(clGetDeviceIDs) X(clGetDeviceInfo) X(clCreateContext)     \
  X(clReleaseContext) X(clCreateCommandQueue) X(clReleaseCommandQueue) X(clCreateBuffer)               \
  X(clReleaseMemObject) X(clCreateProgramWithSource) X(clBuildProgram) X(clGetProgramBuildInfo)        \
  X(clReleaseProgram) X(clCreateKernel) X(clReleaseKernel) X(clSetKernelArg) X(clEnqueueNDRangeKernel) \
  X(clEnqueueWriteBuffer) X(clEnqueueReadBuffer) X(clEnqueueCopyBuffer) X(clEnqueueFillBuffer)         \
  X(clEnqueueMarkerWithWaitList) X(clSetEventCallback) X(clReleaseEvent) X(clFlush) X(clFinish)
// clang-format on

struct Api {
  std::string missing;  // why there is no OpenCL here, or ""
#define THRT_DECLARE(name) decltype(&::name) name = nullptr;
  THRT_OPENCL_FUNCTIONS(THRT_DECLARE)
#undef THRT_DECLARE
};

Api load_api();

// Throws sdk::Error with OpenCL's code and function, unless code is CL_SUCCESS.
void check(cl_int code, const char* function);

// Calls a function of the table and checks what it answers: THRT_CL(api, clFinish, queue).
#define THRT_CL(api, function, ...) ::thrt_opencl::check((api).function(__VA_ARGS__), #function)

// Puts the handlers of signals back to what they were. A driver that brings LLVM along installs LLVM's when it starts and
// when it compiles; a backend must leave them alone. One at a time: two contexts may compile side by side, and the second
// would take LLVM's handlers for the host's.
class KeepSignalHandlers {
 public:
  KeepSignalHandlers();
  KeepSignalHandlers(const KeepSignalHandlers&) = delete;
  KeepSignalHandlers& operator=(const KeepSignalHandlers&) = delete;
  ~KeepSignalHandlers();

 private:
  static std::mutex one_at_a_time;
  std::lock_guard<std::mutex> lock_{one_at_a_time};
  std::array<struct sigaction, 65> handlers_{};  // by number
};

// An OpenCL object that is released with it.
template <typename T>
class Handle {
 public:
  Handle() = default;
  Handle(T object, cl_int(CL_API_CALL* release)(T)) : object_(object), release_(release) {}
  Handle(Handle&& other) noexcept : object_(std::exchange(other.object_, nullptr)), release_(other.release_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~Handle() {
    if (object_ != nullptr) release_(object_);
  }
  T get() const { return object_; }

 private:
  T object_ = nullptr;
  cl_int(CL_API_CALL* release_)(T) = nullptr;
};

}  // namespace thrt_opencl
