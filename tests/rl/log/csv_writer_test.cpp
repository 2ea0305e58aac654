#include "thrt/rl/log/csv_writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <sstream>

#include "thrt/error.hpp"

namespace thrt::rl {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kColumns{"step", "loss", "note"};

class Csv : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("csv_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    path_ = folder_ / "progress.csv";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string text() const {
    std::ifstream file(path_, std::ios::binary);
    std::ostringstream out;
    out << file.rdbuf();
    return out.str();
  }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }

  static Error error_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "no thrt::Error was thrown";
    return Error("");
  }

  std::filesystem::path folder_;
  std::filesystem::path path_;
};

TEST_F(Csv, WritesHeaderAndRowsAtOnce) {
  CsvWriter writer = CsvWriter::create(path_, kColumns);
  EXPECT_EQ(text(), "step,loss,note\n");
  writer.append(std::vector<CsvCell>{std::int64_t{10}, 0.1, std::monostate{}});
  EXPECT_EQ(text(), "step,loss,note\n10,0.1,\n");
  writer.append(std::vector<CsvCell>{std::int64_t{20}, NAN, std::string("say \"a, b\"")});
  EXPECT_EQ(text(), "step,loss,note\n10,0.1,\n20,nan,\"say \"\"a, b\"\"\"\n");
}

TEST_F(Csv, NumbersReadBackToTheBit) {
  const double value = 0x1.921fb54442d19p-7;
  CsvWriter writer = CsvWriter::create(path_, {"step", "value"});
  writer.append(std::vector<CsvCell>{std::int64_t{1}, value});
  const std::string all = text();
  EXPECT_EQ(std::stod(all.substr(all.rfind(',') + 1)), value);
}

TEST_F(Csv, ResumeDropsWhatCameAfterTheCheckpoint) {
  write("step,loss,note\n10,1,\n20,2,\n20,2.5,\n30,3,\n40,4,\n");
  CsvWriter writer = CsvWriter::resume(path_, kColumns, 20);
  EXPECT_EQ(text(), "step,loss,note\n10,1,\n20,2,\n20,2.5,\n");
  writer.append(std::vector<CsvCell>{std::int64_t{30}, 7.0, std::monostate{}});
  EXPECT_EQ(text(), "step,loss,note\n10,1,\n20,2,\n20,2.5,\n30,7,\n");
}

TEST_F(Csv, ResumeDropsARowCutShort) {
  write("step,loss,note\n10,1,\n1");
  CsvWriter::resume(path_, kColumns, 100);
  EXPECT_EQ(text(), "step,loss,note\n10,1,\n");
}

TEST_F(Csv, ResumeKeepsLineEndsInsideQuotes) {
  const std::string all = "step,loss,note\n10,1,\"two\nlines\"\n20,2,\n";
  write(all);
  CsvWriter::resume(path_, kColumns, 20);
  EXPECT_EQ(text(), all);
}

TEST_F(Csv, ResumeBeforeTheFirstRowKeepsTheHeader) {
  write("step,loss,note\n10,1,\n");
  CsvWriter::resume(path_, kColumns, 0);
  EXPECT_EQ(text(), "step,loss,note\n");
}

TEST_F(Csv, ResumeRefusesAnotherHeaderAndLeavesTheFile) {
  write("step,loss\n10,1\n");
  EXPECT_THAT(error_of([&] { CsvWriter::resume(path_, kColumns, 0); }).what(), HasSubstr("other columns"));
  EXPECT_EQ(text(), "step,loss\n10,1\n");
}

TEST_F(Csv, ResumeRefusesARowWithoutAStep) {
  write("step,loss,note\nten,1,\n");
  EXPECT_THAT(error_of([&] { CsvWriter::resume(path_, kColumns, 0); }).what(), HasSubstr("damaged"));
  EXPECT_EQ(text(), "step,loss,note\nten,1,\n");
}

TEST_F(Csv, RefusesWhatItCannotWrite) {
  write("mine");
  EXPECT_THAT(error_of([&] { CsvWriter::create(path_, kColumns); }).what(), HasSubstr("exists already"));
  EXPECT_EQ(text(), "mine");
  EXPECT_THAT(error_of([&] { CsvWriter::create(folder_ / "no" / "x.csv", kColumns); }).what(),
              HasSubstr("cannot write"));
  EXPECT_THAT(error_of([&] { CsvWriter::resume(folder_ / "x.csv", kColumns, 0); }).what(), HasSubstr("cannot read"));
}

TEST_F(Csv, RefusesRowsOfAnotherShape) {
  CsvWriter writer = CsvWriter::create(path_, {"step", "loss"});
  EXPECT_THAT(error_of([&] { writer.append(std::vector<CsvCell>{std::int64_t{1}}); }).what(), HasSubstr("1 cells"));
  EXPECT_THAT(error_of([&] { writer.append(std::vector<CsvCell>{1.0, 1.0}); }).what(), HasSubstr("without a step"));
  writer.append(std::vector<CsvCell>{std::int64_t{5}, 1.0});
  EXPECT_THAT(error_of([&] {
                writer.append(std::vector<CsvCell>{std::int64_t{4}, 1.0});
              }).what(),
              HasSubstr("without a step"));
  EXPECT_EQ(text(), "step,loss\n5,1\n");
}

}  // namespace
}  // namespace thrt::rl
