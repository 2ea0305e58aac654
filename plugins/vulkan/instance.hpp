// A VkInstance and the devices it knows; the validation layers, when THRUST_VULKAN_VALIDATION=1 asks for them.
#pragma once

#include "listing.hpp"
#include "vulkan_api.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace thrt_vulkan {

// What the validation layers said. Any message is a bug of this backend. Each goes to stderr in one line when it comes,
// and the first that no call has reported yet fails the next wait(), or the next context's creation.
class ValidationMessages {
 public:
  void add(const std::string& text) noexcept;  // from any thread
  // Throws THRT_INTERNAL with the first message that was not reported; afterwards all are.
  void require_none();

 private:
  std::mutex mutex_;
  std::string first_;  // not reported yet
  std::uint64_t unreported_ = 0;
};

class Instance {
 public:
  // Never throws for a missing loader, driver or layer: devices() then has one entry that says so.
  Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  ~Instance();

  const std::vector<Listed>& devices() const { return devices_; }  // at least one, at most 64
  const InstanceTable& vk() const { return vk_; }
  bool validates() const { return validates_; }
  ValidationMessages& messages() const { return *messages_; }

 private:
  std::string create();  // "" or why there is no instance

  Loader loader_;
  VkInstance instance_ = nullptr;
  InstanceTable vk_;
  VkDebugUtilsMessengerEXT messenger_ = nullptr;
  bool validates_ = false;
  std::unique_ptr<ValidationMessages> messages_ = std::make_unique<ValidationMessages>();
  std::vector<Listed> devices_;
};

}  // namespace thrt_vulkan
