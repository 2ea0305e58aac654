// Run folders: made whole or not at all, never written over, and read without trusting what lies in them.
#include <thrt/rl/train/run_folder.hpp>

#include <thrt/error.hpp>

#include "tests/core/io/scratch_folder.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace thrt::rl {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class RunFolderTest : public testing::Test {
 protected:
  template <typename Call>
  static Error error_of(Call call) {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kStart);
      EXPECT_FALSE(error.why().empty());
      EXPECT_FALSE(error.next().empty());
      return error;
    }
    ADD_FAILURE() << "nothing was refused";
    return Error("");
  }
  static void touch(const fs::path& file, const std::string& text = "x") { std::ofstream(file) << text; }

  io::test::ScratchFolder scratch_;
  fs::path path_ = scratch_.path() / "runs" / "one";
};

TEST_F(RunFolderTest, IsMadeWithItsParentsAndOpensOnceItHoldsARun) {
  const RunFolder folder = RunFolder::create(path_);
  EXPECT_TRUE(fs::is_directory(path_ / "checkpoints"));
  EXPECT_EQ(folder.checkpoint_file(512), path_ / "checkpoints" / "step_512.safetensors");
  EXPECT_THAT(error_of([&] { RunFolder::open(path_); }).why(), HasSubstr("no config.toml"));
  touch(folder.config_file());
  EXPECT_EQ(RunFolder::open(path_).path(), path_);
  EXPECT_EQ(RunFolder::open(path_ / "").path(), path_);
}

TEST_F(RunFolderTest, AnEmptyFolderIsTaken) {
  fs::create_directories(path_);
  EXPECT_NO_THROW(RunFolder::create(path_));
}

TEST_F(RunFolderTest, AUsedOneIsRefusedAndLeftAlone) {
  touch(RunFolder::create(path_).config_file(), "seed = 1");
  const Error used = error_of([&] { RunFolder::create(path_); });
  EXPECT_EQ(std::string(used.what()), "the run folder '" + path_.string() + "' is already used");
  EXPECT_THAT(used.next(), HasSubstr("--resume " + path_.string()));
  EXPECT_TRUE(fs::exists(path_ / "config.toml"));

  const fs::path other = scratch_.path() / "photos";
  fs::create_directory(other);
  touch(other / "a.jpg");
  EXPECT_THAT(error_of([&] { RunFolder::create(other); }).what(), HasSubstr("is not empty"));
  EXPECT_EQ(std::distance(fs::directory_iterator(other), {}), 1);
}

TEST_F(RunFolderTest, APlaceThatCannotBeWrittenIsRefusedAndNothingStays) {
  touch(scratch_.path() / "file");
  EXPECT_THAT(error_of([&] { RunFolder::create(scratch_.path() / "file"); }).why(), HasSubstr("a file of that name"));
  EXPECT_THAT(error_of([&] { RunFolder::create(scratch_.path() / "file" / "run"); }).why(),
              HasSubstr("Not a directory"));
  // Not even root makes folders there.
  EXPECT_THAT(error_of([] { RunFolder::create("/proc/thrust/run"); }).what(), HasSubstr("/proc/thrust/run"));
  // A name that is too long fails at the last step: the parents made before it go again.
  const fs::path deep = scratch_.path() / "a" / "b" / std::string(300, 'x');
  EXPECT_THAT(error_of([&] { RunFolder::create(deep); }).why(), HasSubstr("too long"));
  EXPECT_EQ(scratch_.names(), std::vector<std::string>{"file"});
  EXPECT_THAT(error_of([] { RunFolder::create(""); }).what(), HasSubstr("no name"));
}

TEST_F(RunFolderTest, NewNamesAreNeverAnotherRuns) {
  const RunFolder first = RunFolder::create_new_name(scratch_.path() / "runs", "stem");
  const RunFolder second = RunFolder::create_new_name(scratch_.path() / "runs", "stem");
  const RunFolder third = RunFolder::create_new_name(scratch_.path() / "runs", "stem");
  EXPECT_EQ(first.path().filename(), "stem");
  EXPECT_EQ(second.path().filename(), "stem-2");
  EXPECT_EQ(third.path().filename(), "stem-3");
}

TEST_F(RunFolderTest, DiscardRemovesWhatCreateMadeAndNothingElse) {
  RunFolder folder = RunFolder::create(path_);
  touch(folder.config_file());
  folder.discard();
  EXPECT_TRUE(scratch_.names().empty());

  fs::create_directories(path_);  // was there before
  RunFolder inside = RunFolder::create(path_);
  touch(inside.config_file());
  inside.discard();
  EXPECT_TRUE(fs::is_empty(path_));

  RunFolder again = RunFolder::create(path_);
  touch(again.config_file());
  RunFolder opened = RunFolder::open(path_);
  opened.discard();
  EXPECT_TRUE(fs::exists(path_ / "config.toml"));

  RunFolder one = RunFolder::create(scratch_.path() / "shared" / "one");
  const RunFolder two = RunFolder::create(scratch_.path() / "shared" / "two");
  one.discard();  // made the parent, which the other one lives in by now
  EXPECT_TRUE(fs::exists(two.path()));
}

