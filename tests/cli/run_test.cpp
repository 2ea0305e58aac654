// Runs from start to end: what they print, what they leave, and that they can be repeated to the bit.
#include "run_test.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <regex>

namespace thrt::cli::test {
namespace {

using testing::HasSubstr;
using Arguments = std::vector<std::string>;

class Run : public RunTest {};

TEST_F(Run, PrintsTheBackendFirstAndLeavesAWholeFolder) {
  const std::string out = thrust_out(train("4096", {"--run-dir", "one", "--threads", "1"}));
  static const std::regex first("backend " THRT_TEST_BACKEND
                                ":0 \\(.+\\)  precision f32  threads 1  plugin /.*\\.so\n(.|\n)*");
  EXPECT_TRUE(std::regex_match(out, first)) << out;
  EXPECT_THAT(out, HasSubstr("ppo_update: backend=" THRT_TEST_BACKEND));
  EXPECT_THAT(out, HasSubstr("step 4,096/4,096 (100 %)"));
  EXPECT_THAT(out, HasSubstr("done at step 4,096"));
  EXPECT_THAT(out, HasSubstr("time: acting "));
  EXPECT_THAT(out, testing::EndsWith("run folder: one\nnext: thrust eval one\n"));
  for (const unsigned char c : out) ASSERT_TRUE(c == '\n' || c >= ' ') << "control character " << int{c};
  for (const char* name :
       {"config.toml", "progress.csv", "summary.json", "checkpoints/latest", "checkpoints/step_4096.safetensors"}) {
    EXPECT_TRUE(fs::exists(work() / "one" / name)) << name;
  }
  const nlohmann::json summary = nlohmann::json::parse(text_of(work() / "one/summary.json"));
  EXPECT_EQ(summary.at("step"), 4096);
  EXPECT_EQ(summary.at("finished"), true);
  EXPECT_THAT(text_of(work() / "one/config.toml"), HasSubstr("threads = 1"));
}

TEST_F(Run, TheDefaultFolderSaysWhatItIs) {
  thrust_out(train("256", {"--seed", "7"}));
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(work() / "runs")) names.push_back(entry.path().filename().string());
  ASSERT_EQ(names.size(), 1U);
  EXPECT_TRUE(std::regex_match(names[0], std::regex("CartPole-v1__ppo__7__[0-9]{8}-[0-9]{6}"))) << names[0];
}

TEST_F(Run, AUsedFolderIsRefusedAndLeftAsItWas) {
  thrust_out(train("256", {"--run-dir", "one"}));
  const auto before = files();
  const std::string config = text_of(work() / "one/config.toml");
  const Outcome again = thrust(train("256", {"--run-dir", "one"}));
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.err, HasSubstr("the run folder 'one' is already used"));
  EXPECT_THAT(again.err, HasSubstr("--resume one"));
  EXPECT_EQ(files(), before);
  EXPECT_EQ(text_of(work() / "one/config.toml"), config);
}

TEST_F(Run, TheSameSeedGivesTheSameBitsAndAnotherSeedOthers) {
  thrust_out(train("2048", {"--run-dir", "one", "--seed", "3"}));
  thrust_out(train("2048", {"--run-dir", "two", "--seed", "3"}));
  thrust_out(train("2048", {"--run-dir", "other", "--seed", "4"}));
  expect_same_checkpoint("one", "two", 2048);
  EXPECT_NE(text_of(checkpoint("one", 2048)), text_of(checkpoint("other", 2048)));
}

TEST_F(Run, ItsConfigStartsAnotherLikeItAndOptionsOverrideIt) {
  thrust_out(train("1024", {"--run-dir", "one", "--seed", "3", "--hidden", "16", "--no-anneal-lr"}));
  thrust_out({"train", "--config", "one/config.toml", "--run-dir", "two"});
  expect_same_checkpoint("one", "two", 1024);
  thrust_out({"train", "--config", "one/config.toml", "--run-dir", "three", "--hidden", "8", "--anneal-lr"});
  const std::string three = text_of(work() / "three/config.toml");
  EXPECT_THAT(three, HasSubstr("hidden = [8]"));
  EXPECT_THAT(three, HasSubstr("anneal_lr = true"));
  EXPECT_THAT(three, HasSubstr("seed = 3"));
  EXPECT_THAT(three, HasSubstr("gae_lambda = 0.8"));  // the environment's own
}

TEST_F(Run, ABadConfigIsRefusedWithItsLine) {
  std::ofstream(work() / "bad.toml") << "seed = 1\n[ppo]\ngama = 0.9\n";
  const Outcome outcome = thrust(train("1024", {"--config", "bad.toml"}));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("error: bad.toml:3: unknown key 'gama'\n"));
  EXPECT_THAT(outcome.err, HasSubstr("the nearest is 'gamma'"));
  EXPECT_EQ(files(), std::vector<std::string>{"bad.toml"});
}

