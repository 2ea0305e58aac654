// config.toml: written and read back, and every way to get it wrong.
#include <thrt/rl/train/config_file.hpp>

#include <thrt/error.hpp>
#include <thrt/rl/train/fields.hpp>

#include "tests/core/io/scratch_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace thrt::rl {
namespace {

using testing::HasSubstr;

class ConfigFile : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& text) const {
    std::ofstream(file_, std::ios::binary) << text;
    return file_;
  }
  Error refusal(const std::string& text) const {
    write(text);
    RunConfig config = default_config("ppo", "CartPole-v1");
    const std::string before = to_toml(config);
    try {
      apply_config_file(file_, config);
    } catch (const Error& error) {
      EXPECT_EQ(to_toml(config), before) << "changed by a file that was refused";
      return error;
    }
    ADD_FAILURE() << "accepted: " << text;
    return Error("");
  }

  io::test::ScratchFolder scratch_;
  std::filesystem::path file_ = scratch_.path() / "run.toml";
};

// Each member another value than any default, set by hand: a field that is missing from the list would be lost.
RunConfig unusual() {
  RunConfig config;
  config.algorithm = "ppo";
  config.environment = "CartPole-v1";
  config.seed = 9007199254740993;
  config.total_timesteps = 123457;
  config.checkpoint_every = 77;
  config.backend = "\nodd:\"quoted\" \\ name\tünïcode";
  config.threads = 3;
  config.precision = "bf16";
  config.memory_budget = 3221225473;
  config.ppo.num_envs = 6;
  config.ppo.num_steps = 10;
  config.ppo.num_minibatches = 5;
  config.ppo.update_epochs = 9;
  config.ppo.learning_rate = 0.1 + 0.2;  // 17 digits
  config.ppo.anneal_lr = false;
  config.ppo.gamma = 1.0 / 3.0;
  config.ppo.gae_lambda = 1.0;
  config.ppo.clip_coef = 5e-324;
  config.ppo.anneal_clip = true;
  config.ppo.clip_vloss = false;
  config.ppo.norm_adv = false;
  config.ppo.ent_coef = 1e300;
  config.ppo.vf_coef = 0.0;
  config.ppo.max_grad_norm = 7.0;
  config.ppo.adam_eps = 1e-8;
  config.ppo.hidden = {3, 5, 7};
  config.ppo.activation = "relu";
  return config;
}

void expect_equal(const RunConfig& a, const RunConfig& b) {
  EXPECT_EQ(a.algorithm, b.algorithm);
  EXPECT_EQ(a.environment, b.environment);
  EXPECT_EQ(a.seed, b.seed);
  EXPECT_EQ(a.total_timesteps, b.total_timesteps);
  EXPECT_EQ(a.checkpoint_every, b.checkpoint_every);
  EXPECT_EQ(a.backend, b.backend);
  EXPECT_EQ(a.threads, b.threads);
  EXPECT_EQ(a.precision, b.precision);
  EXPECT_EQ(a.memory_budget, b.memory_budget);
  EXPECT_EQ(a.ppo.num_envs, b.ppo.num_envs);
  EXPECT_EQ(a.ppo.num_steps, b.ppo.num_steps);
  EXPECT_EQ(a.ppo.num_minibatches, b.ppo.num_minibatches);
  EXPECT_EQ(a.ppo.update_epochs, b.ppo.update_epochs);
  EXPECT_EQ(a.ppo.learning_rate, b.ppo.learning_rate);
  EXPECT_EQ(a.ppo.anneal_lr, b.ppo.anneal_lr);
  EXPECT_EQ(a.ppo.gamma, b.ppo.gamma);
  EXPECT_EQ(a.ppo.gae_lambda, b.ppo.gae_lambda);
  EXPECT_EQ(a.ppo.clip_coef, b.ppo.clip_coef);
  EXPECT_EQ(a.ppo.anneal_clip, b.ppo.anneal_clip);
  EXPECT_EQ(a.ppo.clip_vloss, b.ppo.clip_vloss);
  EXPECT_EQ(a.ppo.norm_adv, b.ppo.norm_adv);
  EXPECT_EQ(a.ppo.ent_coef, b.ppo.ent_coef);
  EXPECT_EQ(a.ppo.vf_coef, b.ppo.vf_coef);
  EXPECT_EQ(a.ppo.max_grad_norm, b.ppo.max_grad_norm);
  EXPECT_EQ(a.ppo.adam_eps, b.ppo.adam_eps);
  EXPECT_EQ(a.ppo.hidden, b.ppo.hidden);
  EXPECT_EQ(a.ppo.activation, b.ppo.activation);
}

