#include "vulkan_api.hpp"

#include <thrt/sdk/error.hpp>

#include <dlfcn.h>

namespace thrt_vulkan {

using thrt::sdk::Error;

namespace {

template <typename Function>
Function required(PFN_vkVoidFunction found, const char* name) {
  if (found == nullptr) {
    throw Error(THRT_UNAVAILABLE, std::string("the Vulkan driver has no ") + name + "; Vulkan 1.2 is needed");
  }
  return reinterpret_cast<Function>(found);
}

}  // namespace

Loader load_vulkan(const char* library_name) {
  const KeepSignalHandlers keep;
  const std::string name = library_name;
  Loader loader;
  void* library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    loader.missing = name +
                     " not found; install the Vulkan loader (on Debian libvulkan1) and a driver: the GPU vendor's, or "
                     "mesa-vulkan-drivers";
    return loader;
  }
  loader.vkGetInstanceProcAddr = reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
  if (loader.vkGetInstanceProcAddr == nullptr) {
    loader.missing = name + " has no vkGetInstanceProcAddr: it is no Vulkan loader; reinstall libvulkan1";
    return loader;
  }
#define THRT_FIND(function)                                                                                  \
  loader.function = reinterpret_cast<PFN_##function>(loader.vkGetInstanceProcAddr(nullptr, #function));      \
  if (loader.function == nullptr) {                                                                          \
    loader.missing = name + " has no " #function ": it is older than Vulkan 1.1; a loader of 1.2 is needed"; \
  }
  THRT_VULKAN_GLOBAL_FUNCTIONS(THRT_FIND)
#undef THRT_FIND
  return loader;
}

InstanceTable load_instance_functions(const Loader& loader, VkInstance instance) {
  InstanceTable table;
#define THRT_FIND(name) table.name = required<PFN_##name>(loader.vkGetInstanceProcAddr(instance, #name), #name);
  THRT_VULKAN_INSTANCE_FUNCTIONS(THRT_FIND)
#undef THRT_FIND
  return table;
}

DeviceTable load_device_functions(const InstanceTable& instance, VkDevice device) {
  DeviceTable table;
#define THRT_FIND(name) table.name = required<PFN_##name>(instance.vkGetDeviceProcAddr(device, #name), #name);
  THRT_VULKAN_DEVICE_FUNCTIONS(THRT_FIND)
#undef THRT_FIND
  return table;
}

std::string name_of(VkResult result) {
  switch (result) {
#define THRT_NAME(name) \
  case name:            \
    return #name;
    THRT_NAME(VK_SUCCESS)
    THRT_NAME(VK_NOT_READY)
    THRT_NAME(VK_TIMEOUT)
    THRT_NAME(VK_INCOMPLETE)
    THRT_NAME(VK_ERROR_OUT_OF_HOST_MEMORY)
    THRT_NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY)
    THRT_NAME(VK_ERROR_OUT_OF_POOL_MEMORY)
    THRT_NAME(VK_ERROR_INITIALIZATION_FAILED)
    THRT_NAME(VK_ERROR_DEVICE_LOST)
    THRT_NAME(VK_ERROR_MEMORY_MAP_FAILED)
    THRT_NAME(VK_ERROR_LAYER_NOT_PRESENT)
    THRT_NAME(VK_ERROR_EXTENSION_NOT_PRESENT)
    THRT_NAME(VK_ERROR_FEATURE_NOT_PRESENT)
    THRT_NAME(VK_ERROR_INCOMPATIBLE_DRIVER)
    THRT_NAME(VK_ERROR_TOO_MANY_OBJECTS)
    THRT_NAME(VK_ERROR_FRAGMENTED_POOL)
    THRT_NAME(VK_ERROR_UNKNOWN)
#undef THRT_NAME
    default:
      return "VkResult " + std::to_string(static_cast<int>(result));
  }
}

void check(VkResult result, const char* function) {
  if (result >= 0) return;
  thrt_status status = THRT_INTERNAL;
  std::string what = " answered " + name_of(result);
  switch (result) {
    case VK_ERROR_DEVICE_LOST:
      status = THRT_DEVICE_LOST;
      what = ": the Vulkan device is lost (VK_ERROR_DEVICE_LOST): it was reset, removed, or hung on what it was given";
      break;
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
    case VK_ERROR_FRAGMENTED_POOL:
    case VK_ERROR_TOO_MANY_OBJECTS:
    case VK_ERROR_MEMORY_MAP_FAILED:
      status = THRT_OUT_OF_MEMORY;
      what = ": the Vulkan driver is out of memory (" + name_of(result) + ")";
      break;
    default:
      break;
  }
  throw Error(status, function + what).native(function, result);
}

std::mutex KeepSignalHandlers::one_at_a_time;

namespace {

// Those that LLVM takes (llvm/lib/Support/Unix/Signals.inc: IntSigs, KillSigs, InfoSigs, and SIGPIPE). Others are left alone: a thread of
// the host may change them in the meantime.
constexpr std::array kTaken = {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGILL,  SIGTRAP, SIGABRT,
                               SIGFPE, SIGBUS, SIGSEGV, SIGQUIT, SIGSYS,  SIGXCPU, SIGXFSZ, SIGPIPE};

bool same(const struct sigaction& a, const struct sigaction& b) {
  return (a.sa_flags & SA_SIGINFO) == (b.sa_flags & SA_SIGINFO) && a.sa_handler == b.sa_handler;
}

}  // namespace

KeepSignalHandlers::KeepSignalHandlers() {
  for (const int number : kTaken) sigaction(number, nullptr, &handlers_[static_cast<std::size_t>(number)]);
}

KeepSignalHandlers::~KeepSignalHandlers() {
  for (const int number : kTaken) {
    const struct sigaction& before = handlers_[static_cast<std::size_t>(number)];
    struct sigaction now {};
    sigaction(number, nullptr, &now);
    if (!same(before, now)) sigaction(number, &before, nullptr);
  }
}

}  // namespace thrt_vulkan
