// Where plugins may keep compiled kernels.
#include <gtest/gtest.h>

#include <cstdlib>
#include <thrt/plugin/kernel_cache.hpp>

namespace thrt {
namespace {

std::string folder(const KernelCacheSettings& settings) {
  return kernel_cache("vulkan", settings).value_or("nowhere").string();
}

TEST(KernelCache, FollowsTheXdgSpecification) {
  EXPECT_EQ(folder({"/c", "/home/a", false}), "/c/thrust/vulkan");
  EXPECT_EQ(folder({"", "/home/a", false}), "/home/a/.cache/thrust/vulkan");
  EXPECT_EQ(folder({"relative", "/home/a", false}), "/home/a/.cache/thrust/vulkan");
  EXPECT_EQ(folder({"/c", "", false}), "/c/thrust/vulkan");
}

TEST(KernelCache, IsNowhereWithoutAHomeAndForASetuidProcess) {
  EXPECT_EQ(folder({"", "", false}), "nowhere");
  EXPECT_EQ(folder({"relative", "relative", false}), "nowhere");
  EXPECT_EQ(folder({"/c", "/home/a", true}), "nowhere");
}

TEST(KernelCache, OfThisProcessReadsItsEnvironment) {
  setenv("XDG_CACHE_HOME", "/somewhere", 1);
  EXPECT_EQ(kernel_cache_of_this_process("cpu"), "/somewhere/thrust/cpu");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", "/home/b", 1);
  EXPECT_EQ(kernel_cache_of_this_process("cpu"), "/home/b/.cache/thrust/cpu");
  unsetenv("HOME");
  EXPECT_EQ(kernel_cache_of_this_process("cpu"), "");
}

}  // namespace
}  // namespace thrt
