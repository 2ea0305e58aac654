// That the four algorithms learn on the Vulkan backend, on Mesa's lavapipe, from the settings and seeds of on_policy_learning_test.cpp
// and off_policy_learning_test.cpp. PPO and A2C go on to the marks of those tests. DQN and SAC, whose gradient steps by the
// thousand take minutes on a processor that imitates a GPU, go to marks on the way there.
#include <thrt/plugin/registry.hpp>
#include <thrt/rl/train/trainer.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace thrt::rl {
namespace {

namespace fs = std::filesystem;

class VulkanLearningTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) /
            ("thrt_vulkan_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(root_);
    LoadOptions options;
    options.cache_dir = THRT_BUILD_DIR "/tests/vulkan_cache/thrust/vulkan";
    backend_.plugin =
        std::make_shared<LoadedPlugin>(THRT_BUILD_DIR "/lib/thrust/plugins/libthrust_backend_vulkan.so", options);
    const auto& devices = backend_.plugin->devices();
    const auto lavapipe = std::find_if(devices.begin(), devices.end(), [](const DeviceInfo& device) {
      return device.available && device.name.rfind("llvmpipe", 0) == 0;
    });
    if (lavapipe == devices.end()) GTEST_SKIP() << "there is no lavapipe: Debian's package mesa-vulkan-drivers has it";
    backend_.device_index = lavapipe->index;
  }
  void TearDown() override { fs::remove_all(root_); }

  // Trains until an evaluation of 100 fresh greedy episodes reaches the mark, or the steps are used up.
  TrainResult train_to(double mark, RunConfig config, std::int64_t steps) {
    config.total_timesteps = steps;
    config.checkpoint_every = steps;
    config.stop_at = mark;
    RunFolder folder = RunFolder::create(root_);
    std::ofstream(folder.config_file()) << "# a run\n";
    return train(backend_, config, folder, {});
  }

  fs::path root_;
  SelectedBackend backend_;
};

TEST_F(VulkanLearningTest, PpoBalancesThePole) {
  const TrainResult result = train_to(475.0, default_config("ppo", "CartPole-v1"), 100'000);
  ASSERT_TRUE(result.reached);
  EXPECT_GE(result.reached->mean, 475.0);
}

TEST_F(VulkanLearningTest, A2cBalancesThePole) {
  EXPECT_TRUE(train_to(475.0, default_config("a2c", "CartPole-v1"), 500'000).reached);
}

// Random actions last 22 steps, the greedy ones of an untrained network 9.
TEST_F(VulkanLearningTest, DqnHoldsThePoleUpForAWhile) {
  RunConfig config = default_config("dqn", "CartPole-v1");
  config.eval_every = 500;
  EXPECT_TRUE(train_to(60.0, config, 8'000).reached);
}

// Random actions return about -1200.
TEST_F(VulkanLearningTest, SacLearnsToSwingThePendulum) {
  RunConfig config = default_config("sac", "Pendulum-v1");
  config.eval_every = 500;
  EXPECT_TRUE(train_to(-600.0, config, 4'000).reached);
}

}  // namespace
}  // namespace thrt::rl