TEST_F(ConfigFile, LettersOfAllKindsInStringsAndComments) {
  for (const char* text :
       {"\xef\xbb\xbf# \xc4\x8f\nbackend = \"\xc4\x8f\"", "backend = '\xc4\x8f' # \xc4\x8f", "backend = '\xc4\x8f'",
        "backend = \"\"\"\n\xc4\x8f\"\"\"", "backend = '''\xc4\x8f'''", "backend = \"\"\"\\\n \xc4\x8f\"\"\""}) {
    RunConfig config;
    apply_config_file(write(text), config);
    EXPECT_EQ(config.backend, "\xc4\x8f") << text;
  }
  RunConfig config;
  apply_config_file(write("backend = \"\\\"\xc4\x8f\\\\\" # \xc4\x8f\n"), config);
  EXPECT_EQ(config.backend, "\"\xc4\x8f\\");
  apply_config_file(write("backend = \"\"\"\"\xc4\x8f\"\"\"\"\" # \xc4\x8f\n"), config);
  EXPECT_EQ(config.backend, "\"\xc4\x8f\"\"");
}

TEST_F(ConfigFile, EverySettingComesBackExactly) {
  RunConfig read;
  apply_config_file(write(to_toml(unusual())), read);
  expect_equal(read, unusual());
  RunConfig standard;
  standard.environment = "CartPole-v1";
  RunConfig over = unusual();
  apply_config_file(write(to_toml(standard)), over);
  expect_equal(over, standard);
}

TEST_F(ConfigFile, RecordsTheVersionsAndIgnoresThemWhenRead) {
  EXPECT_THAT(to_toml(unusual()), HasSubstr("\n[versions]\nthrust = \"0.1.0\"\nabi = \"1.0\"\nop_set = 1\n"));
  RunConfig config;
  apply_config_file(write("[versions]\nthrust = \"9.9\"\nfrom_the_future = true\n"), config);
  expect_equal(config, RunConfig{});
}

TEST_F(ConfigFile, NamesAPartAndLeavesTheRest) {
  RunConfig config = unusual();
  apply_config_file(write("seed = 4\n[ppo]\nlearning_rate = 1  # a whole number is a number too\nhidden = [8]\n"),
                    config);
  RunConfig expected = unusual();
  expected.seed = 4;
  expected.ppo.learning_rate = 1.0;
  expected.ppo.hidden = {8};
  expect_equal(config, expected);
}

TEST_F(ConfigFile, SizesAndWordsAreTexts) {
  RunConfig config;
  apply_config_file(write("memory_budget = \"1.5GiB\"\nthreads = 2\n"), config);
  EXPECT_EQ(config.memory_budget, 1610612736U);
  apply_config_file(write("memory_budget = \"all\"\nthreads = \"auto\"\n"), config);
  EXPECT_EQ(config.memory_budget, 0U);
  EXPECT_EQ(config.threads, 0);
}

struct Bad {
  const char* text;
  int line;
  const char* what;  // after "FILE:LINE: "
  const char* why;
  const char* next;
};

