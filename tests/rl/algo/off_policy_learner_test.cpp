// DQN and SAC in the training loop: what is stored is what happened, a seed gives the same bits, a resumed run goes on as
// if nothing had been.
#include <thrt/error.hpp>
#include <thrt/plugin/registry.hpp>
#include <thrt/rl/algo/learner.hpp>
#include <thrt/rl/train/trainer.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace thrt::rl {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

RunConfig small_run(const std::string& algorithm) {
  RunConfig config = default_config(algorithm, algorithm == "dqn" ? "CartPole-v1" : "Pendulum-v1");
  config.total_timesteps = 3000;
  config.checkpoint_every = 1000;
  config.dqn.hidden = config.sac.hidden = {8, 8};
  config.dqn.buffer_size = config.sac.buffer_size = 700;  // so that the ring goes round
  config.dqn.learning_starts = config.sac.learning_starts = 200;
  config.dqn.train_frequency = config.sac.train_frequency = 20;
  config.dqn.gradient_steps = config.sac.gradient_steps = 2;
  config.dqn.batch_size = config.sac.batch_size = 16;
  return config;
}

class OffPolicyLearnerTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    std::replace(name.begin(), name.end(), '/', '_');
    root_ = fs::path(testing::TempDir()) / ("thrt_off_policy_" + name);
    fs::remove_all(root_);
    fs::create_directories(root_);
    LoadOptions options;
    options.validate = true;
    backend_.plugin =
        std::make_shared<LoadedPlugin>(THRT_BUILD_DIR "/lib/thrust/plugins/libthrust_backend_cpu.so", options);
    config_ = small_run(GetParam());
  }
  void TearDown() override { fs::remove_all(root_); }

  RunFolder folder(const std::string& name) {
    RunFolder made = RunFolder::create(root_ / name);
    std::ofstream(made.config_file()) << "# a run\n";
    return made;
  }
  // As the trainer does it: whole iterations up to the end of the run.
  static std::vector<EpisodeEnd> run(Learner& learner, std::int64_t steps) {
    TimeSplit split;
    std::vector<EpisodeEnd> finished;
    for (std::int64_t step = 0; step < steps; step += learner.steps_per_iteration()) {
      learner.iterate({step, steps}, split, finished);
    }
    return finished;
  }
  static std::string bytes_of(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  fs::path root_;
  SelectedBackend backend_;
  RunConfig config_;
};

// Plays the stored actions again in an environment of its own: every row must be what that gives. In Pendulum each episode
// is cut by the time limit, and none is terminated; in CartPole with random actions it is the other way round.
TEST_P(OffPolicyLearnerTest, TheReplayHoldsWhatHappened) {
  const bool pendulum = GetParam() == "sac";
  const std::int64_t steps = 600, envs = 2;
  config_.dqn.num_envs = config_.sac.num_envs = envs;
  const std::unique_ptr<Learner> learner = make_learner(Context(backend_.plugin), config_);
  learner->environment().reset(5);
  learner->environment_changed();
  const std::vector<EpisodeEnd> finished = run(*learner, steps);

  const std::size_t width = pendulum ? 3 : 4, row_size = 2 * width + 3;
  const std::vector<float> rows = learner->buffers().at("replay/rows").read<float>();
  EXPECT_EQ(learner->buffers().at("replay/size").read<std::int32_t>()[0], steps);
  const std::unique_ptr<VectorEnv> again = make_vector_env(config_.environment, envs);
  again->reset(5);
  std::vector<float> observations(width * envs);
  again->observe(observations);
  StepResult result;
  std::size_t cut = 0, ended = 0;
  for (std::size_t t = 0; t < static_cast<std::size_t>(steps / envs); ++t) {
    const float* first = rows.data() + t * envs * row_size;
    std::vector<float> torques;
    std::vector<std::int32_t> pushes;
    for (std::size_t i = 0; i < envs; ++i) {
      torques.push_back(first[i * row_size + 2 * width] * 2.0F);
      pushes.push_back(static_cast<std::int32_t>(first[i * row_size + 2 * width]));
    }
    if (pendulum) {
      again->step(std::span<const float>(torques), result);
    } else {
      again->step(std::span<const std::int32_t>(pushes), result);
    }
    for (std::size_t i = 0; i < envs; ++i) {
      const float* row = first + i * row_size;
      const bool over = result.terminated[i] != 0 || result.truncated[i] != 0;
      const std::vector<float>& last = over ? result.final_observations : result.observations;
      for (std::size_t d = 0; d < width; ++d) {
        ASSERT_EQ(row[d], observations[i * width + d]) << "step " << t;
        ASSERT_EQ(row[width + d], last[i * width + d]) << "step " << t;
      }
      ASSERT_EQ(row[2 * width + 1], result.rewards[i]);
      ASSERT_EQ(row[2 * width + 2], result.terminated[i] != 0 ? 1.0F : 0.0F) << "a time limit is no end of the task";
      cut += result.truncated[i];
      ended += result.terminated[i];
    }
    observations = result.observations;
  }
  EXPECT_EQ(finished.size(), cut + ended);
  EXPECT_GT(pendulum ? cut : ended, 1U);
  EXPECT_EQ(pendulum ? ended : cut, 0U);
}

