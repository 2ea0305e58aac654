#include "buffer.hpp"

#include <algorithm>

namespace thrt_opencl {

Memory::Memory(Device& device, std::uint64_t bytes, std::uint32_t memory_kind, const char* what)
    : device_(device), bytes_(bytes) {
  if (bytes > device.info.max_buffer_bytes) {
    throw thrt::sdk::Error(THRT_OUT_OF_MEMORY, std::string(what) + " of " + std::to_string(bytes) +
                                                   " bytes: this device's buffers have at most " +
                                                   std::to_string(device.info.max_buffer_bytes));
  }
  device.budget.take(bytes, what);
  cl_int code = CL_SUCCESS;
  const cl_mem_flags place = memory_kind == THRT_MEMORY_STAGING ? CL_MEM_ALLOC_HOST_PTR : 0;
  const std::size_t size = std::max<std::uint64_t>(bytes, 1);  // OpenCL knows no empty buffer
  memory_ =
      Handle<cl_mem>(device.api.clCreateBuffer(device.context.get(), CL_MEM_READ_WRITE | place, size, nullptr, &code),
                     device.api.clReleaseMemObject);
  if (code != CL_SUCCESS) device.budget.give_back(bytes);
  check(code, "clCreateBuffer");
}

Memory::~Memory() {
  device_.finish();
  device_.budget.give_back(bytes_);
}

}  // namespace thrt_opencl
