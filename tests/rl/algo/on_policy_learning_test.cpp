// That PPO and A2C learn, from their defaults: the marks of the project's workloads, with one seed each of those that
// the documentation's figures are of.
#include <thrt/plugin/registry.hpp>
#include <thrt/rl/train/trainer.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace thrt::rl {
namespace {

namespace fs = std::filesystem;

class OnPolicyLearningTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) /
            ("thrt_learning_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(root_);
    backend_.plugin =
        std::make_shared<LoadedPlugin>(THRT_BUILD_DIR "/lib/thrust/plugins/libthrust_backend_cpu.so", LoadOptions{});
  }
  void TearDown() override { fs::remove_all(root_); }

  // On one thread: a machine that is busy with other tests runs that as fast as two.
  TrainResult trained(RunConfig config) {
    config.threads = 1;
    RunFolder folder = RunFolder::create(root_);
    std::ofstream(folder.config_file()) << "# a run\n";
    return train(backend_, config, folder, {});
  }
  // Over 100 fresh episodes.
  double return_after(const RunConfig& config) {
    return evaluate(backend_, config, trained(config).checkpoint, {}).mean;
  }

  fs::path root_;
  SelectedBackend backend_;
};

TEST_F(OnPolicyLearningTest, PpoBalancesThePole) {
  EXPECT_GE(return_after(default_config("ppo", "CartPole-v1")), 475.0);
}

TEST_F(OnPolicyLearningTest, PpoSwingsThePendulumUp) {
  EXPECT_GE(return_after(default_config("ppo", "Pendulum-v1")), -300.0);
}

TEST_F(OnPolicyLearningTest, A2cBalancesThePole) {
  EXPECT_GE(return_after(default_config("a2c", "CartPole-v1")), 475.0);
}

// The pole is up long before the budget is spent, and the run ends there.
TEST_F(OnPolicyLearningTest, PpoStopsAtItsMark) {
  RunConfig config = default_config("ppo", "CartPole-v1");
  config.stop_at = 475.0;
  const TrainResult result = trained(config);
  ASSERT_TRUE(result.reached);
  EXPECT_GE(result.reached->mean, 475.0);
  EXPECT_LE(result.reached->step, 60'000);
}

}  // namespace
}  // namespace thrt::rl