TEST_F(ConfigFile, WhatIsWrongIsNamedWithItsLine) {
  const std::vector<Bad> table = {
      {"sed = 1\n", 1, "unknown key 'sed'", "keys here: algorithm, environment, seed", "the nearest is 'seed'"},
      {"\n\n[ppo]\nlearning_rat = 1.0\n", 4, "unknown key 'learning_rat'", "keys of [ppo]: num_envs",
       "the nearest is 'learning_rate'"},
      {"gamma = 0.9\n", 1, "unknown key 'gamma'", "keys here", "it belongs below [ppo]"},
      {"[ppo]\nseed = 1\n", 2, "unknown key 'seed'", "keys of [ppo]", "it belongs above the first table"},
      {"[dpn]\ngamma = 0.9\n", 1, "unknown table 'dpn'", "tables: ppo, a2c, dqn, sac", "the nearest is 'dqn'"},
      {"[unlike]\ngamma = 0.9\n", 1, "unknown table 'unlike'", "tables: ppo, a2c, dqn, sac", "remove it"},
      {"ppo = 3\n", 1, "'ppo' is 3, not a table", "it holds the settings of ppo", "a line [ppo] above them"},
      {"seed = \"one\"\n", 1, "seed is 'one'", "a whole number of 0 or more", "for example 1"},
      {"seed = 1.5\n", 1, "seed is '1.5'", "a whole number", "for example 1"},
      {"seed = -1\n", 1, "seed is '-1'", "a whole number", "for example 1"},
      {"seed = true\n", 1, "seed is 'true'", "a whole number", "for example 1"},
      {"threads = 0\n", 1, "threads is '0'", "a whole number from 1 to 1024 or auto", "for example auto"},
      {"threads = \"lots\"\n", 1, "threads is 'lots'", "or auto", "for example auto"},
      {"memory_budget = 8\n", 1, "memory_budget is '8'", "a size with its unit", "for example 8GiB"},
      {"memory_budget = \"8\"\n", 1, "memory_budget is '8'", "a size with its unit", "for example 8GiB"},
      {"environment = \"Cartpole-v1\"\n", 1, "unknown environment 'Cartpole-v1'", "choices: CartPole-v1",
       "the nearest is 'CartPole-v1'"},
      {"algorithm = 3\n", 1, "unknown algorithm '3'", "choices: ppo", ""},
      {"[ppo]\nnum_envs = 0\n", 2, "num_envs is '0'", "a whole number from 1 to", "for example 4"},
      {"[ppo]\ngamma = 1.5\n", 2, "gamma is '1.5'", "a number from 0 to 1", "for example 0.99"},
      {"[ppo]\ngamma = nan\n", 2, "gamma is 'nan'", "a number from 0 to 1", "for example 0.99"},
      {"[ppo]\nanneal_lr = 1\n", 2, "anneal_lr is '1'", "true or false", "for example true"},
      {"[ppo]\nhidden = 64\n", 2, "hidden is '64'", "as in 64,64", "for example 64,64"},
      {"[ppo]\nhidden = []\n", 2, "hidden is '[]'", "as in 64,64", "for example 64,64"},
      {"[ppo]\nhidden = [64, \"a\"]\n", 2, "hidden is", "as in 64,64", "for example 64,64"},
      {"[ppo]\nactivation = \"rleu\"\n", 2, "unknown activation 'rleu'", "choices: tanh, relu",
       "the nearest is 'relu'"},
      {"seed = 1\n[+ppo]\n", 2, "not valid TOML", "bare key", "KEY = VALUE"},
      {"[\x07", 1, "not valid TOML", "bare key", "KEY = VALUE"},
      {"caf\xc4\x8f = 1\n", 1, "not valid TOML", "saw", "KEY = VALUE"},
      {"seed = 1\xc4\x8f\n", 1, "not valid TOML", "saw", "KEY = VALUE"},
      {"seed = 1\nseed = 2\n", 2, "not valid TOML", "seed", "KEY = VALUE"},
      {"seed = \n", 1, "not valid TOML", "", "KEY = VALUE"},
      {"seed 1\n", 1, "not valid TOML", "", "KEY = VALUE"},
      {"seed = 99999999999999999999\n", 1, "not valid TOML", "", "KEY = VALUE"},
      {"backend = \"\xff\xfe\"\n", 1, "not valid TOML", "", "KEY = VALUE"},
  };
  for (const Bad& bad : table) {
    const Error error = refusal(bad.text);
    EXPECT_THAT(std::string(error.what()),
                testing::StartsWith(file_.string() + ":" + std::to_string(bad.line) + ": " + bad.what));
    EXPECT_THAT(error.why(), HasSubstr(bad.why)) << bad.text;
    EXPECT_THAT(error.next(), HasSubstr(bad.next)) << bad.text;
    EXPECT_FALSE(error.why().empty()) << bad.text;
    EXPECT_FALSE(error.next().empty()) << bad.text;
  }
}

TEST_F(ConfigFile, AFileThatCannotBeReadIsNamed) {
  RunConfig config;
  const auto refused = [&](const std::filesystem::path& file) {
    try {
      apply_config_file(file, config);
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()), "cannot read " + file.string());
      return error.why();
    }
    ADD_FAILURE() << file;
    return std::string();
  };
  EXPECT_EQ(refused(scratch_.path() / "absent.toml"), "No such file or directory");
  EXPECT_EQ(refused(scratch_.path()), "it is a folder");
  EXPECT_THAT(refused(write(std::string(2'000'000, '#'))), HasSubstr("2000000 bytes"));
}

TEST_F(ConfigFile, ARunsOwnFileNamesAlgorithmAndEnvironment) {
  const RunFolder folder = RunFolder::create(scratch_.path() / "run");
  write_config(folder, unusual());
  expect_equal(read_config(folder), unusual());
  std::ofstream(folder.config_file()) << "environment = \"CartPole-v1\"\n";
  EXPECT_THROW(read_config(folder), Error);
  std::ofstream(folder.config_file()) << "algorithm = \"ppo\"\n";
  EXPECT_THROW(read_config(folder), Error);
}

}  // namespace
}  // namespace thrt::rl
