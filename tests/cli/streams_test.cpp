// Standard streams that are closed, full or read by nobody: a run goes on, and its own files hold only what is theirs.
#include "run_test.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

namespace thrt::cli::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class Streams : public RunTest {
 protected:
  // Runs it in the working folder, with `thrust` for the binary; its exit code.
  int shell(const std::string& script) const {
    const std::string file = (top() / "script").string();
    std::ofstream(file) << "unset THRUST_PLUGIN_PATH\nthrust() { '" THRT_BUILD_DIR "/bin/thrust' \"$@\"; }\n"
                        << "cd '" << work().string() << "' || exit 126\n"
                        << script << '\n';
    const int status = std::system(("sh '" + file + "'").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  static std::string train_ppo(const std::string& steps, const std::string& options) {
    return "thrust train ppo CartPole-v1 --backend " THRT_TEST_BACKEND " --total-timesteps " + steps + " " + options;
  }
};

TEST_F(Streams, ClosedOnesDoNotLeadIntoTheRunsFiles) {
  EXPECT_EQ(shell(train_ppo("1024", "--run-dir one <&- >&- 2>&-")), 0);
  EXPECT_TRUE(fs::exists(checkpoint("one", 1024)));
  for (const auto& entry : fs::recursive_directory_iterator(work() / "one")) {
    if (!entry.is_regular_file()) continue;
    EXPECT_THAT(text_of(entry.path()), Not(HasSubstr("run folder: "))) << entry.path();
    EXPECT_THAT(text_of(entry.path()), Not(HasSubstr("steps/s"))) << entry.path();
  }
}

TEST_F(Streams, AReaderThatLeavesDoesNotEndATraining) {
  EXPECT_EQ(shell("{ " + train_ppo("8192", "--run-dir one; echo $? > code; } | head -1 > line")), 0);
  EXPECT_EQ(text_of(work() / "code"), "0\n");
  EXPECT_TRUE(fs::exists(checkpoint("one", 8192)));
}

TEST_F(Streams, JsonThatCouldNotBeWrittenIsAFailure) {
  for (const std::string to : {"> /dev/full", ">&-"}) {
    EXPECT_EQ(shell(train_ppo("256", "--json " + to + " 2> err")), 1) << to;
    EXPECT_THAT(text_of(work() / "err"), HasSubstr("error: cannot write to standard output\n")) << to;
  }
}

}  // namespace
}  // namespace thrt::cli::test
