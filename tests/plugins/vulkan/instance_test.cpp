// Which devices are listed, what is said where there are none, and that the process is left as it was.
#include "device_fixture.hpp"

#include <unistd.h>

#include <array>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace thrt_vulkan {
namespace {

TEST(LoaderTest, WithoutTheLibraryTheReasonNamesItAndItsPackage) {
  const Loader loader = load_vulkan("libvulkan_that_is_absent.so.1");
  EXPECT_EQ(
      loader.missing,
      "libvulkan_that_is_absent.so.1 not found; install the Vulkan loader (on Debian libvulkan1) and a driver: the "
      "GPU vendor's, or mesa-vulkan-drivers");
  EXPECT_NE(load_vulkan("libdl.so.2").missing, "");  // a library that is no loader
}

TEST(CheckTest, EveryKindOfFailureHasItsStatus) {
  EXPECT_NO_THROW(check(VK_SUCCESS, "vkX"));
  EXPECT_NO_THROW(check(VK_TIMEOUT, "vkX"));
  const auto status = [](VkResult result) { return error_of([&] { check(result, "vkX"); }).status(); };
  EXPECT_EQ(status(VK_ERROR_DEVICE_LOST), THRT_DEVICE_LOST);
  EXPECT_EQ(status(VK_ERROR_OUT_OF_DEVICE_MEMORY), THRT_OUT_OF_MEMORY);
  EXPECT_EQ(status(VK_ERROR_OUT_OF_HOST_MEMORY), THRT_OUT_OF_MEMORY);
  EXPECT_EQ(status(VK_ERROR_UNKNOWN), THRT_INTERNAL);
  const thrt::sdk::Error error = error_of([] { check(VK_ERROR_DEVICE_LOST, "vkQueueSubmit"); });
  EXPECT_STREQ(error.native_api(), "vkQueueSubmit");
  EXPECT_EQ(error.native_code(), VK_ERROR_DEVICE_LOST);
  EXPECT_NE(std::string(error.what()).find("VK_ERROR_DEVICE_LOST"), std::string::npos);
}

class InstanceTest : public DeviceTest {};

TEST_F(InstanceTest, DevicesSayWhatTheyAre) {
  for (const Listed& listed : instance_->devices()) {
    const thrt_device_info& info = listed.info;
    EXPECT_NE(std::string(info.name), "");
    EXPECT_EQ(std::string(info.driver).rfind("Vulkan 1.", 0), 0u) << info.driver;
    if (info.available == 0) {
      EXPECT_NE(std::string(info.unavailable_reason), "");
      continue;
    }
    VkPhysicalDeviceProperties properties{};
    instance_->vk().vkGetPhysicalDeviceProperties(listed.physical, &properties);
    EXPECT_EQ(info.kind == THRT_DEVICE_SOFTWARE, properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU);
    EXPECT_STREQ(info.name, properties.deviceName);
    EXPECT_GT(info.memory_total, 0u);
    EXPECT_LE(info.memory_free, info.memory_total);
    EXPECT_EQ(info.max_buffer_bytes, listed.max_allocation_bytes);
    EXPECT_GT(info.max_buffer_bytes, 0u);
    EXPECT_GT(info.subgroup_size, 0u);
    EXPECT_LE(listed.abilities.min_subgroup_size, listed.abilities.max_subgroup_size);
    const std::uint32_t halves = 1u << THRT_DTYPE_F16 | 1u << THRT_DTYPE_BF16;
    EXPECT_EQ(info.storage_dtypes & halves, listed.abilities.storage_16bit ? halves : 0u);
    // The text is not cut.
    EXPECT_NE(std::string(info.architecture).find("cooperative matrix"), std::string::npos) << info.architecture;
    EXPECT_LT(std::strlen(info.architecture), sizeof info.architecture - 1);
  }
}

// The same device twice, and the driver of the first is broken.
TEST_F(InstanceTest, ABrokenDeviceTakesNothingFromTheOthers) {
  static VkPhysicalDevice device;
  static int calls;
  static InstanceTable working;
  device = listed_->physical;
  calls = 0;
  working = instance_->vk();
  InstanceTable vk = working;
  vk.vkEnumeratePhysicalDevices = [](VkInstance, std::uint32_t* count, VkPhysicalDevice* devices) {
    *count = 2;
    if (devices != nullptr) devices[0] = devices[1] = device;
    return VK_SUCCESS;
  };
  vk.vkEnumerateDeviceExtensionProperties = [](VkPhysicalDevice physical, const char* layer, std::uint32_t* count,
                                               VkExtensionProperties* extensions) {
    if (calls++ == 0) return VK_ERROR_OUT_OF_HOST_MEMORY;
    return working.vkEnumerateDeviceExtensionProperties(physical, layer, count, extensions);
  };
  const std::vector<Listed> list = list_devices(vk, nullptr);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].info.available, 0u);
  EXPECT_NE(std::string(list[0].info.unavailable_reason).find("VK_ERROR_OUT_OF_HOST_MEMORY"), std::string::npos);
  EXPECT_EQ(list[1].info.available, 1u);
}

