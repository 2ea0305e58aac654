#include "instance.hpp"

#include <thrt/sdk/error.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace thrt_vulkan {

using thrt::sdk::Error;

namespace {

constexpr char kValidationLayer[] = "VK_LAYER_KHRONOS_validation";

bool validation_wanted() {
  const char* value = std::getenv("THRUST_VULKAN_VALIDATION");
  return value != nullptr && std::string_view(value) == "1";
}

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data, void* messages) {
  static_cast<ValidationMessages*>(messages)->add(data->pMessage != nullptr ? data->pMessage : "(no text)");
  return VK_FALSE;  // the call goes on
}

VkDebugUtilsMessengerCreateInfoEXT messenger_info(ValidationMessages& messages) {
  VkDebugUtilsMessengerCreateInfoEXT info{VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
  info.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  info.pfnUserCallback = on_message;
  info.pUserData = &messages;
  return info;
}

std::string why_no_instance(VkResult result) {
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
    return "no Vulkan driver found; install the GPU vendor's driver, or mesa-vulkan-drivers, which also has one for "
           "the "
           "processor (llvmpipe); if VK_DRIVER_FILES or VK_ICD_FILENAMES is set, look where it points";
  }
  return "vkCreateInstance answered " + name_of(result) + "; see whether vulkaninfo (of vulkan-tools) works";
}

}  // namespace

void ValidationMessages::add(const std::string& text) noexcept {
  try {
    std::string line = text;
    std::replace_if(
        line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
    const std::lock_guard<std::mutex> lock(mutex_);
    std::fprintf(stderr, "vulkan validation: %s\n", line.c_str());
    if (unreported_++ == 0) first_ = std::move(line);
  } catch (...) {  // it was printed, or there is no memory for it
  }
}

void ValidationMessages::require_none() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (unreported_ == 0) return;
  const std::string more = unreported_ > 1 ? " (and " + std::to_string(unreported_ - 1) + " more on stderr)" : "";
  unreported_ = 0;
  throw Error(THRT_INTERNAL, "Vulkan validation" + more + ": " + std::exchange(first_, ""));
}

Instance::Instance() : loader_(load_vulkan()) {
  std::string reason = loader_.missing;
  const KeepSignalHandlers keep;
  try {
    if (reason.empty()) reason = create();
    if (reason.empty()) devices_ = list_devices(vk_, instance_);
  } catch (const Error& e) {  // a broken driver makes devices unavailable; it is no reason not to open
    reason = e.what();
  }
  if (reason.empty() && devices_.empty()) {
    reason =
        "the Vulkan driver has no device; install the GPU vendor's driver, or mesa-vulkan-drivers, which also has one "
        "for the processor";
  }
  if (devices_.empty()) devices_.push_back(unavailable(reason));
}

std::string Instance::create() {
  validates_ = validation_wanted();
  const char* layers[] = {kValidationLayer};
  const char* extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
  const VkValidationFeatureEnableEXT checks[] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
  VkDebugUtilsMessengerCreateInfoEXT messenger = messenger_info(*messages_);
  VkValidationFeaturesEXT features{VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT, &messenger, 1, checks, 0, nullptr};

  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.pApplicationName = "thrust";
  application.apiVersion = VK_API_VERSION_1_2;
  VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &application;
  if (validates_) {
    info.pNext = &features;  // the messenger in it hears what vkCreateInstance and vkDestroyInstance have to say
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = layers;
    info.enabledExtensionCount = 2;
    info.ppEnabledExtensionNames = extensions;
  }
  const VkResult result = loader_.vkCreateInstance(&info, nullptr, &instance_);
  if (result == VK_ERROR_LAYER_NOT_PRESENT || (validates_ && result == VK_ERROR_EXTENSION_NOT_PRESENT)) {
    return std::string("THRUST_VULKAN_VALIDATION=1 asks for ") + kValidationLayer +
           ", which is not installed; install vulkan-validationlayers";
  }
  if (result != VK_SUCCESS) return why_no_instance(result);
  try {
    vk_ = load_instance_functions(loader_, instance_);
  } catch (...) {
    const auto destroy =
        reinterpret_cast<PFN_vkDestroyInstance>(loader_.vkGetInstanceProcAddr(instance_, "vkDestroyInstance"));
    if (destroy != nullptr) destroy(instance_, nullptr);
    throw;
  }
  if (validates_) {
    const auto make = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
        loader_.vkGetInstanceProcAddr(instance_, "vkCreateDebugUtilsMessengerEXT"));
    if (make == nullptr) return "the Vulkan loader has no vkCreateDebugUtilsMessengerEXT";
    check(make(instance_, &messenger, nullptr, &messenger_), "vkCreateDebugUtilsMessengerEXT");
  }
  return "";
}

Instance::~Instance() {
  if (vk_.vkDestroyInstance == nullptr) return;
  if (messenger_ != nullptr) {
    const auto destroy = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
        loader_.vkGetInstanceProcAddr(instance_, "vkDestroyDebugUtilsMessengerEXT"));
    if (destroy != nullptr) destroy(instance_, messenger_, nullptr);
  }
  vk_.vkDestroyInstance(instance_, nullptr);
}

}  // namespace thrt_vulkan
