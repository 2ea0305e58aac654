// Choosing a backend and a device.
#include "plugin_folder.hpp"

namespace thrt {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

TEST(BackendSpec, ParsesIdIndexAndName) {
  EXPECT_EQ(BackendSpec::parse("cpu").id, "cpu");
  EXPECT_EQ(BackendSpec::parse("cpu").device, "");
  EXPECT_EQ(BackendSpec::parse("cuda:1").device, "1");
  EXPECT_EQ(BackendSpec::parse("vulkan:AMD: Radeon").device, "AMD: Radeon");
  EXPECT_EQ(BackendSpec::parse("cuda:1").text(), "cuda:1");
  EXPECT_STREQ(error_of([] { BackendSpec::parse(""); }).what(), "'' is no backend");
  EXPECT_EQ(error_of([] { BackendSpec::parse("cuda:"); }).why(), "nothing follows the ':'");
  EXPECT_EQ(error_of([] { BackendSpec::parse(":1"); }).why(), "it has no id");
}

DeviceInfo device(uint32_t index, uint32_t kind, const char* name, const char* unavailable = "") {
  DeviceInfo info;
  info.index = index;
  info.kind = kind;
  info.name = name;
  info.available = *unavailable == 0;
  info.unavailable_reason = unavailable;
  return info;
}

const std::vector<DeviceInfo> kDevices = {device(0, THRT_DEVICE_SOFTWARE, "llvmpipe (LLVM 15.0.6, 256 bits)"),
                                          device(1, THRT_DEVICE_DISCRETE, "Big GPU", "the driver is too old"),
                                          device(2, THRT_DEVICE_INTEGRATED, "Small GPU"),
                                          device(3, THRT_DEVICE_DISCRETE, "Other GPU")};

uint32_t select(const char* text) {
  return select_device(BackendSpec::parse(text), kDevices);
}
Error refusal(const char* text) {
  return error_of([&] { select(text); });
}

TEST(SelectDevice, DefaultIsTheFirstAvailableOneThatIsNoSoftwareADiscreteOneBeforeOthers) {
  EXPECT_EQ(select("vulkan"), 3u);
  EXPECT_EQ(select_device(BackendSpec::parse("vulkan"), {kDevices[0], kDevices[1], kDevices[2]}), 2u);
}

TEST(SelectDevice, TwoOfOneFullNameAreToldApartByTheirIndex) {
  const std::vector<DeviceInfo> twins = {device(0, THRT_DEVICE_DISCRETE, "GPU"),
                                         device(1, THRT_DEVICE_DISCRETE, "GPU")};
  EXPECT_STREQ(error_of([&] { select_device(BackendSpec::parse("vulkan:gpu"), twins); }).what(),
               "backend 'vulkan' has 2 devices named 'gpu'");
  EXPECT_EQ(select_device(BackendSpec::parse("vulkan:1"), twins), 1u);
}

TEST(SelectDevice, ByIndexAndByNameInAnyCase) {
  EXPECT_EQ(select("vulkan:3"), 3u);
  EXPECT_EQ(select("vulkan:small"), 2u);
  EXPECT_EQ(select("vulkan:Other GPU"), 3u);
}

TEST(SelectDevice, SoftwareOnlyByNameOrIndex) {
  EXPECT_EQ(select("vulkan:llvmpipe"), 0u);
  EXPECT_EQ(select("vulkan:0"), 0u);
  const std::vector<DeviceInfo> only_software = {kDevices[0]};
  const Error error = error_of([&] { select_device(BackendSpec::parse("vulkan"), only_software); });
  EXPECT_STREQ(error.what(), "backend 'vulkan' has no device but software that imitates one");
  EXPECT_THAT(error.next(), EndsWith("only when asked for: --backend vulkan:0 or --backend vulkan:llvmpipe"));
  // A name that two devices have names neither.
  const std::vector<DeviceInfo> twice = {kDevices[0], device(1, THRT_DEVICE_SOFTWARE, "llvmpipe 2")};
  EXPECT_THAT(error_of([&] { select_device(BackendSpec::parse("vulkan"), twice); }).next(),
              EndsWith("only when asked for: --backend vulkan:0"));
}

TEST(SelectDevice, WhatIsNotThereIsAnErrorThatListsWhatIs) {
  EXPECT_STREQ(refusal("vulkan:4").what(), "backend 'vulkan' has no device 4");
  EXPECT_THAT(refusal("vulkan:4").why(), AllOf(HasSubstr("0: llvmpipe"), HasSubstr("3: Other GPU (discrete gpu)")));
  EXPECT_EQ(refusal("vulkan:4").next(), "an index from 0 to 3");
  EXPECT_STREQ(refusal("vulkan:99999999999999999999").what(), "backend 'vulkan' has no device 99999999999999999999");
  EXPECT_STREQ(refusal("vulkan:-1").what(), "backend 'vulkan' has no device named '-1'");
  EXPECT_STREQ(refusal("vulkan:1x").what(), "backend 'vulkan' has no device named '1x'");
  EXPECT_STREQ(refusal("vulkan:gpu").what(), "backend 'vulkan' has 3 devices named 'gpu'");
}

TEST(SelectDevice, AnUnavailableOneGivesItsReason) {
  EXPECT_STREQ(refusal("vulkan:1").what(), "backend 'vulkan:1': device 1 (Big GPU) is unavailable");
  EXPECT_EQ(refusal("vulkan:1").why(), "the driver is too old");
  EXPECT_EQ(refusal("vulkan:big").why(), "the driver is too old");
}

TEST(SelectDevice, NoDevicesIsSaid) {
  EXPECT_EQ(error_of([] { select_device(BackendSpec::parse("cuda"), {}); }).why(), "the backend has no devices");
  EXPECT_EQ(error_of([] { select_device(BackendSpec::parse("cuda:0"), {}); }).why(), "the backend has no devices");
}

// ---- loading

SelectedBackend load(const char* text, const SearchOptions& search) {
  return load_backend(BackendSpec::parse(text), search, test_prober());
}

TEST(LoadBackend, LoadsTheOneThatWasAskedFor) {
  const PluginFolder folder;
  folder.add("faulty");
  folder.add("null");
  const SelectedBackend selected = load("null:0", folder.search());
  EXPECT_EQ(selected.plugin->manifest().id, "null");
  EXPECT_EQ(selected.plugin->file(), folder.file("null"));
  EXPECT_EQ(selected.device().name, "null device");
}

// Another plugin that would hang for the timeout costs nothing: its code is not run.
TEST(LoadBackend, ProbesNoOther) {
  const PluginFolder folder;
  folder.add("hangs_on_load");
  folder.add("null");
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(load("null", folder.search()).device_index, 0u);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));  // the timeout is 20 s
}

