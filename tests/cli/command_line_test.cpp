// Command lines that are wrong, and those that only ask.
#include "process.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <regex>

namespace thrt::cli::test {
namespace {

using testing::HasSubstr;

using Arguments = std::vector<std::string>;

Arguments operator+(Arguments first, const Arguments& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

const Arguments kTrain = {"train", "ppo", "CartPole-v1", "--backend", THRT_TEST_BACKEND};

struct Bad {
  Arguments arguments;
  const char* what;  // of the first line, after "error: "
  const char* more;  // somewhere in the message
};

class CommandLine : public ThrustTest {
 protected:
  // Exit code 2, a message of the agreed form and nothing made.
  std::string refusal(const Arguments& arguments) const {
    const Outcome outcome = thrust(arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.out << outcome.err;
    static const std::regex form("error: .+\n(  why: (.|\n)+\n)?  try: .+\n");
    EXPECT_TRUE(std::regex_match(outcome.err, form)) << outcome.err;
    EXPECT_THAT(files(), testing::IsEmpty()) << outcome.err;
    return outcome.err;
  }
  void expect_refused(const Bad& bad) const {
    const std::string message = refusal(bad.arguments);
    EXPECT_THAT(message, testing::StartsWith(std::string("error: ") + bad.what + "\n"));
    EXPECT_THAT(message, HasSubstr(bad.more));
  }
};

TEST_F(CommandLine, CommandsAndOptionsThatAreNone) {
  const std::vector<Bad> table = {
      {{}, "no command", "commands: train, eval, backends, version"},
      {{"tarin", "ppo"}, "unknown command 'tarin'", "the nearest is 'train'"},
      {{"--plugin", "x", "backends"}, "unknown option '--plugin'", "options follow the command"},
      {kTrain + Arguments{"--sed", "1"}, "unknown option '--sed'", "the nearest is --seed"},
      {kTrain + Arguments{"--num_envs=3"}, "unknown option '--num_envs'", "the nearest is --num-envs"},
      {kTrain + Arguments{"-x"}, "unknown option '-x'", "`thrust train --help`"},
      {kTrain + Arguments{"more"}, "'more' is one argument too many", "`thrust train --help`"},
      {{"eval", "run", "more"}, "'more' is one argument too many", "`thrust eval --help`"},
      {{"version", "--jsn"}, "unknown option '--jsn'", "the nearest is --json"},
      {kTrain + Arguments{"--seed"}, "--seed has no value", "has to follow"},
      {kTrain + Arguments{"--seed", "1", "--seed", "2"}, "--seed was given more than once", "one value"},
      {kTrain + Arguments{"--anneal-lr", "--no-anneal-lr"}, "--anneal-lr and --no-anneal-lr exclude each other", ""},
      {{"train"}, "no algorithm to train with", "thrust train ppo CartPole-v1"},
      {{"train", "ppo"}, "no environment to train in", "thrust train ppo CartPole-v1"},
      {{"eval"}, "no run to evaluate", "thrust eval runs/NAME"},
  };
  for (const Bad& bad : table) expect_refused(bad);
}

TEST_F(CommandLine, ValuesThatAreNone) {
  const std::vector<Bad> table = {
      {{"train", "pp0", "CartPole-v1"}, "unknown algorithm 'pp0'", "choices: ppo"},
      {{"train", "ppo", "CartPole-v0"}, "unknown environment 'CartPole-v0'", "the nearest is 'CartPole-v1'"},
      {{"train", "a2c", "CartPole-v1", "--clip-coef", "0.1"}, "a2c has no setting --clip-coef", "it is one of ppo"},
      {kTrain + Arguments{"--rms-decay", "0.9"}, "ppo has no setting --rms-decay", "thrust train ppo --help"},
      {kTrain + Arguments{"--stop-at", "inf"}, "--stop-at is 'inf'", "it takes a number or never"},
      {kTrain + Arguments{"--eval-every", "0"}, "--eval-every is '0'", "or auto"},
      {kTrain + Arguments{"--eval-episodes", "0"}, "--eval-episodes is '0'", "from 1"},
      {kTrain + Arguments{"--num-envs", "0"}, "--num-envs is '0'", "a whole number from 1"},
      {kTrain + Arguments{"--num-envs", "-3"}, "--num-envs is '-3'", "a whole number from 1"},
      {kTrain + Arguments{"--num-steps", "0"}, "--num-steps is '0'", "a whole number from 1"},
      {kTrain + Arguments{"--total-timesteps", "0"}, "--total-timesteps is '0'", "of 1 or more"},
      {kTrain + Arguments{"--total-timesteps", "-5"}, "--total-timesteps is '-5'", "of 1 or more"},
      {kTrain + Arguments{"--total-timesteps", "many"}, "--total-timesteps is 'many'", "of 1 or more"},
      {kTrain + Arguments{"--total-timesteps", "10"}, "total-timesteps 10 is less than one iteration", "256"},
      {kTrain + Arguments{"--checkpoint-every", "-1"}, "--checkpoint-every is '-1'", "or auto"},
      {kTrain + Arguments{"--threads", "0"}, "--threads is '0'", "from 1 to 1024 or auto"},
      {kTrain + Arguments{"--seed", "-1"}, "--seed is '-1'", "of 0 or more"},
      {kTrain + Arguments{"--learning-rate", "nan"}, "--learning-rate is 'nan'", "a number above 0"},
      {kTrain + Arguments{"--gamma", "1.5"}, "--gamma is '1.5'", "a number from 0 to 1"},
      {kTrain + Arguments{"--hidden", "64,0"}, "--hidden is '64,0'", "as in 64,64"},
      {kTrain + Arguments{"--num-minibatches", "3"}, "num_minibatches is 3, which does not divide the rollout", "256"},
      {kTrain + Arguments{"--precision", "f31"}, "unknown precision 'f31'", "choices: f32, tf32, bf16, f16"},
      {kTrain + Arguments{"--memory-budget", "8"}, "--memory-budget is '8'", "as in 8GiB"},
      {kTrain + Arguments{"--config", "absent.toml"}, "cannot read absent.toml", "No such file"},
      {kTrain + Arguments{"--run-dir", ""}, "the run folder has no name", "--run-dir"},
      {kTrain + Arguments{"--run-dir", "/proc/thrust/run"}, "cannot create the run folder '/proc/thrust/run'", "/proc"},
      {{"train", "--resume", "absent"}, "there is no run folder 'absent'", "no such file"},
      {{"eval", "absent"}, "there is no run folder 'absent'", "no such file"},
      {{"eval", "absent", "--episodes", "0"}, "--episodes is '0'", "of 1 or more"},
      {{"eval", "absent", "--episodes", "-4"}, "--episodes is '-4'", "of 1 or more"},
      {{"eval", "absent", "--seed", "x"}, "--seed is 'x'", "of 0 or more"},
  };
  for (const Bad& bad : table) expect_refused(bad);
}

TEST_F(CommandLine, BackendsThatAreNotThere) {
  const std::string missing = refusal({"train", "ppo", "CartPole-v1", "--backend", "cuda"});
  EXPECT_THAT(missing, testing::StartsWith("error: no backend is named 'cuda'\n"));
  EXPECT_THAT(missing, HasSubstr(std::string("    ") + THRT_TEST_BACKEND + ": "));       // the backends found
  EXPECT_THAT(missing, HasSubstr(std::string(THRT_BUILD_DIR) + "/lib/thrust/plugins"));  // where it looked
  expect_refused({{"train", "ppo", "CartPole-v1", "--backend", ""}, "'' is no backend", "ID:INDEX"});
  expect_refused({{"train", "ppo", "CartPole-v1", "--backend", THRT_TEST_BACKEND ":99"},
                  "backend '" THRT_TEST_BACKEND "' has no device 99",
                  "its devices:"});
  expect_refused({kTrain + Arguments{"--plugin", "absent.so"}, "--plugin absent.so: there is no such file",
                  "libthrust_backend_ID.so"});
}

TEST_F(CommandLine, ABudgetThatIsTooSmallIsSaidAndLeavesNoFolder) {
  EXPECT_THAT(refusal(kTrain + Arguments{"--memory-budget", "1KiB"}), HasSubstr("--memory-budget"));
}

TEST_F(CommandLine, HelpHasDefaultsAndChoices) {
  const std::string train = thrust_out({"train", "--help"});
  for (const char* text : {"--learning-rate X", "(ppo, a2c", "one of CartPole-v1", "[cpu]", "--resume DIR",
                           "`thrust train ALGO --help`", "--stop-at X"}) {
    EXPECT_THAT(train, HasSubstr(text));
  }
  const std::string ppo = thrust_out({"train", "ppo", "--help"});
  for (const char* text : {"--learning-rate X", "[0.00025]", "one of tanh, relu [tanh]", "Hyper-parameters of ppo",
                           "Defaults for ppo CartPole-v1", "--num-envs 8", "--no-clip-vloss", "--resume DIR",
                           "--total-timesteps 100000"}) {
    EXPECT_THAT(ppo, HasSubstr(text));
  }
  EXPECT_THAT(ppo, testing::Not(HasSubstr("--rms-decay")));
  const std::string a2c = thrust_out({"train", "a2c", "CartPole-v1", "--help"});
  EXPECT_THAT(a2c, HasSubstr("[0.0007]"));
  EXPECT_THAT(a2c, testing::Not(HasSubstr("--clip-coef")));
  EXPECT_THAT(thrust_out({"eval", "-h"}), HasSubstr("[1000000]"));
  EXPECT_THAT(thrust_out({"backends", "--help"}), HasSubstr("--plugin FILE"));
  EXPECT_THAT(thrust_out({"version", "--help"}), HasSubstr("--json"));
  const std::string all = thrust_out({"--help"});
  for (const char* command : {"train", "eval", "backends", "version"}) EXPECT_THAT(all, HasSubstr(command));
  EXPECT_THAT(all, testing::Not(HasSubstr("__probe")));
}

TEST_F(CommandLine, VersionSaysBinaryAbiAndOpSet) {
  const nlohmann::json version = nlohmann::json::parse(thrust_out({"version", "--json"}));
  EXPECT_EQ(version, (nlohmann::json{{"thrust", THRT_TEST_VERSION}, {"abi", "1.0"}, {"op_set", 1}}));
  EXPECT_EQ(thrust_out({"version"}), "thrust " THRT_TEST_VERSION " (backend ABI 1.0, op set 1)\n");
  EXPECT_EQ(thrust_out({"--version"}), thrust_out({"version"}));
}

TEST_F(CommandLine, BackendsAreOneJsonObject) {
  const nlohmann::json found = nlohmann::json::parse(thrust_out({"backends", "--json"}));
  EXPECT_THAT(found.dump(), HasSubstr("libthrust_backend_" THRT_TEST_BACKEND ".so"));
}

TEST_F(CommandLine, AFullDiskIsNoSuccess) {
  // /dev/full fails every write; the shell stands between because the runner's output goes to files.
  const std::string command = std::string(THRT_BUILD_DIR) + "/bin/thrust version --json > /dev/full 2>/dev/null";
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 1);
}

}  // namespace
}  // namespace thrt::cli::test