TEST_F(RunFolderTest, OpeningWhatIsNoRunSaysWhy) {
  EXPECT_THAT(error_of([&] { RunFolder::open(scratch_.path() / "absent"); }).what(),
              HasSubstr("there is no run folder"));
  touch(scratch_.path() / "file");
  EXPECT_THAT(error_of([&] { RunFolder::open(scratch_.path() / "file"); }).why(), HasSubstr("a file"));
}

TEST_F(RunFolderTest, OneInUseIsRefusedAndLeftAloneButReadable) {
  std::optional<RunFolder> first = RunFolder::create(path_);
  EXPECT_THAT(error_of([&] { RunFolder::create(path_); }).what(), HasSubstr("is in use by another thrust"));
  touch(first->config_file());
  EXPECT_THAT(error_of([&] { RunFolder::resume(path_); }).what(), HasSubstr("is in use by another thrust"));
  EXPECT_EQ(RunFolder::open(path_).latest_checkpoint(), std::nullopt);
  EXPECT_TRUE(fs::is_directory(path_ / "checkpoints"));

  std::optional<RunFolder> copy = first;  // the lock goes with the last of them
  first.reset();
  EXPECT_THAT(error_of([&] { RunFolder::resume(path_); }).what(), HasSubstr("is in use"));
  copy.reset();
  RunFolder resumed = RunFolder::resume(path_);
  resumed.discard();
  EXPECT_TRUE(fs::exists(path_ / "config.toml"));
}

TEST_F(RunFolderTest, OfSeveralStartedAtOnceOneWinsAndKeepsItsFiles) {
  constexpr int kProcesses = 8;
  for (int round = 0; round < 20; ++round) {
    int gate[2];
    ASSERT_EQ(pipe(gate), 0);
    std::vector<pid_t> children;
    for (int number = 0; number < kProcesses; ++number) {
      children.push_back(fork());
      if (children.back() != 0) continue;
      close(gate[1]);
      char byte;
      const bool opened = read(gate[0], &byte, 1) == 0;  // all start when the parent closes its end
      try {
        const RunFolder folder = RunFolder::create(path_);
        touch(folder.config_file(), std::to_string(number));
        _exit(opened ? 0 : 2);
      } catch (const Error&) {
        _exit(1);
      }
    }
    close(gate[0]);
    close(gate[1]);
    std::vector<int> winners;
    for (int number = 0; number < kProcesses; ++number) {
      int status = 0;
      waitpid(children[static_cast<std::size_t>(number)], &status, 0);
      ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) != 2);
      if (WEXITSTATUS(status) == 0) winners.push_back(number);
    }
    ASSERT_EQ(winners.size(), 1U) << "round " << round;
    std::ifstream in(path_ / "config.toml");
    std::string owner;
    std::getline(in, owner);
    EXPECT_EQ(owner, std::to_string(winners[0]));
    EXPECT_TRUE(fs::is_directory(path_ / "checkpoints"));
    fs::remove_all(scratch_.path() / "runs");
  }
}

// A link to itself stands for what the system refuses to look at: unlike permissions it stops root, too.
TEST_F(RunFolderTest, WhatCannotBeLookedAtIsNotCalledMissing) {
  const RunFolder folder = RunFolder::create(path_);
  fs::create_symlink("config.toml", folder.config_file());
  EXPECT_THAT(error_of([&] { RunFolder::open(path_); }).why(), HasSubstr("Too many levels of symbolic links"));
  fs::remove(folder.config_file());
  fs::create_symlink("latest", path_ / "checkpoints" / "latest");
  EXPECT_THAT(error_of([&] { folder.latest_checkpoint(); }).why(), HasSubstr("Too many levels of symbolic links"));
}

TEST_F(RunFolderTest, SuggestedCommandsQuoteThePath) {
  const fs::path path = scratch_.path() / "my run";
  touch(RunFolder::create(path).config_file());
  EXPECT_THAT(error_of([&] { RunFolder::create(path); }).next(), HasSubstr("--resume '" + path.string() + "'"));
}

TEST_F(RunFolderTest, LatestFollowsTheNewestCheckpoint) {
  const RunFolder folder = RunFolder::create(path_);
  EXPECT_EQ(folder.latest_checkpoint(), std::nullopt);
  for (const std::int64_t step : {256, 512}) {
    touch(folder.checkpoint_file(step));
    folder.set_latest(step);
    EXPECT_EQ(folder.latest_checkpoint(), folder.checkpoint_file(step));
  }
  fs::remove(folder.checkpoint_file(512));
  EXPECT_THAT(error_of([&] { folder.latest_checkpoint(); }).what(), HasSubstr("step_512.safetensors' is missing"));
}

TEST_F(RunFolderTest, LatestCannotLeadElsewhere) {
  const RunFolder folder = RunFolder::create(path_);
  touch(path_ / "step_1.safetensors");
  for (const char* name : {"", "../step_1.safetensors", "/etc/passwd", "step_.safetensors", "step_1",
                           "step_-1.safetensors", "step_1/../../x.safetensors", "\x01\xff"}) {
    touch(path_ / "checkpoints" / "latest", name);
    EXPECT_THAT(error_of([&] { folder.latest_checkpoint(); }).what(), HasSubstr("is damaged")) << name;
  }
}

}  // namespace
}  // namespace thrt::rl
