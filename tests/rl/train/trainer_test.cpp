// The training loop's promises about its run folder: what resumes, what is refused, what is left alone.
#include <thrt/error.hpp>
#include <thrt/io/safetensors.hpp>
#include <thrt/plugin/registry.hpp>
#include <thrt/rl/train/trainer.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

namespace thrt::rl {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class TrainerTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) /
            ("thrt_trainer_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(root_);
    fs::create_directories(root_);
    backend_.plugin = std::make_shared<LoadedPlugin>(THRT_BUILD_DIR "/lib/thrust/plugins/libthrust_backend_cpu.so",
                                                     LoadOptions{.validate = true});
    config_.environment = "CartPole-v1";
    config_.total_timesteps = 8 * 64;
    config_.checkpoint_every = 4 * 64;
    config_.ppo.num_envs = 4;
    config_.ppo.num_steps = 16;
    config_.ppo.num_minibatches = 2;
    config_.ppo.hidden = {8, 8};
  }
  void TearDown() override { fs::remove_all(root_); }

  // A folder as the command line leaves it before training.
  RunFolder folder(const std::string& name) {
    RunFolder made = RunFolder::create(root_ / name);
    std::ofstream(made.config_file()) << "# a run\n";
    return made;
  }
  TrainResult run(RunFolder& into, const RunConfig& config) { return train(backend_, config, into, {}); }
  TrainResult run(RunFolder& into) { return run(into, config_); }

  template <typename Action>
  static std::optional<Error> error_of(Action&& action) {
    try {
      action();
    } catch (const Error& error) {
      return error;
    }
    return std::nullopt;
  }

  fs::path root_;
  SelectedBackend backend_;
  RunConfig config_;
};

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void set_metadata(const fs::path& file, const std::string& key, const std::string& value) {
  io::SafeTensors tensors = io::SafeTensors::read(file);
  tensors.metadata[key] = value;
  tensors.write(file);
}

TEST_F(TrainerTest, ARunKilledBeforeItsFirstCheckpointBeginsAnew) {
  RunFolder whole = folder("whole"), killed = folder("killed");
  const TrainResult expected = run(whole);
  fs::copy_file(whole.progress_file(), killed.progress_file());
  std::ofstream(killed.progress_file(), std::ios::app) << "64,0.1,cut sho";
  const TrainResult again = run(killed);
  EXPECT_EQ(text_of(expected.checkpoint), text_of(again.checkpoint));
  const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  EXPECT_EQ(lines(text_of(killed.progress_file())), 1 + 8);
}

TEST_F(TrainerTest, ACheckpointOfAnotherNetworkIsRefusedEvenWhereAllNamesAreFound) {
  RunFolder made = folder("run");
  const std::string checkpoint = run(made).checkpoint;
  RunConfig shallow = config_, relu = config_, wide = config_;
  shallow.ppo.hidden = {8};
  relu.ppo.activation = "relu";
  wide.ppo.hidden = {16, 8};
  for (const RunConfig& other : {shallow, relu, wide}) {
    const auto in_eval = error_of([&] { evaluate(backend_, other, checkpoint, {.episodes = 2}); });
    ASSERT_TRUE(in_eval);
    EXPECT_THAT(in_eval->what(), HasSubstr("another network"));
    EXPECT_THAT(in_eval->what(), HasSubstr(checkpoint));
    RunConfig longer = other;
    longer.total_timesteps *= 2;
    const auto in_train = error_of([&] { run(made, longer); });
    ASSERT_TRUE(in_train);
    EXPECT_THAT(in_train->what(), HasSubstr("another network"));
  }
}

TEST_F(TrainerTest, CountersThatCannotBeAreRefused) {
  RunFolder made = folder("run");
  const std::string checkpoint = run(made).checkpoint;
  RunConfig longer = config_;
  longer.total_timesteps *= 2;
  for (const auto& [key, value] : {std::pair{"updates", "3"},
                                   {"updates", "9223372036854775807"},
                                   {"episodes", "9223372036854775807"},
                                   {"step", "-1"},
                                   {"seed", "77"}}) {
    SCOPED_TRACE(key);
    const std::string good = text_of(checkpoint);
    set_metadata(checkpoint, key, value);
    const auto error = error_of([&] { run(made, longer); });
    ASSERT_TRUE(error);
    EXPECT_THAT(error->what(), HasSubstr(checkpoint));
    EXPECT_EQ(error->kind(), ErrorKind::kStart);
    std::ofstream(checkpoint, std::ios::binary) << good;
  }
}

TEST_F(TrainerTest, ADivergedRunFailsAndKeepsItsCheckpoints) {
  RunFolder made = folder("run");
  const std::string before = run(made).checkpoint;
  const std::string bytes = text_of(before);
  RunConfig wild = config_;
  wild.total_timesteps *= 2;
  wild.ppo.learning_rate = 1e38;
  const auto error = error_of([&] { run(made, wild); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), HasSubstr("training diverged"));
  EXPECT_EQ(error->kind(), ErrorKind::kRun);
  EXPECT_EQ(made.latest_checkpoint()->string(), before);
  EXPECT_EQ(text_of(before), bytes);
}

TEST_F(TrainerTest, AFinishedRunResumedKeepsItsSummary) {
  RunFolder made = folder("run");
  run(made);
  const std::string summary = text_of(made.summary_file());
  EXPECT_THAT(summary, HasSubstr("\"finished\": true"));
  run(made);
  EXPECT_EQ(text_of(made.summary_file()), summary);
}

