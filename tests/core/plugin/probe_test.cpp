// Every evil plugin is named with what it does, and the good plugin beside it is found all the same.
#include <sys/stat.h>

#include <chrono>

#include "plugin_folder.hpp"

namespace thrt {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::MatchesRegex;

struct Evil {
  const char* id;
  const char* reason;  // a part of it
};

std::ostream& operator<<(std::ostream& stream, const Evil& evil) {
  return stream << evil.id;
}

std::string evil_name(const testing::TestParamInfo<Evil>& tested) {
  return tested.param.id;
}

class EvilPlugin : public testing::TestWithParam<Evil> {};

TEST_P(EvilPlugin, IsNamedAndHidesNoOther) {
  const PluginFolder folder;
  folder.add(GetParam().id);
  folder.add("null", "");
  const bool hangs = std::string(GetParam().id).rfind("hangs", 0) == 0;
  const Discovery discovery = discover(folder.search(), test_prober(hangs ? milliseconds(3000) : milliseconds(20000)));
  EXPECT_THAT(only_reason(discovery), HasSubstr(GetParam().reason));
  ASSERT_EQ(discovery.backends.size(), 1u);
  EXPECT_EQ(discovery.backends[0].manifest.id, "null");
  ASSERT_EQ(discovery.backends[0].devices.size(), 1u);
  EXPECT_EQ(discovery.backends[0].devices[0].name, "null device");
}

INSTANTIATE_TEST_SUITE_P(
    All, EvilPlugin,
    testing::Values(
        Evil{"aborts_in_entry", "aborted (SIGABRT) during entry"},
        Evil{"bad_magic", "wrong magic number: 0x000000000000002a"},
        Evil{"changes_locale", "changes the locale ('C' to 'C.UTF-8') during load"},
        Evil{"crashes_at_exit", "crashed (SIGSEGV) during exit"},
        Evil{"crashes_in_constructor", "crashed (SIGSEGV) during load"},
        Evil{"exits_in_constructor", "exited with 0 during load without an answer"},
        Evil{"exports_nothing", "not a thrust plugin: it does not export thrt_backend_manifest_v1"},
        Evil{"hangs_in_enumerate", "hung 3 s in enumerate"}, Evil{"hangs_on_load", "hung 3 s in load"},
        Evil{"missing_function", "its function table lacks enqueue"},
        Evil{"missing_library", "libthrt_test_absent.so: cannot open shared object file"},
        Evil{"newer_host", "needs a host with ABI 1.99 or newer, this binary has ABI 1.0"},
        Evil{"no_entry", "does not export thrt_backend_entry_v1"},
        Evil{"null_result", "plugin_open answered OK and left the plugin null"},
        Evil{"prints", "prints to standard output: 'Welcome to the plugin!'"},
        Evil{"refuses_host", "thrt_backend_entry_v1 failed with INCOMPATIBLE: this plugin needs a host with ABI 1.7"},
        Evil{"segfaults_in_enumerate", "crashed (SIGSEGV) during enumerate"},
        Evil{"short_extension", "its table of thrt.describe/1 has struct_size 8, the first version's has 24"},
        Evil{"short_manifest", "its manifest is too short: 64 bytes"},
        Evil{"takes_signal", "changes the handler of signal 10 during load"},
        // Whether the exception gets through the loader (and is named) or aborts in it is the loader's choice.
        Evil{"throws_in_constructor", "during load"},
        Evil{"throws_in_enumerate", "an exception left the plugin during enumerate: no count today"},
        Evil{"too_many_devices", "device_count says 65, at most 64 are allowed"},
        Evil{"unknown_field", "device 0's reserved field is not zero"},
        Evil{"unterminated_string", "device 0's name does not end within its 128 bytes"},
        Evil{"writes_past_struct", "device_info(0) writes past struct_size"},
        Evil{"wrong_major", "built for ABI 2.3, this binary has ABI 1.0"}),
    evil_name);

#if defined(__x86_64__)
INSTANTIATE_TEST_SUITE_P(X86, EvilPlugin,
                         testing::Values(Evil{"flips_ftz",
                                              "changes the floating-point environment (flush-to-zero) during load"}),
                         evil_name);
#endif

// Files that are no shared libraries at all, among plugins.
TEST(Probe, NonPluginsAreNamedAndHideNoOther) {
  const PluginFolder folder;
  const std::vector<char> bytes = bytes_of(built_plugin("null"));
  folder.add("null");
  folder.write("a_text", {'t', 'e', 'x', 't'});
  folder.write("b_empty", {});
  folder.write("c_truncated", {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2)});
  fs::create_directory(folder.file("d_folder"));
  folder.write("e_open", bytes);
  ASSERT_EQ(chmod(folder.file("e_open").c_str(), 0777), 0);
  fs::create_symlink("/no/such/file", folder.file("f_dangling"));
  const Discovery discovery = discover(folder.search(), test_prober());
  std::vector<std::string> reasons;
  for (const UnusableFile& file : discovery.unusable) reasons.push_back(file.reason);
  EXPECT_THAT(reasons, testing::ElementsAre("not an ELF file, so not a shared library", "an empty file",
                                            HasSubstr("a truncated ELF file"), "a folder, not a file",
                                            HasSubstr("everybody may write to it"),
                                            "cannot be read: No such file or directory"));
  ASSERT_EQ(discovery.backends.size(), 1u);
  EXPECT_EQ(discovery.backends[0].file, folder.file("null"));
}