TEST_F(InstanceTest, ADeviceWithTooFewStorageBuffersSaysSo) {
  static PFN_vkGetPhysicalDeviceProperties ask;
  static VkPhysicalDevice device;
  device = listed_->physical;
  InstanceTable vk = instance_->vk();
  ask = vk.vkGetPhysicalDeviceProperties;
  vk.vkEnumeratePhysicalDevices = [](VkInstance, std::uint32_t* count, VkPhysicalDevice* devices) {
    *count = 1;
    if (devices != nullptr) devices[0] = device;
    return VK_SUCCESS;
  };
  vk.vkGetPhysicalDeviceProperties = [](VkPhysicalDevice physical, VkPhysicalDeviceProperties* properties) {
    ask(physical, properties);
    properties->limits.maxPerStageDescriptorStorageBuffers = 4;  // what the specification guarantees
  };
  const std::vector<Listed> list = list_devices(vk, nullptr);
  EXPECT_EQ(list[0].info.available, 0u);
  EXPECT_STREQ(list[0].info.unavailable_reason, "its kernels have at most 4 storage buffers each; 8 are needed");
}

TEST_F(InstanceTest, ValidationIsReallyOn) {
  EXPECT_TRUE(instance_->validates());
  Memory memory(*device_, 256, 64, THRT_MEMORY_DEVICE, "test");
  const Pool pool(*device_);
  testing::internal::CaptureStderr();
  VkCommandBuffer wrong =
      commands(pool.get(), [&](VkCommandBuffer into) {  // two writes, and nothing says which is first
        device_->vk().vkCmdFillBuffer(into, memory.buffer(), 0, 256, 1);
        device_->vk().vkCmdFillBuffer(into, memory.buffer(), 0, 256, 2);
      });
  const thrt_ticket ticket = device_->stream().run({&wrong, 1}, 1);
  const thrt::sdk::Error error = error_of([&] { device_->stream().wait(ticket, UINT64_MAX); });
  EXPECT_EQ(error.status(), THRT_INTERNAL);
  EXPECT_NE(std::string(error.what()).find("WRITE_AFTER_WRITE"), std::string::npos) << error.what();
  const std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_EQ(printed.rfind("vulkan validation: ", 0), 0u) << printed;
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 1) << printed;
  EXPECT_TRUE(device_->stream().wait(ticket, UINT64_MAX));  // it was reported
}

TEST_F(InstanceTest, AMessageBetweenContextsFailsTheNextOne) {
  testing::internal::CaptureStderr();
  instance_->messages().add("a VkBuffer\nwas not destroyed");
  instance_->messages().add("another");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "vulkan validation: a VkBuffer was not destroyed\nvulkan validation: another\n");
  const thrt::sdk::Error error = error_of([&] { open(1 << 20); });
  EXPECT_EQ(error.status(), THRT_INTERNAL);
  EXPECT_STREQ(error.what(), "Vulkan validation (and 1 more on stderr): a VkBuffer was not destroyed");
  EXPECT_NO_THROW(open(1 << 20));
}

