// The training loop's promises about its run folder: what resumes, what is refused, what is left alone.
#include <thrt/error.hpp>
#include <thrt/io/safetensors.hpp>
#include <thrt/plugin/registry.hpp>
#include <thrt/rl/train/trainer.hpp>

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

TEST_F(TrainerTest, AFolderNamedInNoEncodingTrains) {
  RunFolder made = folder("bad\xff");
  run(made);
  EXPECT_THAT(text_of(made.summary_file()), HasSubstr("\"finished\": true"));
}

}  // namespace
}  // namespace thrt::rl
