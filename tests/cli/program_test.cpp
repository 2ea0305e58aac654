// `thrust train --save-programs` and `thrust program show`.
#include "run_test.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <regex>
#include <set>

namespace thrt::cli::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class ProgramCommand : public RunTest {
 protected:
  nlohmann::json counts(const std::string& file) const {
    return nlohmann::json::parse(thrust_out({"program", "show", file, "--json"}));
  }
};

TEST_F(ProgramCommand, ShowsWhatATrainingHandedToTheBackend) {
  const std::string log = thrust_out(train("256", {"--run-dir", "one", "--save-programs", "programs/here"}));
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(work() / "programs/here")) {
    const std::string name = entry.path().stem().string();
    EXPECT_EQ(entry.path().extension(), ".program");
    names.insert(name);
    // What the backend counted when it compiled it: "ppo_act: backend=cpu ops=41/41".
    std::smatch ops;
    ASSERT_TRUE(std::regex_search(log, ops, std::regex(name + ": backend=[^ ]+ ops=(\\d+)/(\\d+)"))) << log;
    const nlohmann::json object = counts(entry.path().string());
    EXPECT_EQ(object.at("name"), name);
    EXPECT_EQ(object.at("ops").get<int>(), std::stoi(ops[2]));
    int total = 0;
    for (const auto& [op, count] : object.at("by_op").items()) total += count.get<int>();
    EXPECT_EQ(object.at("ops").get<int>(), total);

    const std::string text = thrust_out({"program", "show", entry.path().string()});
    EXPECT_THAT(text, StartsWith("program \"" + name + "\"\nslot 0 \""));
    EXPECT_THAT(text, HasSubstr(" = matmul(%"));
  }
  EXPECT_EQ(names, (std::set<std::string>{"ppo_act", "ppo_update", "ppo_value"}));
  EXPECT_THAT(thrust_out({"program", "show", "programs/here/ppo_update.program"}), HasSubstr("\n  program \""));
}

TEST_F(ProgramCommand, AFolderThatCannotBeOneIsSaidBeforeTheTraining) {
  std::ofstream(work() / "text") << "x";
  const Outcome outcome = thrust(train("256", {"--run-dir", "one", "--save-programs", "text"}));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, StartsWith("error: --save-programs: programs cannot be written to 'text'\n  why: "));
  EXPECT_FALSE(fs::exists(work() / "one"));
}

TEST_F(ProgramCommand, TheFileMadeByHand) {
  const std::string file = THRT_TEST_DATA "/program_file/scale.program";
  EXPECT_THAT(thrust_out({"program", "show", file}), HasSubstr("%1 = constant() offset=0 : f32[2]\n"));
  nlohmann::json object = counts(file);
  EXPECT_THAT(object.at("fingerprint").get<std::string>(), testing::MatchesRegex("[0-9a-f]{32}"));
  object.erase("fingerprint");
  EXPECT_EQ(object, nlohmann::json::parse(R"({"name": "scale", "op_set": 1, "slots": 1, "ops": 3, "values": 7,
                                              "subprograms": 1, "constants": 1, "constant_bytes": 8,
                                              "by_op": {"constant": 1, "mul": 1, "repeat": 1}})"));
}

TEST_F(ProgramCommand, SaysWhatIsWrong) {
  const auto refusal = [&](const std::vector<std::string>& arguments) {
    const Outcome outcome = thrust(arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    return outcome.err;
  };
  EXPECT_THAT(refusal({"program"}), HasSubstr("needs to know what to do\n  why: actions: show\n"));
  EXPECT_THAT(refusal({"program", "lst", "x"}), HasSubstr("unknown action 'lst'"));
  EXPECT_THAT(refusal({"program", "show"}), HasSubstr("no program file"));
  EXPECT_THAT(refusal({"program", "show", "x"}), HasSubstr("cannot read 'x'"));
  std::ofstream(work() / "damaged.program", std::ios::binary)
      << text_of(THRT_TEST_DATA "/program_file/scale.program").substr(0, 500);
  EXPECT_THAT(refusal({"program", "show", "damaged.program"}),
              HasSubstr("'damaged.program' is not a usable program file\n  why: it says that it has 1024 bytes"));
}

}  // namespace
}  // namespace thrt::cli::test
