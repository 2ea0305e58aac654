// Verdicts, the choice of cases and the texts, on results made up for the purpose.
#include "report.hpp"
#include "progress.hpp"
#include "selection.hpp"

#include <thrt/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace thrt::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Kind = Outcome::Kind;

void add(Session& session, const Case& one, std::optional<Outcome> outcome) {
  session.cases.push_back(one);
  session.chosen.push_back(true);
  session.results.push_back(outcome ? std::optional(CaseResult{*outcome, 0.5}) : std::nullopt);
}

Case op_case(const std::string& area, DType dtype, Level level, const std::string& part = "a") {
  return {area + "/" + ir::dtype_name(dtype) + "/" + part, area, dtype, level, {}};
}

Session empty_session() {
  Session session;
  session.subject.manifest.id = "mine";
  session.subject.manifest.version = "1.2.3";
  session.subject.manifest.vendor = "somebody";
  session.subject.manifest.abi_major = 1;
  session.subject.manifest.opset_min = session.subject.manifest.opset_max = 1;
  session.subject.file = "/plugins/libthrust_backend_mine.so";
  session.subject.device.name = "a device";
  session.subject.device.kind = THRT_DEVICE_CPU;
  session.reference = session.subject;
  session.called = "thrust-conformance --plugin x.so";
  return session;
}

std::vector<std::string> verdicts(const Session& session) {
  std::vector<std::string> names;
  for (const LevelReport& level : judge(session)) names.emplace_back(verdict_name(level.verdict));
  return names;
}

// One case a level, with these outcomes.
Session levels_session(std::optional<Outcome> core, std::optional<Outcome> training, std::optional<Outcome> vision,
                       std::optional<Outcome> mixed) {
  Session session = empty_session();
  add(session, op_case("add", DType::kF32, Level::kCore), std::move(core));
  add(session, op_case("gather", DType::kF32, Level::kTraining), std::move(training));
  add(session, op_case("conv2d", DType::kF32, Level::kVision), std::move(vision));
  add(session, op_case("add", DType::kF16, Level::kMixedPrecision), std::move(mixed));
  return session;
}

const Outcome kGood{};
const Outcome kBad{Kind::kFailed, "1 came, 2 was expected"};
const Outcome kRefused{Kind::kUnsupported, "conv2d: not done here"};

TEST(Verdicts, ALevelNeedsAllItsCasesAndThoseBelow) {
  EXPECT_THAT(verdicts(levels_session(kGood, kGood, kGood, kGood)),
              ElementsAre("passed", "passed", "passed", "passed"));
  EXPECT_THAT(verdicts(levels_session(kGood, kBad, kGood, kGood)),
              ElementsAre("passed", "failed", "not reached", "not reached"));
  EXPECT_THAT(verdicts(levels_session(kBad, kGood, kGood, kGood)),
              ElementsAre("failed", "not reached", "not reached", "not reached"));
  EXPECT_THAT(verdicts(levels_session(kGood, kGood, kRefused, kGood)),
              ElementsAre("passed", "passed", "not claimed", "passed"));
  EXPECT_THAT(verdicts(levels_session(kGood, std::nullopt, kGood, kBad)),
              ElementsAre("passed", "incomplete", "not reached", "failed"));
}

TEST(Verdicts, AFailureCountsMoreThanARefusal) {
  Session session = empty_session();
  add(session, op_case("add", DType::kF32, Level::kCore, "a"), kRefused);
  add(session, op_case("add", DType::kF32, Level::kCore, "b"), kBad);
  EXPECT_EQ(verdicts(session).front(), "failed");
}

TEST(Verdicts, CasesOfNoLevelDecideNothing) {
  Session session = levels_session(kGood, kGood, kGood, kGood);
  add(session, op_case("add", DType::kF64, Level::kNone), kBad);
  EXPECT_THAT(verdicts(session), ElementsAre("passed", "passed", "passed", "passed"));
  EXPECT_EQ(count_all(session).failed, 1u);
}

