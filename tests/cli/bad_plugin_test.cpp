// Training through a plugin that is none, or breaks the rules: one message of its own each, and nothing made.
#include "process.hpp"

#include <thrt/plugin/probe.hpp>

#include <gmock/gmock.h>

namespace thrt::cli::test {
namespace {

using testing::HasSubstr;

class BadPlugin : public ThrustTest {
 protected:
  fs::path file(const std::string& id) const { return top() / ("libthrust_backend_" + id + ".so"); }
  fs::path write(const std::string& id, const std::string& content) const {
    std::ofstream(file(id), std::ios::binary) << content;
    fs::permissions(file(id), fs::perms::owner_all);
    return file(id);
  }
  std::string refusal(const fs::path& plugin, const std::string& id) const {
    const Outcome outcome = thrust({"train", "ppo", "CartPole-v1", "--backend", id, "--plugin", plugin.string()});
    EXPECT_EQ(outcome.code, 2) << outcome.out << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, testing::StartsWith("error: "));
    EXPECT_THAT(outcome.err, HasSubstr("libthrust_backend_" + id + ".so"));
    EXPECT_THAT(files(), testing::IsEmpty());
    return outcome.err;
  }
  std::string evil(const std::string& id) const {
    return refusal(fs::path(THRT_BUILD_DIR "/tests/plugins") / ("libthrust_backend_" + id + ".so"), id);
  }
};

TEST_F(BadPlugin, EachHasItsMessage) {
  EXPECT_THAT(evil("wrong_major"), HasSubstr("ABI"));
  EXPECT_THAT(evil("exports_nothing"), HasSubstr("thrt_backend_manifest_v1"));
  EXPECT_THAT(evil("crashes_in_constructor"), HasSubstr("crashed (SIG"));
  EXPECT_THAT(evil("missing_library"), HasSubstr("cannot open shared object file"));  // the loader's own words
  EXPECT_THAT(refusal(write("text", "not a library\n"), "text"), HasSubstr("text"));
  EXPECT_THAT(refusal(write("empty", ""), "empty"), HasSubstr("empty"));
  const std::string whole =
      text_of(std::string(THRT_BUILD_DIR) + "/lib/thrust/plugins/libthrust_backend_" THRT_TEST_BACKEND ".so");
  ASSERT_FALSE(whole.empty());
  EXPECT_THAT(refusal(write("half", whole.substr(0, whole.size() / 2)), "half"), HasSubstr("truncated"));
}

TEST_F(BadPlugin, OneThatHangsIsGivenUpAfterFiveSeconds) {
  EXPECT_THAT(evil("hangs_on_load"), HasSubstr("hung 5 s in load"));
}

// Plugins are tried in a child that runs this file, by its own name: /proc/self/exe means another one in some children.
TEST(ProbeChild, RunsTheFileThatThisProcessRuns) {
  EXPECT_EQ(own_executable(), fs::canonical("/proc/self/exe"));
}

}  // namespace
}  // namespace thrt::cli::test