TEST_F(InstanceTest, OpenCloseAndOpenAgain) {
  for (int i = 0; i < 20; ++i) {
    device_.reset();
    instance_ = std::make_unique<Instance>();
    listed_ = first_available(*instance_);
    ASSERT_NE(listed_, nullptr);
    open(1 << 20);
    Memory memory(*device_, 1000, 64, THRT_MEMORY_DEVICE, "test");
    const Bytes sent = pattern(1000, 1);
    Bytes back(1000);
    device_->stream().upload(memory.region(), sent);
    device_->stream().read(memory.region(), back);
    ASSERT_EQ(back, sent);
    ASSERT_NO_THROW(instance_->messages().require_none());
  }
}

TEST_F(InstanceTest, SignalHandlersLocaleAndEnvironmentStayAsTheyWere) {
  device_.reset();
  instance_.reset();
  std::array<struct sigaction, 32> before{};
  for (int i = 1; i < 32; ++i) sigaction(i, nullptr, &before[static_cast<std::size_t>(i)]);
  const std::string locale = setlocale(LC_ALL, nullptr);
  std::vector<std::string> environment;
  for (char** each = environ; *each != nullptr; ++each) environment.push_back(*each);
  SetUp();
  for (int i = 1; i < 32; ++i) {
    struct sigaction now {};
    sigaction(i, nullptr, &now);
    EXPECT_EQ(now.sa_handler, before[static_cast<std::size_t>(i)].sa_handler) << "signal " << i;
  }
  EXPECT_EQ(locale, setlocale(LC_ALL, nullptr));
  std::vector<std::string> after;
  for (char** each = environ; *each != nullptr; ++each) after.push_back(*each);
  EXPECT_EQ(after, environment);
}

// ------------------------------------------------------------------------------------------ machines that have no driver

// Runs this program again with variables in front and gives the line that the case below prints.
std::string first_device_with(const std::string& variables) {
  std::array<char, 4096> self{};
  if (readlink("/proc/self/exe", self.data(), self.size() - 1) < 0) return "readlink failed";
  const std::string command = variables + " THRT_PRINT_FIRST_DEVICE=1 '" + self.data() +
                              "' --gtest_filter=NoDriverTest.PrintsTheFirstDevice --gtest_brief=1 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "popen failed";
  std::string output;
  std::array<char, 512> chunk{};
  while (std::fgets(chunk.data(), static_cast<int>(chunk.size()), pipe) != nullptr) output += chunk.data();
  pclose(pipe);
  const std::size_t begin = output.find("first device: ");
  return begin == std::string::npos ? output : output.substr(begin, output.find('\n', begin) - begin);
}

TEST(NoDriverTest, PrintsTheFirstDevice) {
  if (std::getenv("THRT_PRINT_FIRST_DEVICE") == nullptr) GTEST_SKIP() << "the cases below run this one";
  const Instance instance;
  const thrt_device_info& info = instance.devices()[0].info;
  std::printf("first device: %u %s: %s\n", info.available, info.name, info.unavailable_reason);
}

TEST(NoDriverTest, SaysThatThereIsNoDriverAndWhatToInstall) {
  const std::string line = first_device_with("VK_DRIVER_FILES=/nonexistent VK_ICD_FILENAMES=/nonexistent");
  EXPECT_EQ(line.rfind("first device: 0 any Vulkan device: no Vulkan driver found; install", 0), 0u) << line;
  EXPECT_NE(line.find("mesa-vulkan-drivers"), std::string::npos) << line;
}

TEST(NoDriverTest, AValidationLayerThatIsWantedAndAbsentIsNotLeftOut) {
  const std::string line =
      first_device_with("THRUST_VULKAN_VALIDATION=1 VK_LAYER_PATH=/nonexistent VK_EXPLICIT_LAYER_PATH=/nonexistent");
  if (line.find("no Vulkan driver found") != std::string::npos) GTEST_SKIP() << "no Vulkan driver";
  EXPECT_EQ(line,
            "first device: 0 any Vulkan device: THRUST_VULKAN_VALIDATION=1 asks for VK_LAYER_KHRONOS_validation, which "
            "is not "
            "installed; install vulkan-validationlayers");
}

}  // namespace
}  // namespace thrt_vulkan
