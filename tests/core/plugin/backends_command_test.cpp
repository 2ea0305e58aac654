// What `thrust backends` prints.
#include <nlohmann/json.hpp>

#include "backends.hpp"
#include "plugin_folder.hpp"

namespace thrt::cli {
namespace {

using testing::HasSubstr;

Discovery found_in(const PluginFolder& folder) {
  folder.add("null");
  folder.add("wrong_major");
  return discover({{}, folder.path().string(), {"/no/such/folder"}}, test_prober());
}

TEST(BackendsCommand, TextNamesTheUsableTheUnusableAndThePlaces) {
  const PluginFolder folder;
  const std::string text = backends_as_text(found_in(folder));
  EXPECT_THAT(text, HasSubstr("null 1.0.0 by the Thrust RL tests, ABI 1.0: computes nothing\n  " +
                              folder.file("null").string() + "\n  0: null device (cpu)\n"));
  EXPECT_THAT(text, HasSubstr("\n      memory       1.0 GiB (1.0 GiB free), "));
  EXPECT_THAT(text, HasSubstr("\n      precisions   f32\n      values       f32 f16 bf16 i32 u32 u8 bool f64\n"));
  EXPECT_THAT(text, HasSubstr("not usable:\n  " + folder.file("wrong_major").string() +
                              "\n    built for ABI 2.3, this binary has ABI 1.0\n    try: upgrade thrust\n"));
  EXPECT_THAT(text, HasSubstr("looked in:\n  " + folder.path().string() +
                              " (THRUST_PLUGIN_PATH)\n  /no/such/folder (beside the binary, no such folder)\n"));
}

TEST(BackendsCommand, JsonIsOneObjectWithTheSame) {
  const PluginFolder folder;
  const nlohmann::json json = nlohmann::json::parse(backends_as_json(found_in(folder)));
  EXPECT_EQ(json["abi"], "1.0");
  ASSERT_EQ(json["backends"].size(), 1u);
  EXPECT_EQ(json["backends"][0]["id"], "null");
  EXPECT_EQ(json["backends"][0]["file"], folder.file("null").string());
  EXPECT_EQ(json["backends"][0]["devices"][0]["kind"], "cpu");
  EXPECT_EQ(json["backends"][0]["devices"][0]["precisions"], nlohmann::json({"f32"}));
  EXPECT_EQ(json["backends"][0]["devices"][0]["memory_total"], 1u << 30);
  ASSERT_EQ(json["unusable"].size(), 1u);
  EXPECT_EQ(json["unusable"][0]["reason"], "built for ABI 2.3, this binary has ABI 1.0");
  EXPECT_EQ(json["looked_in"][1]["exists"], false);
}

Discovery one_device(const DeviceInfo& device) {
  Backend backend;
  backend.file = "/p/libthrust_backend_gpu.so";
  backend.manifest.id = "gpu";
  backend.devices.push_back(device);
  return {{backend}, {}, {}};
}

TEST(BackendsCommand, ASoftwareDeviceSaysWhatItIsAndHowItIsNamed) {
  DeviceInfo device;
  device.index = 0;
  device.kind = THRT_DEVICE_SOFTWARE;
  device.available = true;
  device.name = "llvmpipe";
  device.driver = "Vulkan 1.3, Mesa";
  device.architecture = "vulkan 1.3, 16-bit storage, no cooperative matrix";
  device.compute_units = 2;
  device.subgroup_size = 8;
  device.memory_total = device.memory_free = uint64_t{2} << 30;
  device.max_buffer_bytes = uint64_t{128} << 20;
  device.precisions = 1u << THRT_PRECISION_F32;
  device.storage_dtypes = 1u << THRT_DTYPE_F32 | 1u << THRT_DTYPE_F16;
  EXPECT_THAT(backends_as_text(one_device(device)),
              HasSubstr("  0: llvmpipe (software)\n"
                        "      driver       Vulkan 1.3, Mesa\n"
                        "      abilities    vulkan 1.3, 16-bit storage, no cooperative matrix\n"
                        "      width        2 compute units, 8 lanes in a subgroup\n"
                        "      memory       2.0 GiB (2.0 GiB free), 128.0 MiB in one buffer\n"
                        "      precisions   f32\n"
                        "      values       f32 f16\n"
                        "      software     used only when asked for: --backend gpu:0\n"));
  const nlohmann::json json = nlohmann::json::parse(backends_as_json(one_device(device)));
  EXPECT_EQ(json["backends"][0]["devices"][0]["subgroup_size"], 8);
  EXPECT_EQ(json["backends"][0]["devices"][0]["architecture"], device.architecture);
  device.compute_units = 0;  // not known
  EXPECT_THAT(backends_as_text(one_device(device)), HasSubstr("\n      width        8 lanes in a subgroup\n"));
}

TEST(BackendsCommand, AnUnavailableDeviceSaysWhy) {
  DeviceInfo device;
  device.kind = THRT_DEVICE_DISCRETE;
  device.name = "Old GPU";
  device.driver = "Vulkan 1.0";
  device.unavailable_reason = "its driver speaks Vulkan 1.0; 1.2 is needed";
  EXPECT_THAT(backends_as_text(one_device(device)),
              HasSubstr("  0: Old GPU (discrete gpu)\n"
                        "      unavailable  its driver speaks Vulkan 1.0; 1.2 is needed\n"
                        "      driver       Vulkan 1.0\n\n"));
}

TEST(BackendsCommand, NothingFoundIsSaid) {
  EXPECT_THAT(backends_as_text(discover({{}, {}, {"/no/such/folder"}}, test_prober())), HasSubstr("no usable backend"));
}

}  // namespace
}  // namespace thrt::cli