TEST(Probe, AFolderThatEverybodyMayWriteToIsRefused) {
  const PluginFolder open_to_all, folder;
  open_to_all.add("faulty");
  ASSERT_EQ(chmod(open_to_all.path().c_str(), 01777), 0);
  folder.add("null");
  const Discovery discovery = discover({{}, open_to_all.path().string(), {folder.path()}}, test_prober());
  EXPECT_THAT(only_reason(discovery), HasSubstr("everybody may write to its folder " + open_to_all.path().string()));
  ASSERT_EQ(discovery.backends.size(), 1u);
}

TEST(Probe, AHangingPluginEndsWithTheTimeout) {
  const auto begin = std::chrono::steady_clock::now();
  const ProbeReport report = test_prober(milliseconds(300)).probe(built_plugin("hangs_on_load"));
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_FALSE(report.usable);
  EXPECT_THAT(report.reason, MatchesRegex("hung 0\\.3 s in (start|load)"));
  EXPECT_GE(took, milliseconds(300));
  EXPECT_LT(took, milliseconds(10000));  // a busy machine is slow to end it
}

TEST(Probe, TheReportCarriesTheDevices) {
  const ProbeReport report = test_prober().probe(built_plugin("null"));
  ASSERT_TRUE(report.usable) << report.reason;
  ASSERT_EQ(report.devices.size(), 1u);
  const DeviceInfo& device = report.devices[0];
  EXPECT_EQ(device.kind, static_cast<uint32_t>(THRT_DEVICE_CPU));
  EXPECT_TRUE(device.available);
  EXPECT_EQ(device.memory_total, uint64_t{1} << 30);
  EXPECT_EQ(device.max_buffer_bytes, uint64_t{1} << 30);
  EXPECT_EQ(precision_names(device.precisions), std::vector<std::string_view>{"f32"});
  EXPECT_EQ(dtype_names(device.storage_dtypes).size(), 8u);
}

TEST(Probe, AnExecutableThatIsNoneIsAnError) {
  EXPECT_STREQ(error_of([] { Prober("/no/such/binary").probe(built_plugin("null")); }).what(),
               "cannot start a process to probe plugins in");
}

// An executable that knows no __probe must not pass for a plugin that works.
TEST(Probe, AnExecutableThatDoesNotAnswerIsNoVerdict) {
  const ProbeReport report = Prober("/bin/true").probe(built_plugin("null"));
  EXPECT_FALSE(report.usable);
  EXPECT_EQ(report.reason, "exited with 0 during start without an answer");
}

}  // namespace
}  // namespace thrt
