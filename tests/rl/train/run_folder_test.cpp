// Run folders: made whole or not at all, never written over, and read without trusting what lies in them.
#include <thrt/rl/train/run_folder.hpp>

#include <thrt/error.hpp>

#include "tests/core/io/scratch_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

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