TEST(LoadBackend, AnUnknownIdListsWhatThereIsAndWhereItLooked) {
  const PluginFolder folder;
  folder.add("null");
  folder.add("wrong_major");
  folder.add("crashes_in_constructor");
  SearchOptions search = folder.search();
  search.own_folders.emplace_back("/no/such/folder");
  const Error error = error_of([&] { load("cuda", search); });
  EXPECT_STREQ(error.what(), "no backend is named 'cuda'");
  EXPECT_THAT(error.why(), AllOf(HasSubstr("backends found:\n    null: " + folder.file("null").string()),
                                 HasSubstr("wrong_major.so: built for ABI 2.3"),
                                 HasSubstr("crashes_in_constructor.so: crashed (SIGSEGV) during load"),
                                 HasSubstr(folder.path().string() + " (beside the binary)"),
                                 HasSubstr("/no/such/folder (beside the binary, no such folder)")));
  EXPECT_THAT(error.next(), HasSubstr("--plugin libthrust_backend_cuda.so"));
  EXPECT_EQ(error.kind(), ErrorKind::kStart);
}

TEST(LoadBackend, AnUnusableOneOfThatNameIsAnErrorWithItsReason) {
  const PluginFolder folder;
  folder.add("null");
  folder.add("crashes_in_constructor");
  folder.write("text", {'t', 'e', 'x', 't'});
  const Error crash = error_of([&] { load("crashes_in_constructor", folder.search()); });
  EXPECT_STREQ(crash.what(), "backend 'crashes_in_constructor' cannot be used");
  EXPECT_EQ(crash.why(), folder.file("crashes_in_constructor").string() + ": crashed (SIGSEGV) during load");
  EXPECT_EQ(error_of([&] { load("text", folder.search()); }).why(),
            folder.file("text").string() + ": not an ELF file, so not a shared library");
}

TEST(LoadBackend, ANamedFileThatIsNoPluginIsAnErrorWhateverTheId) {
  const PluginFolder folder;
  folder.add("null");
  SearchOptions search = folder.search();
  search.named_files = {built_plugin("exports_nothing")};
  EXPECT_THAT(error_of([&] { load("null", search); }).what(),
              HasSubstr("exports_nothing.so: a shared library, but not"));
}

TEST(LoadBackend, AWrongDeviceIsRefused) {
  const PluginFolder folder;
  folder.add("null");
  EXPECT_STREQ(error_of([&] { load("null:1", folder.search()); }).what(), "backend 'null' has no device 1");
}

TEST(Duplicates, TwoOfOneIdAreAnErrorThatNamesBoth) {
  const PluginFolder first, second;
  first.add("null");
  second.add("null");
  second.add("faulty");
  const SearchOptions search{{}, first.path().string(), {second.path()}};
  const Discovery discovery = discover(search, test_prober());
  ASSERT_EQ(discovery.unusable.size(), 2u);
  EXPECT_EQ(discovery.unusable[0].file, first.file("null"));
  EXPECT_EQ(discovery.unusable[0].reason, "another plugin has the same id 'null': " + second.file("null").string());
  EXPECT_EQ(discovery.unusable[1].file, second.file("null"));
  ASSERT_EQ(discovery.backends.size(), 1u);  // the next is there all the same
  const Error error = error_of([&] { load("null", search); });
  EXPECT_STREQ(error.what(), "backend 'null' cannot be used");
  EXPECT_THAT(error.why(), AllOf(HasSubstr(first.file("null").string()), HasSubstr(second.file("null").string())));
  EXPECT_NO_THROW(load("faulty", search));
}

TEST(Duplicates, AFileNamedByTheUserWins) {
  const PluginFolder first, second;
  first.add("null");
  second.add("null");
  const SearchOptions search{{second.file("null")}, first.path().string(), {}};
  const Discovery discovery = discover(search, test_prober());
  ASSERT_EQ(discovery.backends.size(), 1u);
  EXPECT_EQ(discovery.backends[0].file, second.file("null"));
  EXPECT_THAT(only_reason(discovery), HasSubstr("passed over for " + second.file("null").string()));
  EXPECT_EQ(load("null", search).plugin->file(), second.file("null"));
}

}  // namespace
}  // namespace thrt
