#include "device.hpp"

#include <thrt/emit/refuse.hpp>
#include <thrt/sdk/error.hpp>

#include <chrono>
#include <cstdio>

namespace thrt_opencl {

using thrt::sdk::Error;
using thrt::sdk::set_text;

namespace {

template <typename T>
T number(const Api& api, cl_device_id device, cl_device_info what) {
  T value{};
  THRT_CL(api, clGetDeviceInfo, device, what, sizeof value, &value, nullptr);
  return value;
}

std::string text(const Api& api, cl_device_id device, cl_device_info what) {
  std::size_t size = 0;
  THRT_CL(api, clGetDeviceInfo, device, what, 0, nullptr, &size);
  std::string value(size, '\0');
  THRT_CL(api, clGetDeviceInfo, device, what, size, value.data(), nullptr);
  return value.substr(0, value.find('\0'));
}

std::string why_unusable(const Api& api, cl_device_id device) {
  int major = 0, minor = 0;
  const std::string version = text(api, device, CL_DEVICE_VERSION);
  if (std::sscanf(version.c_str(), "OpenCL %d.%d", &major, &minor) != 2 || major * 10 + minor < 12) {
    return "it speaks " + version + "; 1.2 is needed";
  }
  if (text(api, device, CL_DEVICE_PROFILE) != "FULL_PROFILE") return "its embedded profile is not accurate enough";
  if (number<cl_bool>(api, device, CL_DEVICE_AVAILABLE) == 0) return "the driver says that it is not available";
  if (number<cl_bool>(api, device, CL_DEVICE_COMPILER_AVAILABLE) == 0) return "its driver has no compiler";
  if (number<cl_bool>(api, device, CL_DEVICE_ENDIAN_LITTLE) == 0) return "it is big-endian";
  return "";
}

thrt_device_info info_of(const Api& api, cl_device_id device) {
  thrt_device_info info{};
  const auto type = number<cl_device_type>(api, device, CL_DEVICE_TYPE);
  const bool shares_memory = number<cl_bool>(api, device, CL_DEVICE_HOST_UNIFIED_MEMORY) != 0;
  // A GPU's API on the processor: used only when it is named.
  info.kind = (type & CL_DEVICE_TYPE_CPU) != 0 ? THRT_DEVICE_SOFTWARE
              : shares_memory                  ? THRT_DEVICE_INTEGRATED
                                               : THRT_DEVICE_DISCRETE;
  info.compute_units = number<cl_uint>(api, device, CL_DEVICE_MAX_COMPUTE_UNITS);
  info.memory_total = number<cl_ulong>(api, device, CL_DEVICE_GLOBAL_MEM_SIZE);
  info.memory_free = info.memory_total;  // OpenCL does not tell
  info.max_buffer_bytes = number<cl_ulong>(api, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  info.storage_dtypes = thrt::emit::kPrintedDtypes;  // a bit 1 << THRT_DTYPE_X for each
  info.precisions = 1u << THRT_PRECISION_F32;
  info.subgroup_size = number<cl_uint>(api, device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
  set_text(info.name, text(api, device, CL_DEVICE_NAME));
  set_text(info.driver, text(api, device, CL_DEVICE_VERSION));
  set_text(info.architecture, text(api, device, CL_DEVICE_VENDOR));
  const std::string reason = why_unusable(api, device);
  info.available = reason.empty() ? 1 : 0;
  set_text(info.unavailable_reason, reason);
  return info;
}

Listed unavailable(const std::string& reason) {
  Listed listed;
  listed.info.kind = THRT_DEVICE_DISCRETE;
  set_text(listed.info.name, "any OpenCL device");
  set_text(listed.info.unavailable_reason, reason);
  return listed;
}

}  // namespace

std::vector<Listed> list_devices(const Api& api) {
  const KeepSignalHandlers keep;
  if (!api.missing.empty()) return {unavailable(api.missing)};
  std::vector<Listed> list;
  cl_platform_id platforms[16];
  cl_uint platform_count = 0;
  if (api.clGetPlatformIDs(16, platforms, &platform_count) != CL_SUCCESS) platform_count = 0;
  for (cl_uint p = 0; p < platform_count && p < 16; ++p) {
    cl_device_id devices[16];
    cl_uint count = 0;
    if (api.clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 16, devices, &count) != CL_SUCCESS) continue;
    for (cl_uint d = 0; d < count && d < 16 && list.size() < 64; ++d) {
      list.push_back({platforms[p], devices[d], info_of(api, devices[d])});
    }
  }
  if (list.empty())
    return {unavailable("no OpenCL device; install a driver, on Debian pocl-opencl-icd for the processor")};
  return list;
}

void Budget::take(std::uint64_t bytes, const char* what) {
  if (bytes > bytes_ - used_) {
    throw Error(THRT_OVER_BUDGET, std::string(what) + ": asked for " + std::to_string(bytes) + " bytes, in use " +
                                      std::to_string(used_) + " bytes of a budget of " + std::to_string(bytes_) +
                                      " bytes");
  }
  used_ += bytes;
  peak_ = used_ > peak_ ? used_ : peak_;
}

Tickets::~Tickets() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return calls_ == 0; });
}

