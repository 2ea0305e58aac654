// Whether the tests' way of running kernels shows what would be wrong on a device: it is what they all lean on.
#include "host_kernels.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thrt::testing {
namespace {

// Each work-item of 4 groups of 32 gives its number to the next one in its group, through group memory.
emit::Kernel rotation(const std::string& between) {
  emit::Part part;
  part.title = "rotation";
  part.groups = 4;
  part.shared = {{"int", 32}};
  part.parameters = {{{0, true}, "int", "y0"}};
  part.body =
      "@s0[item] = (int)(group * 100 + item);\n" + between + "\n@y0[group * 32 + item] = @s0[(item + 1) % 32];\n";
  return emit::assemble(host_dialect(), {&part}, 32);
}

std::vector<int> rotated() {
  std::vector<int> expected;
  for (int i = 0; i < 4 * 32; ++i) expected.push_back(i / 32 * 100 + (i + 1) % 32);
  return expected;
}

TEST(HostKernels, AWorkGroupWaitsAtItsBarriers) {
  HostKernels kernels;
  const emit::Kernel right = rotation(host_dialect().barrier), missing = rotation(""),
                     some = rotation("if (item < 16u) " + host_dialect().barrier);
  for (const emit::Kernel* kernel : {&right, &missing, &some}) kernels.add(*kernel);
  ASSERT_NO_FATAL_FAILURE(kernels.compile());
  std::vector<int> y(4 * 32, -1);
  EXPECT_EQ(kernels.launch(right, {y.data()}), "");
  EXPECT_EQ(y, rotated());
  EXPECT_EQ(kernels.launch(missing, {y.data()}), "");
  EXPECT_NE(y, rotated());
  EXPECT_THAT(kernels.launch(some, {y.data()}), ::testing::HasSubstr(": work-item 0 waits at line"));
}

// Each of 64 groups adds one to what the group before it left, which nothing orders.
TEST(HostKernels, GroupsRunInNoOrder) {
  emit::Part part;
  part.title = "chain";
  part.groups = 64;
  part.parameters = {{{0, true}, "int", "y0"}};
  part.body = "@y0[group + 1] = @y0[group] + 1;\n";
  const emit::Kernel chain = emit::assemble(host_dialect(), {&part}, 1);
  HostKernels kernels;
  kernels.add(chain);
  ASSERT_NO_FATAL_FAILURE(kernels.compile());
  std::vector<int> y(65, 0), first;
  EXPECT_EQ(kernels.launch(chain, {y.data()}), "");
  EXPECT_NE(y[64], 64);
  first = y;
  y.assign(65, 0);
  EXPECT_EQ(kernels.launch(chain, {y.data()}), "");
  EXPECT_NE(y, first);
}

}  // namespace
}  // namespace thrt::testing
