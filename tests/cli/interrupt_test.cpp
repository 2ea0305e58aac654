// Ctrl-C: a clean stop that can be resumed to the same bits, and a second one that does not wait.
#include "run_test.hpp"

#include <gmock/gmock.h>

#include <random>
#include <sstream>

namespace thrt::cli::test {
namespace {

using testing::HasSubstr;

class Interrupt : public RunTest {
 protected:
  // The column "step" of a run's progress.csv.
  std::vector<std::string> steps(const std::string& run) const {
    std::istringstream lines(text_of(work() / run / "progress.csv"));
    std::vector<std::string> result;
    for (std::string line; std::getline(lines, line);) result.push_back(line.substr(0, line.find(',')));
    return result;
  }

  // Starts a run and sends `signal` at some time after its first progress line. False when that came too late.
  bool interrupted(const std::string& run, const std::string& total, int signal,
                   std::chrono::milliseconds delay) const {
    Process process(train(total, {"--run-dir", run, "--seed", "5"}), work(), top());
    EXPECT_TRUE(process.await("step "));
    std::this_thread::sleep_for(delay);
    process.send(signal);
    const Outcome outcome = process.wait();
    if (outcome.code == 0) return false;
    EXPECT_EQ(outcome.code, 130) << outcome.out << outcome.err;
    EXPECT_EQ(outcome.err, signal == SIGINT ? "stopping after this update; press Ctrl-C again to stop at once\n"
                                            : "stopping after this update; a second signal stops at once\n");
    EXPECT_THAT(outcome.out, HasSubstr("interrupted at step "));
    EXPECT_THAT(outcome.out, testing::EndsWith("next: thrust train --resume " + run + "\n"));
    return true;
  }
};

TEST_F(Interrupt, AndResumedEqualsUninterruptedToTheBit) {
  constexpr int kTotal = 8192;
  const std::string total = std::to_string(kTotal);
  thrust_out(train(total, {"--run-dir", "whole", "--seed", "5"}));
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "delays from seed " << seed);
  std::mt19937 random(seed);
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string run = signal == SIGINT ? "int" : "term";
    int longest = 100;  // ms; halved until the signal comes in time, however fast the machine is
    while (!interrupted(run, total, signal,
                        std::chrono::milliseconds(std::uniform_int_distribution(0, longest)(random)))) {
      ASSERT_GT(longest, 0) << "every run was over before the signal came";
      longest /= 2;
      fs::remove_all(work() / run);
    }
    EXPECT_FALSE(fs::exists(checkpoint(run, kTotal)));
    const std::string resumed = thrust_out({"train", "--resume", run});
    EXPECT_THAT(resumed, HasSubstr("resumed from " + run + "/checkpoints/step_"));
    expect_same_checkpoint("whole", run, kTotal);
    EXPECT_EQ(steps(run), steps("whole"));
  }
}

TEST_F(Interrupt, ASecondOneEndsAtOnce) {
  // One update that takes minutes: the first signal is heeded only after it.
  Process process(train("1000000", {"--run-dir", "one", "--num-steps", "2048", "--update-epochs", "10000"}), work(),
                  top());
  ASSERT_TRUE(process.await("ppo_update: "));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  process.send(SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  ASSERT_TRUE(process.is_running());
  EXPECT_EQ(text_of(top() / "stderr"), "stopping after this update; press Ctrl-C again to stop at once\n");
  process.send(SIGINT);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.signal, SIGINT) << outcome.out << outcome.err;
}

TEST_F(Interrupt, SaysNothingBesideTheJsonObject) {
  Process process(train("1000000", {"--run-dir", "one", "--json"}), work(), top());
  while (process.is_running() && steps("one").size() < 2) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  process.send(SIGINT);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 130);
  EXPECT_EQ(outcome.err, "");
}

TEST_F(Interrupt, StaysIgnoredWhereTheProcessWasStartedSo) {
  const auto before = std::signal(SIGINT, SIG_IGN);
  Process process(train("8192", {"--run-dir", "one"}), work(), top());
  std::signal(SIGINT, before);
  ASSERT_TRUE(process.await("run folder: "));
  process.send(SIGINT);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(outcome.err, "");
}

}  // namespace
}  // namespace thrt::cli::test