TEST(ReportText, HasACellForEachDtype) {
  Session session = empty_session();
  for (const char* part : {"a", "b", "c"}) add(session, op_case("add", DType::kF32, Level::kCore, part), kGood);
  add(session, op_case("add", DType::kI32, Level::kCore, "a"), kBad);
  add(session, op_case("add", DType::kI32, Level::kCore, "b"), kGood);
  add(session, op_case("add", DType::kF16, Level::kMixedPrecision), kRefused);
  add(session, op_case("gather", DType::kF32, Level::kTraining), std::nullopt);
  const std::string text = report_as_text(session);
  EXPECT_THAT(text, HasSubstr("backend    mine 1.2.3 by somebody, ABI 1.0, op set 1\n"));
  EXPECT_THAT(text, HasSubstr("              f32  f16  bf16       i32  u32  u8  bool  f64\n"
                              "core\n"
                              "  add           3   no     -  FAIL 1/2    -   -     -    -\n"
                              "training\n"
                              "  gather        .    -     -         -    -   -     -    -\n"));
}

TEST(ReportText, TellsHowToRepeatAFailure) {
  Session session = levels_session(kBad, kGood, kRefused, kGood);
  session.faults.emplace_back("crashed (SIGSEGV) while it was closed, after add/f32/a");
  const std::string text = report_as_text(session);
  EXPECT_THAT(text, HasSubstr("failed:\n  add/f32/a\n    1 came, 2 was expected\n"
                              "    thrust-conformance --plugin x.so --filter add/f32/a\n"
                              "  crashed (SIGSEGV) while it was closed, after add/f32/a\n"));
  EXPECT_THAT(text, HasSubstr("declared unsupported:\n  not done here (1 case)\n    f32: conv2d\n"));
  EXPECT_THAT(text, HasSubstr("core: failed (1 of 1)\n"));
  EXPECT_THAT(text, HasSubstr("training: not reached: it builds on core"));
  EXPECT_THAT(text, HasSubstr("vision: not claimed: conv2d (not done here)"));
}

TEST(Selection, AFilterIsAPartAPatternOrAWholeName) {
  std::vector<Case> cases;
  for (const char* name : {"add/f32/a", "add/f32/ab", "sub/f32/a", "contract/add"}) {
    cases.push_back({name, "add", DType::kF32, Level::kCore, {}});
  }
  EXPECT_THAT(choose(cases, {}, std::nullopt), ElementsAre(true, true, true, true));
  EXPECT_THAT(choose(cases, {"add"}, std::nullopt), ElementsAre(true, true, false, true));
  EXPECT_THAT(choose(cases, {"add/f32/a"}, std::nullopt), ElementsAre(true, false, false, false));
  EXPECT_THAT(choose(cases, {"*/f32/?"}, std::nullopt), ElementsAre(true, false, true, false));
  EXPECT_THAT(choose(cases, {"sub", "/ab"}, std::nullopt), ElementsAre(false, true, true, false));
  EXPECT_THROW(choose(cases, {"mul"}, std::nullopt), Error);
}

TEST(Selection, ALevelTakesThoseBelowAlong) {
  const std::vector<Case> cases = levels_session(kGood, kGood, kGood, kGood).cases;
  EXPECT_THAT(choose(cases, {}, Level::kCore), ElementsAre(true, false, false, false));
  EXPECT_THAT(choose(cases, {}, Level::kTraining), ElementsAre(true, true, false, false));
  EXPECT_THAT(choose(cases, {}, Level::kVision), ElementsAre(true, true, true, false));
  EXPECT_THAT(choose(cases, {}, Level::kMixedPrecision), ElementsAre(true, true, false, true));
  EXPECT_THAT(choose(cases, {"f16"}, Level::kMixedPrecision), ElementsAre(false, false, false, true));
  EXPECT_THROW(choose(cases, {"f16"}, Level::kCore), Error);
}

TEST(Selection, NamesOfTheCatalogueAreUnique) {
  std::set<std::string> names;
  for (const Case& one : all_cases()) EXPECT_TRUE(names.insert(one.name).second) << one.name;
  EXPECT_GT(names.size(), 500u);
}

TEST(Progress, SaysHowFarAndHowLong) {
  EXPECT_EQ(progress_text(120, 800, 2.0), "case 120/800 (15 %)  60 cases/s  left 0:12");
  EXPECT_THAT(progress_text(0, 800, 0.0), HasSubstr("case 0/800 (0 %)"));
  EXPECT_THAT(progress_text(800, 800, 10.0), Not(HasSubstr("left 0:01")));
}

}  // namespace
}  // namespace thrt::conformance
