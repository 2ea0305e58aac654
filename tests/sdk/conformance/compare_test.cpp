// What the comparison notices: values, and what a run must leave alone.
#include "case_program.hpp"
#include "suite_bench.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace thrt::conformance {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The verdict on one f32 element.
std::string verdict(double came, double want, double bound) {
  Expected slot;
  slot.value = encode({want}, DType::kF64);
  slot.bound = {bound};
  return first_difference("y", {DType::kF32, {}}, encode({came}, DType::kF32), slot);
}

TEST(FirstDifference, IsOutsideTheBound) {
  EXPECT_EQ(verdict(1.0, 1.0, 0.0), "");
  EXPECT_EQ(verdict(1.5, 1.0, 0.5), "");
  EXPECT_NE(verdict(1.5, 1.0, 0.4999), "");
  EXPECT_NE(verdict(1.0 + 0x1p-23, 1.0, 0.0), "");
}

TEST(FirstDifference, IsANaNOrAnInfinityOutOfPlace) {
  EXPECT_EQ(verdict(kNaN, kNaN, 0.0), "");
  EXPECT_EQ(verdict(kInfinity, kInfinity, 0.0), "");
  EXPECT_NE(verdict(kNaN, 1.0, 100.0), "");
  EXPECT_NE(verdict(1.0, kNaN, 0.0), "");
  EXPECT_NE(verdict(kInfinity, 1.0, 100.0), "");
  EXPECT_NE(verdict(-kInfinity, kInfinity, 0.0), "");
  EXPECT_NE(verdict(3e38, kInfinity, 0.0), "");
}

TEST(FirstDifference, IsTheSignOfAnExactZero) {
  EXPECT_NE(verdict(-0.0, 0.0, 0.0), "");
  EXPECT_NE(verdict(0.0, -0.0, 0.0), "");
  EXPECT_EQ(verdict(-0.0, 0.0, 0x1p-1000), "");
}

TEST(FirstDifference, SaysWhereAndByHowMuch) {
  Expected slot;
  slot.value = encode({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, DType::kF64);
  slot.bound = {0.0, 0.0, 0.0, 0.0, 0.125, 0.0};
  const std::string text =
      first_difference("weights", {DType::kF32, {2, 3}}, encode({1.0, 2.0, 3.0, 4.0, 5.25, 7.0}, DType::kF32), slot);
  EXPECT_THAT(text, AllOf(HasSubstr("weights"), HasSubstr("f32[2, 3]"), HasSubstr("[1, 1]"), HasSubstr("5.25 came"),
                          HasSubstr("5 was expected"), HasSubstr("0.25"), HasSubstr("0.125 is allowed")));
}

TEST(FirstDifference, OfIntegersIsExactUnlessUndecided) {
  Expected slot;
  slot.value = encode({1.0, 2.0}, DType::kI32);
  const Type type{DType::kI32, {2}};
  EXPECT_NE(first_difference("y", type, encode({1.0, 3.0}, DType::kI32), slot), "");
  slot.undecided = {std::byte{0}, std::byte{1}};
  EXPECT_EQ(first_difference("y", type, encode({1.0, 3.0}, DType::kI32), slot, 0.5), "");
  EXPECT_NE(first_difference("y", type, encode({2.0, 3.0}, DType::kI32), slot, 0.5), "");
}

TEST(FirstDifference, IsAlsoThatTooLittleCanBeCompared) {
  EXPECT_THAT(verdict(1.0, 1.0, kInfinity), HasSubstr("proves too little"));
  EXPECT_THAT(verdict(1.0, 1.0, kNaN), HasSubstr("proves too little"));
}

// The plugin copies slot 0 to slot 1 and, where told, does one thing wrong (careless/plugin.c).
class Careless : public ::testing::Test {
 protected:
  Outcome run(const char* misdeed, const std::vector<double>& values = {1.0, -2.0, 0.0}) {
    if (misdeed != nullptr) {
      setenv("THRT_CARELESS", misdeed, 1);
    } else {
      unsetenv("THRT_CARELESS");
    }
    CaseProgram p("copy");
    p.graph.output("copied", p.given({DType::kF32, {static_cast<std::int64_t>(values.size())}}, values));
    return p.compare(test::bench_of("tests/plugins/libthrust_backend_careless.so"));
  }
  void TearDown() override { unsetenv("THRT_CARELESS"); }
};

TEST_F(Careless, PassesWhenItCopies) {
  const Outcome outcome = run(nullptr);
  EXPECT_EQ(outcome.kind, Outcome::Kind::kPassed) << outcome.detail;
}

TEST_F(Careless, IsCaught) {
  const std::pair<const char*, const char*> misdeeds[] = {
      {"writes_behind", "behind"},       {"writes_before", "before"},    {"changes_input", "only reads"},
      {"changes_its_mind", "bits"},      {"off_by_one_ulp", "at [0]"},   {"flips_zero", "at [2]"},
      {"leaves_out_the_last", "at [2]"}, {"says_too_few_ops", "compile"}};
  for (const auto& [misdeed, words] : misdeeds) {
    const Outcome outcome = run(misdeed);
    EXPECT_EQ(outcome.kind, Outcome::Kind::kFailed) << misdeed;
    EXPECT_THAT(outcome.detail, HasSubstr(words)) << misdeed;
  }
}

TEST_F(Careless, IsUnsupportedWhenItSaysSo) {
  const Outcome outcome = run("refuses");
  EXPECT_EQ(outcome.kind, Outcome::Kind::kUnsupported);
  EXPECT_THAT(outcome.detail, HasSubstr("not today"));
}

TEST_F(Careless, FailsWhenItRefusesWhatItChecked) {
  const Outcome outcome = run("refuses_late");
  EXPECT_EQ(outcome.kind, Outcome::Kind::kFailed);
  EXPECT_THAT(outcome.detail, AllOf(HasSubstr("compile"), HasSubstr("after all")));
}

}  // namespace
}  // namespace thrt::conformance