TEST_F(Run, JsonIsOneObject) {
  const nlohmann::json result = nlohmann::json::parse(thrust_out(train("512", {"--run-dir", "one", "--json"})));
  EXPECT_EQ(result.at("step"), 512);
  EXPECT_EQ(result.at("interrupted"), false);
  EXPECT_EQ(result.at("run"), "one");
}

TEST_F(Run, ValidationFindsNothingToSayAboutAGoodBackend) {
  thrust_out(train("512", {"--run-dir", "one", "--validate"}));
  thrust_out({"eval", "one", "--episodes", "3", "--validate"});
}

TEST_F(Run, EvalReportsEveryEpisode) {
  thrust_out(train("2048", {"--run-dir", "one"}));
  const auto result = nlohmann::json::parse(thrust_out({"eval", "one", "--episodes", "7", "--json"}));
  const auto returns = result.at("returns").get<std::vector<double>>();
  ASSERT_EQ(returns.size(), 7U);
  double sum = 0.0, squares = 0.0;
  for (const double value : returns) sum += value;
  for (const double value : returns) squares += (value - sum / 7.0) * (value - sum / 7.0);
  EXPECT_NEAR(result.at("mean_return"), sum / 7.0, 1e-9);
  EXPECT_NEAR(result.at("std_return"), std::sqrt(squares / 6.0), 1e-9);
  EXPECT_EQ(result.at("episodes"), 7);
  EXPECT_EQ(result.at("backend"), THRT_TEST_BACKEND ":0");
  EXPECT_EQ(result.at("step"), 2048);
  // CartPole-v1 gives a reward of 1 for each step.
  EXPECT_EQ(result.at("lengths").get<std::vector<double>>(), returns);
  EXPECT_EQ(nlohmann::json::parse(thrust_out({"eval", "one", "--episodes", "7", "--json"})), result);
}

TEST_F(Run, EvalTakesAFolderACheckpointOrBoth) {
  thrust_out(train("2048", {"--run-dir", "one", "--checkpoint-every", "1024"}));
  const auto step = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "eval");
    arguments.insert(arguments.end(), {"--episodes", "2", "--json", "--stochastic"});
    return nlohmann::json::parse(thrust_out(arguments)).at("step").get<int>();
  };
  EXPECT_EQ(step({"one"}), 2048);
  EXPECT_EQ(step({"one/checkpoints/step_1024.safetensors"}), 1024);
  EXPECT_EQ(step({"one/checkpoints/latest"}), 2048);
  fs::copy_file(checkpoint("one", 1024), work() / "elsewhere.safetensors");
  EXPECT_EQ(step({"one", "--checkpoint", "elsewhere.safetensors"}), 1024);
  const Outcome lost = thrust({"eval", "elsewhere.safetensors"});
  EXPECT_EQ(lost.code, 2);
  EXPECT_THAT(lost.err, HasSubstr("'elsewhere.safetensors' is not in a run folder"));
  EXPECT_EQ(thrust({"eval", "one", "--checkpoint", "absent"}).code, 2);
}