thrt_ticket Tickets::add(cl_event event) {
  const Handle<cl_event> owned(event, api_.clReleaseEvent);
  Call* call = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    call = new Call{this, ++last_};
    ++calls_;
  }
  const thrt_ticket ticket = call->ticket;  // the call is gone once it was made
  const cl_int code = api_.clSetEventCallback(event, CL_COMPLETE, &Tickets::done, call);
  if (code != CL_SUCCESS) {
    const std::lock_guard<std::mutex> lock(mutex_);
    delete call;
    --calls_;
    check(code, "clSetEventCallback");
  }
  return ticket;
}

void CL_CALLBACK Tickets::done(cl_event, cl_int status, void* data) {
  const Call call = *static_cast<Call*>(data);
  delete static_cast<Call*>(data);
  if (status < 0) {
    Error lost(THRT_DEVICE_LOST, "queued work ended with OpenCL's code " + std::to_string(status));
    call.tickets->fail(call.ticket, std::make_exception_ptr(lost.native("clSetEventCallback", status)));
  }
  const std::lock_guard<std::mutex> lock(call.tickets->mutex_);
  if (call.ticket > call.tickets->reached_) call.tickets->reached_ = call.ticket;  // the queue is in order
  --call.tickets->calls_;
  call.tickets->changed_.notify_all();  // under the lock: afterwards the object may be gone
}

void Tickets::fail(thrt_ticket ticket, std::exception_ptr failure) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (failure_ != nullptr) return;  // the first is the cause
  failure_ = std::move(failure);
  failed_ = ticket;
}

bool Tickets::wait(thrt_ticket ticket, std::uint64_t timeout_ns) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (ticket > last_) throw Error(THRT_INVALID_ARGUMENT, "ticket " + std::to_string(ticket) + " was never handed out");
  const auto reached = [&] { return reached_ >= ticket; };
  constexpr std::uint64_t kForEver = std::uint64_t{1} << 60;  // 36 years; later ends overflow the clock
  if (timeout_ns >= kForEver) {
    changed_.wait(lock, reached);
  } else if (!changed_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), reached)) {
    return false;
  }
  if (failure_ != nullptr && failed_ <= ticket) std::rethrow_exception(std::exchange(failure_, nullptr));
  return true;
}

Device::Device(const Api& functions, const Listed& listed, std::uint64_t budget_bytes)
    : api(functions), id(listed.device), info(listed.info), budget(budget_bytes), tickets(functions) {
  const KeepSignalHandlers keep;
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                              reinterpret_cast<cl_context_properties>(listed.platform), 0};
  cl_int code = CL_SUCCESS;
  context = Handle<cl_context>(api.clCreateContext(properties, 1, &id, nullptr, nullptr, &code), api.clReleaseContext);
  check(code, "clCreateContext");
  queue = Handle<cl_command_queue>(api.clCreateCommandQueue(context.get(), id, 0, &code), api.clReleaseCommandQueue);
  check(code, "clCreateCommandQueue");
}

}  // namespace thrt_opencl