TEST_P(OffPolicyLearnerTest, AResumedRunEndsInTheSameBytes) {
  RunFolder whole = folder("whole"), parts = folder("parts"), other = folder("other");
  const TrainResult expected = train(backend_, config_, whole, {});
  TrainHooks stop;
  int iterations = 0;
  stop.stop_requested = [&] { return ++iterations % 7 == 0; };
  TrainResult last;
  for (int session = 0; session < 10 && last.last.step < config_.total_timesteps; ++session) {
    last = train(backend_, config_, parts, stop);
  }
  EXPECT_EQ(last.last.step, config_.total_timesteps);
  EXPECT_TRUE(bytes_of(expected.checkpoint) == bytes_of(last.checkpoint));

  config_.seed = 2;
  EXPECT_FALSE(bytes_of(train(backend_, config_, other, {}).checkpoint) == bytes_of(expected.checkpoint));
}

TEST_P(OffPolicyLearnerTest, NothingIsLearnedBeforeLearningStarts) {
  const auto weights = [&](std::int64_t starts) {
    config_.dqn.learning_starts = config_.sac.learning_starts = starts;
    const std::unique_ptr<Learner> learner = make_learner(Context(backend_.plugin), config_);
    learner->environment().reset(1);
    learner->environment_changed();
    const std::string name = GetParam() == "dqn" ? "agent/q/2/weight" : "agent/actor/2/weight";
    const std::vector<float> before = learner->buffers().at(name).read<float>();
    run(*learner, 400);
    return std::pair(before, learner->buffers().at(name).read<float>());
  };
  const auto [before, after] = weights(401);
  EXPECT_EQ(before, after);
  const auto [start, end] = weights(400);
  EXPECT_NE(start, end);
}

TEST_P(OffPolicyLearnerTest, ADivergedTrainingStops) {
  config_.dqn.learning_rate = config_.sac.learning_rate = 1e30;
  RunFolder made = folder("run");
  try {
    train(backend_, config_, made, {});
    FAIL() << "NaN was trained on";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("training diverged"));
    EXPECT_THAT(error.next(), HasSubstr("--learning-rate"));
  }
}

TEST_P(OffPolicyLearnerTest, RefusesTheOtherKindOfActions) {
  const bool dqn = GetParam() == "dqn";
  config_.environment = dqn ? "Pendulum-v1" : "CartPole-v1";
  try {
    make_learner(Context(backend_.plugin), config_);
    FAIL() << "it acts in " << config_.environment;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot act in " + config_.environment));
    EXPECT_THAT(error.next(), HasSubstr(dqn ? "thrust train sac Pendulum-v1" : "thrust train dqn CartPole-v1"));
  }
}

// Which threads of a team compute a part changes nothing in how it is computed.
TEST_P(OffPolicyLearnerTest, SeveralThreadsTrainTheSame) {
  const auto weights = [&](std::uint32_t threads) {
    ContextOptions options;
    options.threads = threads;
    const std::unique_ptr<Learner> learner = make_learner(Context(backend_.plugin, options), config_);
    learner->environment().reset(1);
    learner->environment_changed();
    run(*learner, 1000);
    for (const Metric& metric : learner->metrics()) EXPECT_TRUE(std::isfinite(metric.value)) << metric.tag;
    std::vector<float> all = learner->buffers().at("replay/rows").read<float>();
    const std::string name = GetParam() == "dqn" ? "agent/q/2/weight" : "agent/actor/2/weight";
    const std::vector<float> values = learner->buffers().at(name).read<float>();
    all.insert(all.end(), values.begin(), values.end());
    return all;
  };
  EXPECT_TRUE(weights(1) == weights(2));
}

// Ctrl-C, evaluations and checkpoints wait for an iteration; a longer run must have the same.
TEST_P(OffPolicyLearnerTest, AnIterationIsShortWhateverItsStepsCost) {
  const auto steps = [&](std::int64_t envs, std::int64_t frequency, std::int64_t gradient_steps) {
    config_.dqn.num_envs = config_.sac.num_envs = envs;
    config_.dqn.train_frequency = config_.sac.train_frequency = frequency;
    config_.dqn.gradient_steps = config_.sac.gradient_steps = gradient_steps;
    const std::int64_t each = steps_per_iteration(config_);
    for (const std::int64_t total : {100, 2000, 1'000'000}) {
      config_.total_timesteps = total;
      EXPECT_EQ(steps_per_iteration(config_), each);
    }
    return each;
  };
  EXPECT_EQ(steps(1, 1, 1), 100);
  EXPECT_EQ(steps(1, 256, 128), 100);
  EXPECT_EQ(steps(8, 8, 1), 96);
  EXPECT_EQ(steps(200, 200, 1), 200);
  EXPECT_EQ(steps(1, 1, 3), 20);
  EXPECT_EQ(steps(1, 1, 1000), 1);
}

TEST_P(OffPolicyLearnerTest, ARunWithoutAnUpdateIsRefused) {
  const auto first_update_at = [&](std::int64_t starts, std::int64_t frequency, std::int64_t step) {
    config_.dqn.learning_starts = config_.sac.learning_starts = starts;
    config_.dqn.train_frequency = config_.sac.train_frequency = frequency;
    config_.dqn.gradient_steps = config_.sac.gradient_steps = 1;
    config_.total_timesteps = (step + 99) / 100 * 100;
    EXPECT_NO_THROW(validate(config_));
    config_.total_timesteps -= 1;
    try {
      validate(config_);
      ADD_FAILURE() << "no update before step " << step;
    } catch (const Error& error) {
      EXPECT_THAT(error.why(), HasSubstr("the first update is at step " + std::to_string(step)));
      EXPECT_THAT(error.next(), HasSubstr("--total-timesteps " + std::to_string((step + 99) / 100 * 100)));
    }
  };
  first_update_at(1000, 20, 1000);
  first_update_at(1001, 20, 1020);
  first_update_at(0, 5000, 5000);
  first_update_at(0, 1, 1);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, OffPolicyLearnerTest, testing::Values("dqn", "sac"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace thrt::rl