TEST_F(Run, ResumeRefusesWhatTheRunDoesNotHave) {
  thrust_out(train("512", {"--run-dir", "one"}));
  const auto before = files();
  const std::vector<std::pair<std::vector<std::string>, const char*>> table = {
      {{"--gamma", "0.5"}, "--gamma 0.5 conflicts with the run"},
      {{"--seed", "2"}, "--seed 2 conflicts with the run"},
      {{"--no-anneal-lr"}, "--no-anneal-lr false conflicts with the run"},
      {{"--precision", "bf16"}, "--precision bf16 conflicts with the run"},
      {{"--num-envs", "4"}, "--num-envs 4 conflicts with the run"},
      {{"--config", "one/config.toml"}, "--config and --resume exclude each other"},
      {{"--run-dir", "two"}, "--run-dir and --resume exclude each other"}};
  for (const auto& [options, message] : table) {
    std::vector<std::string> arguments = {"train", "--resume", "one"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Outcome outcome = thrust(arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr(message));
    EXPECT_EQ(files(), before);
  }
  // What says the same as the run is no conflict, and the run is at its end already.
  EXPECT_THAT(thrust_out({"train", "ppo", "CartPole-v1", "--resume", "one", "--seed", "1"}), HasSubstr("at step 512"));
}

TEST_F(Run, ResumingACompleteOneSaysSoAndChangesNothing) {
  thrust_out(train("700", {"--run-dir", "one"}));  // an update takes 256 steps, so it ends at 512
  const auto before = files();
  const std::string config = text_of(work() / "one/config.toml"), summary = text_of(work() / "one/summary.json");
  for (const std::vector<std::string>& options : {std::vector<std::string>{}, {"--total-timesteps", "767"}}) {
    std::vector<std::string> arguments = {"train", "--resume", "one"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    EXPECT_THAT(thrust_out(arguments), HasSubstr("nothing to do: the run is complete at step 512\n"));
    arguments.push_back("--json");
    EXPECT_EQ(nlohmann::json::parse(thrust_out(arguments)).at("step"), 512);
  }
  const Outcome shorter = thrust({"train", "--resume", "one", "--total-timesteps", "511"});
  EXPECT_EQ(shorter.code, 2);
  EXPECT_THAT(shorter.err, HasSubstr("error: --total-timesteps 511 is less than the run has made\n"));
  EXPECT_EQ(files(), before);
  EXPECT_EQ(text_of(work() / "one/config.toml"), config);
  EXPECT_EQ(text_of(work() / "one/summary.json"), summary);
}

TEST_F(Run, ResumeCanGoFurther) {
  thrust_out(train("1024", {"--run-dir", "one", "--no-anneal-lr", "--no-anneal-clip"}));
  thrust_out({"train", "--resume", "one", "--total-timesteps", "2048"});
  thrust_out(train("2048", {"--run-dir", "two", "--no-anneal-lr", "--no-anneal-clip"}));
  expect_same_checkpoint("one", "two", 2048);
  EXPECT_THAT(text_of(work() / "one/config.toml"), HasSubstr("total_timesteps = 2048"));
}

TEST_F(Run, ADamagedCheckpointIsNamedAndNothingIsTouched) {
  thrust_out(train("512", {"--run-dir", "one"}));
  const std::string good = text_of(checkpoint("one", 512));
  const auto refused = [&](const std::string& content, const char* message) {
    std::ofstream(checkpoint("one", 512), std::ios::binary) << content;
    const auto before = files();
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"eval", "one"}, {"train", "--resume", "one", "--total-timesteps", "1024"}}) {
      const Outcome outcome = thrust(arguments);
      EXPECT_EQ(outcome.code, 2) << outcome.out << outcome.err;
      EXPECT_THAT(outcome.err, HasSubstr("step_512.safetensors"));
      EXPECT_THAT(outcome.err, HasSubstr(message));
      EXPECT_EQ(files(), before);
    }
  };
  refused(good.substr(0, good.size() - 100), "");
  refused(good.substr(0, 5), "");
  refused("", "");
  std::string newer = good;
  const std::string format = "\"thrust.format\":\"1\"";
  ASSERT_NE(newer.find(format), std::string::npos);
  newer.replace(newer.find(format), format.size(), "\"thrust.format\":\"9\"");
  refused(newer, "has format version 9");
}

