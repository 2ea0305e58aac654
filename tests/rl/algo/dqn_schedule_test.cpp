// When DQN's loop explores, learns, anneals and copies its target network, watched step by step.
#include <thrt/plugin/registry.hpp>
#include <thrt/rl/algo/learner.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace thrt::rl {
namespace {

constexpr std::int64_t kTotal = 100;

class DqnScheduleTest : public testing::Test {
 protected:
  void SetUp() override {
    config_ = default_config("dqn", "CartPole-v1");
    config_.total_timesteps = kTotal;
    config_.dqn.hidden = {8};
    config_.dqn.batch_size = 4;
    config_.dqn.buffer_size = 100;
    config_.dqn.learning_starts = 20;
    config_.dqn.train_frequency = 4;
    config_.dqn.gradient_steps = 201;  // so many that an iteration is one step
    config_.dqn.target_update = 10;
    config_.dqn.learning_rate = 1e-3;
  }

  void begin() {
    learner_ = make_learner(Context(std::make_shared<LoadedPlugin>(
                                THRT_BUILD_DIR "/lib/thrust/plugins/libthrust_backend_cpu.so", LoadOptions{})),
                            config_);
    ASSERT_EQ(learner_->steps_per_iteration(), 1);
    learner_->environment().reset(1);
    learner_->environment_changed();
  }
  void step_to(std::int64_t step) { learner_->iterate({step - 1, kTotal}, split_, finished_); }

  // All weights and biases of "agent" or "target".
  std::vector<float> network(const std::string& name) const {
    std::vector<float> all;
    for (const auto& [slot, entry] : learner_->buffers().entries()) {
      if (slot.rfind(name + "/q/", 0) != 0 || slot.find("adam") != std::string::npos) continue;
      const std::vector<float> values = entry.buffer.template read<float>();
      all.insert(all.end(), values.begin(), values.end());
    }
    EXPECT_EQ(all.size(), 4U * 8 + 8 + 8 * 2 + 2) << name;
    return all;
  }
  double metric(const std::string& tag) const {
    for (const Metric& each : learner_->metrics()) {
      if (each.tag == tag) return each.value;
    }
    ADD_FAILURE() << "no metric " << tag;
    return 0.0;
  }

  RunConfig config_;
  std::unique_ptr<Learner> learner_;
  TimeSplit split_;
  std::vector<EpisodeEnd> finished_;
};

TEST_F(DqnScheduleTest, LearnsAndCopiesAtItsStepsAndAtNoOther) {
  begin();
  EXPECT_TRUE(network("target") == network("agent")) << "they begin alike";
  for (std::int64_t step = 1; step <= 60; ++step) {
    const std::vector<float> online = network("agent"), target = network("target");
    step_to(step);
    // A copy is of what was learned before the step, as Stable-Baselines3 copies while it collects.
    EXPECT_TRUE(network("target") == (step % 10 == 0 ? online : target)) << "step " << step;
    EXPECT_EQ(network("agent") != online, step >= 20 && step % 4 == 0) << "step " << step;
  }
}

TEST_F(DqnScheduleTest, ATargetMovesByTau) {
  config_.dqn.tau = 0.25;
  begin();
  for (std::int64_t step = 1; step <= 60; ++step) {
    const std::vector<float> online = network("agent"), before = network("target");
    step_to(step);
    const std::vector<float> after = network("target");
    for (std::size_t i = 0; i < after.size(); ++i) {
      ASSERT_NEAR(after[i], step % 10 == 0 ? 0.25 * online[i] + 0.75 * before[i] : before[i], 1e-6) << "step " << step;
    }
  }
}

TEST_F(DqnScheduleTest, ExplorationFallsAfterTheStartAndThenStaysLevel) {
  config_.dqn.start_epsilon = 0.9;
  config_.dqn.final_epsilon = 0.1;
  config_.dqn.exploration_fraction = 0.5;
  begin();
  for (std::int64_t step = 1; step < kTotal; ++step) {
    step_to(step);
    const double falling = 0.9 - 0.8 * static_cast<double>(step) / 50.0;
    EXPECT_NEAR(metric("charts/epsilon"), step < 20 ? 1.0 : std::max(falling, 0.1), 1e-6) << "step " << step;
  }
}

TEST_F(DqnScheduleTest, TheLearningRateFallsWhenItIsToldTo) {
  config_.dqn.anneal_lr = true;
  begin();
  for (std::int64_t step = 1; step < kTotal; ++step) {
    step_to(step);
    if (step < 20 || step % 4 != 0) continue;
    EXPECT_NEAR(metric("charts/learning_rate"), 1e-3 * (1.0 - static_cast<double>(step) / kTotal), 1e-9);
  }
  config_.dqn.anneal_lr = false;
  begin();
  for (std::int64_t step = 1; step <= 60; ++step) step_to(step);
  EXPECT_NEAR(metric("charts/learning_rate"), 1e-3, 1e-9);
}

}  // namespace
}  // namespace thrt::rl
