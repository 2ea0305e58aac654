// That DQN and SAC learn, from their defaults: one seed each.
#include <thrt/plugin/registry.hpp>
#include <thrt/rl/train/trainer.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace thrt::rl {
namespace {

namespace fs = std::filesystem;

// Trains from the defaults until an evaluation of 100 fresh episodes reaches the mark, or the steps are used up.
TrainResult train_to(double mark, const std::string& algorithm, const std::string& environment, std::int64_t steps) {
  const fs::path root = fs::path(testing::TempDir()) / ("thrt_learning_" + algorithm);
  fs::remove_all(root);
  SelectedBackend backend;
  backend.plugin =
      std::make_shared<LoadedPlugin>(THRT_BUILD_DIR "/lib/thrust/plugins/libthrust_backend_cpu.so", LoadOptions{});
  RunConfig config = default_config(algorithm, environment);
  config.total_timesteps = steps;
  config.checkpoint_every = steps;
  config.eval_every = 2000;
  config.stop_at = mark;
  TrainResult result;
  {
    RunFolder folder = RunFolder::create(root);
    std::ofstream(folder.config_file()) << "# a run\n";
    result = train(backend, config, folder, {});
  }
  fs::remove_all(root);
  return result;
}

TEST(OffPolicyLearningTest, DqnBalancesThePole) {
  EXPECT_TRUE(train_to(475.0, "dqn", "CartPole-v1", 60'000).reached);
}

TEST(OffPolicyLearningTest, SacSwingsThePendulumUp) {
  EXPECT_TRUE(train_to(-200.0, "sac", "Pendulum-v1", 20'000).reached);
}

}  // namespace
}  // namespace thrt::rl