TEST_F(TrainerTest, ARunEndsAtTheFirstEvaluationOverItsMark) {
  config_.eval_every = 128;  // two iterations
  config_.eval_episodes = 7;
  config_.stop_at = 1.0;  // every episode of CartPole returns more
  RunFolder made = folder("run");
  const TrainResult result = run(made);
  ASSERT_TRUE(result.reached);
  EXPECT_EQ(result.reached->step, 128);
  EXPECT_EQ(result.last.step, 128);
  EXPECT_FALSE(result.interrupted);
  EXPECT_GT(result.evaluation_seconds, 0.0);
  EXPECT_GT(result.reached->seconds, 0.0);
  EXPECT_LE(result.reached->seconds, result.seconds);
  ASSERT_EQ(result.evaluations.size(), 1U);
  EXPECT_EQ(made.latest_checkpoint()->filename(), "step_128.safetensors");
  EXPECT_THAT(text_of(made.summary_file()), HasSubstr("\"reached\": {\n    \"step\": 128"));

  // It is what an evaluation of that checkpoint with the same episodes gives.
  const EvalResult again = evaluate(backend_, config_, result.checkpoint, {.episodes = 7, .seed = 2'000'000});
  EXPECT_EQ(again.mean, result.reached->mean);
  EXPECT_EQ(again.standard_deviation, result.reached->standard_deviation);
  EXPECT_THAT(text_of(made.progress_file()), HasSubstr(",eval_return,"));
  const std::string mean = fmt::format(",{},", again.mean);
  EXPECT_THAT(text_of(made.progress_file()), HasSubstr(mean));
}

TEST_F(TrainerTest, ARunThatDoesNotReachItsMarkGoesToItsEnd) {
  config_.stop_at = 1e9;
  config_.eval_every = 192;  // three iterations; and once more at the end
  config_.eval_episodes = 3;
  RunFolder made = folder("run");
  const TrainResult result = run(made);
  EXPECT_FALSE(result.reached);
  EXPECT_EQ(result.last.step, config_.total_timesteps);
  std::vector<std::int64_t> steps;
  for (const Evaluation& evaluation : result.evaluations) steps.push_back(evaluation.step);
  EXPECT_THAT(steps, testing::ElementsAre(192, 384, 512));
  config_.eval_every = 0;  // by itself: a fiftieth of the run, so after every iteration
  RunFolder other = folder("other");
  EXPECT_EQ(run(other).evaluations.size(), 8U);
}

TEST_F(TrainerTest, EvaluationsChangeNothingOfTheTraining) {
  RunFolder plain = folder("plain"), evaluated = folder("evaluated");
  const TrainResult expected = run(plain);
  EXPECT_TRUE(expected.evaluations.empty());
  config_.eval_every = 64;
  config_.eval_episodes = 5;
  const TrainResult result = run(evaluated);
  EXPECT_EQ(result.evaluations.size(), 8U);
  EXPECT_EQ(text_of(expected.checkpoint), text_of(result.checkpoint));
}

TEST_F(TrainerTest, AnInterruptedRunOfEachKindGoesOnToTheSameBits) {
  RunConfig ppo_pendulum = config_, a2c = config_, a2c_pendulum = config_;
  ppo_pendulum.environment = "Pendulum-v1";
  a2c.algorithm = a2c_pendulum.algorithm = "a2c";
  a2c_pendulum.environment = "Pendulum-v1";
  a2c_pendulum.a2c.shared_trunk = true;
  a2c_pendulum.a2c.optimiser = "adam";
  int number = 0;
  for (const RunConfig& config : {config_, ppo_pendulum, a2c, a2c_pendulum}) {
    SCOPED_TRACE(config.algorithm + " " + config.environment);
    RunFolder whole = folder("whole" + std::to_string(number)), halves = folder("halves" + std::to_string(number));
    ++number;
    const TrainResult expected = run(whole, config);
    int updates = 0;
    TrainHooks hooks;
    hooks.stop_requested = [&] { return ++updates == 3; };
    const TrainResult first = train(backend_, config, halves, hooks);
    EXPECT_TRUE(first.interrupted);
    EXPECT_EQ(first.last.step, 3 * steps_per_iteration(config));
    const TrainResult second = run(halves, config);
    EXPECT_EQ(second.last.step, expected.last.step);
    EXPECT_EQ(text_of(expected.checkpoint), text_of(second.checkpoint));
  }
}

TEST_F(TrainerTest, AShortIterationIsNotAlwaysLogged) {
  config_.algorithm = "a2c";
  config_.a2c.num_envs = 1;
  config_.a2c.num_steps = 1;
  config_.a2c.hidden = {4};
  config_.total_timesteps = 2500;
  config_.checkpoint_every = 2500;
  RunFolder made = folder("run");
  run(made);
  const std::string text = text_of(made.progress_file());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 1250);  // every second of 2500 iterations
}

TEST_F(TrainerTest, AFolderNamedInNoEncodingTrains) {
  RunFolder made = folder("bad\xff");
  run(made);
  EXPECT_THAT(text_of(made.summary_file()), HasSubstr("\"finished\": true"));
}

}  // namespace
}  // namespace thrt::rl
