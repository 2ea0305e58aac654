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

TEST_F(ProgramCommand, FusedIsWhatTheBackendMakesOfIt) {
  if (std::string(THRT_TEST_BACKEND) != "cpu") GTEST_SKIP() << "the cpu backend is not built";
  thrust_out(train("256", {"--run-dir", "one", "--save-programs", "programs"}));
  const std::string file = "programs/ppo_update.program";
  const std::string text = thrust_out({"program", "show", file, "--fused"});  // cpu is the default
  EXPECT_THAT(text, StartsWith("ppo_update: backend=cpu:0 ops="));
  EXPECT_EQ(thrust_out({"program", "show", file, "--fused", "--backend", "cpu:0"}).substr(0, 25), text.substr(0, 25));
  // The loop over epochs, and in it a product with its bias and activation as one step.
  EXPECT_TRUE(std::regex_search(text, std::regex("\nrepeat [0-9]+ times:\n  "))) << text;
  EXPECT_TRUE(std::regex_search(text, std::regex("\n  matmul add tanh : f32\\[[0-9]+, 64\\] \\(agent/policy/1\\)\n")))
      << text;
  const nlohmann::json object = nlohmann::json::parse(thrust_out({"program", "show", file, "--fused", "--json"}));
  EXPECT_EQ(object.at("name"), "ppo_update");
  EXPECT_EQ(object.at("backend"), "cpu:0");
  EXPECT_EQ(object.at("counters"), nullptr);  // a processor has no launches to count
  EXPECT_EQ(object.at("description"), text.substr(text.find('\n') + 1));
}

TEST_F(ProgramCommand, ABackendThatDoesNotTellIsAnError) {
  const std::string file = THRT_TEST_DATA "/program_file/scale.program";
  const Outcome outcome = thrust({"program", "show", file, "--fused", "--backend", "reference"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, StartsWith("error: backend reference:0 does not say what it makes of a program\n  why: "));
  for (const std::vector<std::string>& option : {std::vector<std::string>{"--backend", "cpu"}, {"--plugin", "x.so"}}) {
    const Outcome refused = thrust({"program", "show", file, option[0], option[1]});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, StartsWith("error: " + option[0] + " goes with --fused\n"));
  }
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
