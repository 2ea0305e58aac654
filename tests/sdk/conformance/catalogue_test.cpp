// The catalogue as a whole: complete, passed by the backends of the tree, and not to be passed by doing nothing.
#include "case.hpp"
#include "suite_bench.hpp"

#include <thrt/error.hpp>
#include <thrt/ir/ops.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

namespace thrt::conformance {
namespace {

std::vector<Case> catalogue() {
  std::vector<Case> cases = op_cases();
  for (const Case& each : program_cases()) cases.push_back(each);
  return cases;
}

Outcome outcome_of(const Case& each, const Bench& bench) {
  try {
    return each.run(bench);
  } catch (const std::exception& error) {
    return {Outcome::Kind::kFailed, error.what()};
  }
}

TEST(Catalogue, HasEveryOpForEveryDTypeItTakes) {
  std::map<std::string, std::set<DType>> tried;
  for (const Case& each : op_cases()) {
    ASSERT_TRUE(each.dtype.has_value()) << each.name;
    tried[each.area].insert(*each.dtype);
  }
  for (const ir::OpInfo& op : ir::all_ops()) {
    for (const DType dtype : ir::kAllDTypes) {
      if ((op.dtypes & ir::dtype_bit(dtype)) == 0) continue;
      if (op.kind == OpKind::RANDOM_BITS && dtype != DType::kU32) continue;  // from u32 to u32 alone
      EXPECT_TRUE(tried[std::string(op.name)].contains(dtype)) << op.name << " " << ir::dtype_name(dtype);
    }
  }
}

TEST(Catalogue, NamesEachCaseOnce) {
  std::set<std::string> names;
  for (const Case& each : catalogue()) EXPECT_TRUE(names.insert(each.name).second) << each.name;
}

TEST(Catalogue, GivesEachCaseTheLevelOfItsOpAndDTypes) {
  for (const Case& each : op_cases()) {
    const bool is_half = *each.dtype == DType::kF16 || *each.dtype == DType::kBF16;
    if (*each.dtype == DType::kF64) {
      EXPECT_EQ(each.level, Level::kNone) << each.name;
    } else if (is_half && each.level != Level::kNone) {  // casts of halves to f64 are of no level
      EXPECT_EQ(each.level, Level::kMixedPrecision) << each.name;
    } else if (each.area == "add") {
      EXPECT_EQ(each.level, Level::kCore) << each.name;
    } else if (each.area == "erf") {
      EXPECT_EQ(each.level, Level::kTraining) << each.name;
    } else if (each.area == "conv2d") {
      EXPECT_EQ(each.level, Level::kVision) << each.name;
    }
  }
}

TEST(Catalogue, IsPassedByTheReference) {
  const Bench bench = {test::reference(), test::reference(), 0};
  for (const Case& each : catalogue()) {
    const Outcome outcome = outcome_of(each, bench);
    EXPECT_EQ(outcome.kind, Outcome::Kind::kPassed) << each.name << ": " << outcome.detail;
  }
}

TEST(Catalogue, IsPassedByTheCpuBackendWhereItClaims) {
  const std::string file = "lib/thrust/plugins/libthrust_backend_cpu.so";
  if (!std::filesystem::exists(std::filesystem::path(THRT_BUILD_DIR) / file)) GTEST_SKIP() << "built without it";
  const Bench bench = test::bench_of(file);
  std::size_t passed = 0;
  for (const Case& each : catalogue()) {
    const Outcome outcome = outcome_of(each, bench);
    const bool may_refuse = each.level == Level::kMixedPrecision || each.level == Level::kNone;
    if (outcome.kind == Outcome::Kind::kPassed) ++passed;
    EXPECT_TRUE(outcome.kind == Outcome::Kind::kPassed || (may_refuse && outcome.kind == Outcome::Kind::kUnsupported))
        << each.name << ": " << outcome.detail;
  }
  EXPECT_GT(passed, 300u);
}

// A plugin that accepts everything and computes nothing.
TEST(Catalogue, IsNotPassedByDoingNothing) {
  const Bench bench = test::bench_of("tests/plugins/libthrust_backend_null.so");
  for (const Case& each : catalogue()) {
    if (each.name == "program/empty") continue;  // there nothing is what is asked for
    EXPECT_EQ(outcome_of(each, bench).kind, Outcome::Kind::kFailed) << each.name;
  }
}

}  // namespace
}  // namespace thrt::conformance
