// Progress lines, with the clock in the test's hand; and the numbers in them.
#include "progress.hpp"
#include "report.hpp"

#include <thrt/shell_word.hpp>
#include <thrt/standard_streams.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <pty.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>

namespace thrt::cli {
namespace {

using std::chrono::milliseconds;

// What was written to a FILE.
class Written {
 public:
  Written() : file_(open_memstream(&text_, &size_)) {}
  ~Written() {
    std::fclose(file_);
    std::free(text_);
  }
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;

  std::FILE* file() const { return file_; }
  std::string text() const {
    std::fflush(file_);
    return {text_, size_};
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* file_;
};

rl::TrainProgress progress_at(std::int64_t step, std::int64_t total) {
  rl::TrainProgress progress;
  progress.step = step;
  progress.total_steps = total;
  progress.mean_return = 123.44;
  progress.steps_per_second = 27149.0;
  progress.remaining = 5.2;
  return progress;
}

TEST(ProgressText, HasStepsPercentReturnSpeedAndTimeLeft) {
  EXPECT_EQ(progress_text(progress_at(12288, 150000)),
            "step 12,288/150,000 (8 %)  return 123.4  27.1k steps/s  left 0:05");
  rl::TrainProgress none = progress_at(256, 512);
  none.mean_return = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(progress_text(none), testing::HasSubstr("return -  "));
}

TEST(ProgressPrinter, InAPipeALineEachTenthOrFiveSeconds) {
  const Written out;
  const ProgressPrinter::Clock::time_point start{};
  ProgressPrinter printer(out.file(), false, start);
  printer.note("note");
  for (int step = 1; step <= 100; ++step) printer.update(progress_at(step, 100), start + milliseconds(step));
  printer.finish();
  const std::string fast = out.text();
  EXPECT_EQ(std::count(fast.begin(), fast.end(), '\n'), 1 + 10);
  EXPECT_TRUE(std::all_of(fast.begin(), fast.end(), [](char c) { return c == '\n' || c >= ' '; }));

  const Written slow;
  ProgressPrinter other(slow.file(), false, start);
  for (int second = 1; second <= 60; ++second)
    other.update(progress_at(second, 100'000), start + milliseconds(1000 * second));
  const std::string text = slow.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 60 / 5);
}

TEST(ProgressPrinter, OnATerminalOneLineTenTimesASecond) {
  const Written out;
  const ProgressPrinter::Clock::time_point start{};
  ProgressPrinter printer(out.file(), true, start);
  for (int step = 1; step < 1000; ++step) printer.update(progress_at(step, 100'000), start + milliseconds(step));
  const std::string running = out.text();
  EXPECT_EQ(std::count(running.begin(), running.end(), '\r'), 10);
  EXPECT_EQ(running.find('\n'), std::string::npos);
  printer.note("a note");
  EXPECT_THAT(out.text(), testing::HasSubstr("\ra note\nstep "));  // above the line, which is shown again
  printer.finish();
  EXPECT_EQ(out.text().back(), '\n');
}

TEST(ProgressPrinter, OnATerminalAShorterLineCoversALongerOne) {
  const Written out;
  const ProgressPrinter::Clock::time_point start{};
  ProgressPrinter printer(out.file(), true, start);
  printer.update(progress_at(1'000, 1'000'000'000), start);
  printer.update(progress_at(1, 1), start);  // the last one is always shown
  const std::string text = out.text();
  const std::size_t second = text.rfind('\r');
  EXPECT_EQ(text.size() - second, second);
}

TEST(ProgressPrinter, FitsANarrowTerminal) {
  int controller = -1, terminal = -1;
  const winsize size{.ws_row = 24, .ws_col = 20, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(openpty(&controller, &terminal, nullptr, nullptr, &size), 0);
  std::FILE* out = fdopen(terminal, "w");
  setenv("TERM", "xterm", 1);
  EXPECT_TRUE(is_terminal(out));
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(is_terminal(out));
  ProgressPrinter(out, true).update(progress_at(12288, 150000));
  std::array<char, 256> buffer{};
  const ssize_t count = read(controller, buffer.data(), buffer.size());
  EXPECT_EQ(std::string(buffer.data(), static_cast<std::size_t>(count)), "\rstep 12,288/150,000");
  std::fclose(out);
  close(controller);
}

TEST(Report, Numbers) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(-123456), "-123,456");
  EXPECT_EQ(short_number(999.4), "999");
  EXPECT_EQ(short_number(999.96), "1.0k");
  EXPECT_EQ(short_number(46e6), "46.0M");
  EXPECT_EQ(clock_text(59.6), "1:00");
  EXPECT_EQ(clock_text(3700.0), "1:01:40");
  EXPECT_EQ(clock_text(-1.0), "--:--");
  EXPECT_EQ(clock_text(std::numeric_limits<double>::infinity()), "--:--");
}

TEST(Report, ErrorsHaveThreeLinesAtMostAndAreNeverEmpty) {
  EXPECT_EQ(error_text(Error("w", "y", "t")), "error: w\n  why: y\n  try: t\n");
  EXPECT_EQ(error_text(Error("w")), "error: w\n");
  EXPECT_EQ(error_text(Error("")), "error: it failed without saying why\n");
}

TEST(Report, CommandsToCopyAreQuoted) {
  EXPECT_EQ(shell_word("runs/CartPole-v1__ppo"), "runs/CartPole-v1__ppo");
  EXPECT_EQ(shell_word("my runs"), "'my runs'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace thrt::cli