TEST_F(Run, ACheckpointOfAnotherNetworkIsRefused) {
  thrust_out(train("512", {"--run-dir", "one", "--hidden", "16"}));
  thrust_out(train("512", {"--run-dir", "two", "--hidden", "24"}));
  const Outcome outcome = thrust({"eval", "two", "--checkpoint", "one/checkpoints/step_512.safetensors"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("error: checkpoint one/checkpoints/step_512.safetensors is of another network"));
}

TEST_F(Run, EndsAtItsMarkOrSaysThatItDidNot) {
  const std::string out = thrust_out(train("1024", {"--run-dir", "one", "--stop-at", "1", "--eval-episodes", "3"}));
  EXPECT_THAT(out, HasSubstr("evaluation at step 256: "));
  EXPECT_THAT(out, HasSubstr("done at step 256"));
  EXPECT_THAT(out, HasSubstr("reached "));
  const nlohmann::json json = nlohmann::json::parse(
      thrust_out(train("1024", {"--run-dir", "two", "--stop-at", "1", "--eval-episodes", "3", "--json"})));
  EXPECT_EQ(json.at("reached").at("step"), 256);
  EXPECT_EQ(json.at("step"), 256);

  const Outcome missed =
      thrust(train("1024", {"--run-dir", "three", "--stop-at", "501", "--eval-every", "512", "--eval-episodes", "3"}));
  EXPECT_EQ(missed.code, 1);
  EXPECT_THAT(missed.out, HasSubstr("done at step 1,024"));
  EXPECT_THAT(missed.err, HasSubstr("error: the run did not reach a mean return of 501\n"));
  EXPECT_THAT(missed.err, HasSubstr("the best of 2 evaluations was"));
  EXPECT_TRUE(fs::exists(work() / "three/checkpoints/step_1024.safetensors"));
}

TEST_F(Run, OneThatReachedItsMarkIsCompleteUntilItIsGivenMore) {
  thrust_out(train("4096", {"--run-dir", "one", "--stop-at", "1", "--eval-every", "512", "--eval-episodes", "3"}));
  const auto before = files();
  const std::string summary = text_of(work() / "one/summary.json");
  for (const Arguments& more : {Arguments{}, {"--stop-at", "1"}, {"--total-timesteps", "4096"}}) {
    Arguments arguments = {"train", "--resume", "one"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_THAT(thrust_out(arguments), HasSubstr("nothing to do: the run is complete at step 512, where it reached "));
    arguments.push_back("--json");
    EXPECT_EQ(nlohmann::json::parse(thrust_out(arguments)).at("reached").at("step"), 512);
  }
  EXPECT_EQ(files(), before);
  EXPECT_EQ(text_of(work() / "one/summary.json"), summary);

  // As a process leaves it that was killed before its first checkpoint on the way to another mark.
  const std::string config = text_of(work() / "one/config.toml");
  std::ofstream(work() / "one/config.toml")
      << std::regex_replace(config, std::regex("stop_at = 1.0"), "stop_at = 501.0");
  EXPECT_EQ(thrust({"train", "--resume", "one"}).code, 1) << "no return is above 500";
  EXPECT_TRUE(fs::exists(checkpoint("one", 4096)));
}

// Resuming makes a run longer, and what is between two steps does not depend on how many there will be.
TEST_F(Run, OffPolicyOnesTrainGoOnAndEvaluate) {
  for (const auto& [algorithm, environment] : {std::pair{"dqn", "CartPole-v1"}, {"sac", "Pendulum-v1"}}) {
    const auto begin = [&, a = algorithm, e = environment](const char* run, const char* steps) {
      return Arguments{"train",
                       a,
                       e,
                       "--backend",
                       THRT_TEST_BACKEND,
                       "--total-timesteps",
                       steps,
                       "--run-dir",
                       run,
                       "--hidden",
                       "16,16",
                       "--learning-starts",
                       "100",
                       "--train-frequency",
                       "4",
                       "--gradient-steps",
                       "1",
                       "--batch-size",
                       "16",
                       "--buffer-size",
                       "300"};
    };
    const std::string whole = std::string(algorithm) + "_whole", parts = std::string(algorithm) + "_parts";
    const std::string out = thrust_out(begin(whole.c_str(), "600"));
    EXPECT_THAT(out, HasSubstr("done at step 600")) << out;
    EXPECT_THAT(thrust_out(begin(parts.c_str(), "200")), HasSubstr("done at step 200"));
    EXPECT_THAT(thrust_out({"train", "--resume", parts}), HasSubstr("or go on with --total-timesteps 300 or more"));
    EXPECT_THAT(thrust_out({"train", "--resume", parts, "--total-timesteps", "600"}), HasSubstr("done at step 600"));
    if (std::string(algorithm) == "sac") expect_same_checkpoint(whole, parts, 600);  // dqn's exploration spans the run

    const nlohmann::json json = nlohmann::json::parse(thrust_out({"eval", parts, "--episodes", "2", "--json"}));
    EXPECT_EQ(json.at("algorithm"), algorithm);
    EXPECT_EQ(json.at("step"), 600);
    EXPECT_EQ(json.at("returns").size(), 2U);
  }
}

TEST_F(Run, OneThatWouldNeverLearnIsRefused) {
  const Outcome outcome = thrust({"train", "dqn", "CartPole-v1", "--total-timesteps", "1000"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("error: nothing would be learned in 1000 steps\n"));
  EXPECT_THAT(outcome.err, HasSubstr("the first update is at step 1024"));
  EXPECT_TRUE(files().empty());
}

TEST_F(Run, OtherAlgorithmsAndEnvironmentsTrainAndEvaluate) {
  int number = 0;
  for (const auto& [algorithm, environment] : {std::pair{"a2c", "CartPole-v1"}, {"ppo", "Pendulum-v1"}}) {
    const std::string run = "run" + std::to_string(number++);
    const std::string out = thrust_out({"train", algorithm, environment, "--backend", THRT_TEST_BACKEND, "--num-steps",
                                        "32", "--total-timesteps", "512", "--run-dir", run});
    EXPECT_THAT(out, HasSubstr("done at step 512")) << out;
    const nlohmann::json json = nlohmann::json::parse(thrust_out({"eval", run, "--episodes", "3", "--json"}));
    EXPECT_EQ(json.at("algorithm"), algorithm);
    EXPECT_EQ(json.at("environment"), environment);
    EXPECT_EQ(json.at("returns").size(), 3U);
    const std::string config = text_of(work() / run / "config.toml");
    EXPECT_THAT(config, HasSubstr(std::string("[") + algorithm + "]\n"));
    EXPECT_EQ(std::count(config.begin(), config.end(), '['), 3) << "its own table, [versions], hidden";
  }
}

}  // namespace
}  // namespace thrt::cli::test
