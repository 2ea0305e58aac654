// That DQN and SAC learn, from their defaults: one seed each of those in docs/performance.md.
#include <thrt/plugin/registry.hpp>
#include <thrt/rl/train/trainer.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace thrt::rl {
namespace {

namespace fs = std::filesystem;

double trained_return(const std::string& algorithm, const std::string& environment, std::int64_t steps) {
  const fs::path root = fs::path(testing::TempDir()) / ("thrt_learning_" + algorithm);
  fs::remove_all(root);
  SelectedBackend backend;
  backend.plugin =
      std::make_shared<LoadedPlugin>(THRT_BUILD_DIR "/lib/thrust/plugins/libthrust_backend_cpu.so", LoadOptions{});
  RunConfig config = default_config(algorithm, environment);
  config.total_timesteps = steps;
  config.checkpoint_every = steps;
  double mean = 0.0;
  {
    RunFolder folder = RunFolder::create(root);
    std::ofstream(folder.config_file()) << "# a run\n";
    const TrainResult result = train(backend, config, folder, {});
    mean = evaluate(backend, config, result.checkpoint, {}).mean;
  }
  fs::remove_all(root);
  return mean;
}

TEST(OffPolicyLearningTest, DqnBalancesThePole) {
  EXPECT_GE(trained_return("dqn", "CartPole-v1", 50'000), 475.0);
}

TEST(OffPolicyLearningTest, SacSwingsThePendulumUp) {
  EXPECT_GE(trained_return("sac", "Pendulum-v1", 20'000), -200.0);
}

}  // namespace
}  // namespace thrt::rl
