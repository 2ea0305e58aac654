#include <dlfcn.h>

#include <thrt/plugin/loaded_plugin.hpp>

#include "plugin_folder.hpp"

namespace thrt {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(LoadedPlugin, GivesTableHandleAndDevices) {
  const LoadedPlugin plugin(built_plugin("null"));
  EXPECT_EQ(plugin.manifest().id, "null");
  EXPECT_EQ(plugin.api().struct_size, sizeof(thrt_backend_api));
  ASSERT_EQ(plugin.devices().size(), 1u);
  uint32_t count = 0;
  EXPECT_EQ(plugin.api().device_count(plugin.handle(), &count, nullptr), static_cast<thrt_status>(THRT_OK));
  EXPECT_EQ(count, 1u);
}

TEST(LoadedPlugin, StagesComeInOrder) {
  std::vector<std::string> stages;
  LoadOptions options;
  options.on_stage = [&](const char* stage) { stages.emplace_back(stage); };
  const LoadedPlugin plugin(built_plugin("null"), options);
  EXPECT_THAT(stages, ElementsAre("load", "entry", "open", "enumerate"));
}

TEST(LoadedPlugin, CanBeOpenedAgainFiftyTimes) {
  for (int i = 0; i < 50; ++i) EXPECT_EQ(LoadedPlugin(built_plugin("null")).devices().size(), 1u);
}

// A relative path means the file there, not one in the loader's folders.
TEST(LoadedPlugin, RelativePathsWork) {
  const PluginFolder folder;
  folder.add("null");
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  EXPECT_NO_THROW(LoadedPlugin("libthrust_backend_null.so"));
  fs::current_path(before);
}

TEST(LoadedPlugin, ShowsTheLoadersOwnWords) {
  EXPECT_THAT(error_of([] { LoadedPlugin plugin(built_plugin("missing_library")); }).what(),
              HasSubstr("the loader refuses it: libthrt_test_absent.so: cannot open shared object file"));
}

#if defined(__x86_64__)
TEST(LoadedPlugin, PutsTheFloatingPointStateBack) {
  volatile float tiny = 1e-40f;  // a denormal
  EXPECT_THAT(error_of([] { LoadedPlugin plugin(built_plugin("flips_ftz")); }).what(), HasSubstr("flush-to-zero"));
  volatile float half = tiny * 0.5f;
  EXPECT_NE(half, 0.0f);
}
#endif

TEST(LoadedPlugin, StaysInTheProcess) {
  const PluginFolder folder;
  const fs::path file = folder.add("null");
  { const LoadedPlugin plugin(file); }
  void* still_there = dlopen(file.c_str(), RTLD_NOW | RTLD_NOLOAD);
  EXPECT_NE(still_there, nullptr);
  if (still_there != nullptr) dlclose(still_there);
}

TEST(LoadedPlugin, ValidationReportsContextsThatOutliveThePlugin) {
  std::vector<std::string> heard;
  LoadOptions options;
  options.validate = true;
  options.on_violation = [&](const std::string& rule) { heard.push_back(rule); };
  thrt_context* context = nullptr;
  thrt_context_options context_options{};
  context_options.struct_size = sizeof context_options;
  {
    const LoadedPlugin plugin(built_plugin("null"), options);
    ASSERT_EQ(plugin.api().context_create(plugin.handle(), &context_options, &context, nullptr),
              static_cast<thrt_status>(THRT_OK));
    plugin.api().context_destroy(context);
    EXPECT_THAT(plugin.violations(), ElementsAre());
  }
  EXPECT_THAT(heard, ElementsAre());
}

}  // namespace
}  // namespace thrt
