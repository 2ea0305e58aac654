// Settings as text, the tuned defaults, and what is refused.
#include <thrt/nearest_name.hpp>
#include <thrt/rl/env/vector_env.hpp>
#include <thrt/rl/train/config_file.hpp>
#include <thrt/rl/train/fields.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

namespace thrt::rl {
namespace {

using testing::HasSubstr;

const Field& field(std::string_view name) {
  for (const Field& each : run_fields()) {
    if (each.name == name) return each;
  }
  throw std::runtime_error("no such field");
}

template <typename Call>
Error error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was refused";
  return Error("");
}

TEST(Fields, HaveDistinctNamesAndPlaces) {
  std::set<std::pair<std::string_view, std::string_view>> names;
  std::set<const void*> places;
  RunConfig config;
  for (const Field& each : run_fields()) {
    EXPECT_TRUE(names.insert({each.section, each.name}).second) << each.name;
    const void* place = std::visit([](auto* member) { return static_cast<const void*>(member); }, each.pointer(config));
    EXPECT_TRUE(places.insert(place).second) << each.name;
    EXPECT_FALSE(each.help.empty()) << each.name;
  }
}

// They are one option on the command line.
TEST(Fields, SettingsOfOneNameInTwoAlgorithmsAreOfOneKind) {
  RunConfig config;
  std::map<std::string_view, std::pair<std::string_view, std::size_t>> kinds;
  for (const Field& each : run_fields()) {
    const auto [known, first] = kinds.try_emplace(each.name, each.section, each.pointer(config).index());
    EXPECT_EQ(known->second.second, each.pointer(config).index()) << each.name;
    EXPECT_TRUE(first || !known->second.first.empty()) << each.name << " is a run's setting and an algorithm's";
  }
}

TEST(Fields, DefaultsAreAmongWhatIsAllowed) {
  for (const std::string& algorithm : algorithm_names()) {
    for (const std::string& environment : vector_env_ids()) {
      EXPECT_NO_THROW(validate(default_config(algorithm, environment))) << algorithm << " " << environment;
    }
  }
  EXPECT_NO_THROW(validate(PpoConfig{}));
  EXPECT_NO_THROW(validate(A2cConfig{}));
}

// hyperparams/ppo.yml of RL Baselines3 Zoo: n_envs 8, n_steps 32, batch_size 256, gae_lambda 0.8, gamma 0.98, n_epochs 20,
// ent_coef 0.0, learning_rate lin_0.001, clip_range lin_0.2.
TEST(Fields, CartPolesDefaultsAreTheZoos) {
  const PpoConfig config = ppo_defaults("CartPole-v1");
  EXPECT_EQ(config.num_envs, 8);
  EXPECT_EQ(config.num_steps, 32);
  EXPECT_EQ(config.minibatch_size(), 256);
  EXPECT_EQ(config.update_epochs, 20);
  EXPECT_EQ(config.gae_lambda, 0.8);
  EXPECT_EQ(config.gamma, 0.98);
  EXPECT_EQ(config.ent_coef, 0.0);
  EXPECT_EQ(config.learning_rate, 1e-3);
  EXPECT_TRUE(config.anneal_lr);
  EXPECT_EQ(config.clip_coef, 0.2);
  EXPECT_TRUE(config.anneal_clip);
  EXPECT_FALSE(config.clip_vloss);
  EXPECT_EQ(config.vf_coef, 1.0);  // of half the squared error; Stable-Baselines3's default is 0.5 of the whole
}

TEST(Fields, TextReadsBackToTheSameValue) {
  RunConfig config;
  const std::vector<std::pair<std::string_view, std::string_view>> values = {
      {"seed", "9007199254740993"}, {"total_timesteps", "150000"}, {"threads", "auto"},   {"threads", "3"},
      {"memory_budget", "1536MiB"}, {"memory_budget", "all"},      {"hidden", "64,32"},   {"learning_rate", "0.1"},
      {"anneal_lr", "false"},       {"activation", "relu"},        {"backend", "cuda:1"}, {"target_entropy", "auto"},
      {"target_entropy", "-1.5"}};
  for (const auto& [name, text] : values) {
    set_field(field(name), config, text, "", name);
    EXPECT_EQ(field_text(field(name), config), text) << name;
  }
  EXPECT_EQ(config.seed, 9007199254740993U);  // 2^53 + 1: not by way of a double
  EXPECT_EQ(config.threads, 3);
  EXPECT_EQ(config.ppo.hidden, (std::vector<std::int64_t>{64, 32}));
}

// On the command line, and as a literal of config.toml.
TEST(Fields, EveryWordIsTakenAndItsNumberRefused) {
  for (const Field& each : run_fields()) {
    for (const std::string_view word : {each.zero_word, each.infinity_word}) {
      if (word.empty()) continue;
      RunConfig config = default_config(each.section.empty() ? "ppo" : each.section, "Pendulum-v1");
      set_field(each, config, word, "", each.name);
      EXPECT_EQ(field_text(each, config), word) << each.name;
      const std::string toml = to_toml(config);
      EXPECT_THAT(toml, HasSubstr(fmt::format("\n{} = \"{}\"", each.name, word)));
      RunConfig read;
      apply_config_text(toml, "run.toml", read);
      EXPECT_EQ(to_toml(read), toml);
    }
    if (each.zero_word.empty()) continue;
    RunConfig config = default_config(each.section.empty() ? "ppo" : each.section, "Pendulum-v1");
    error_of([&] { set_field(each, config, "0", "", each.name); });
    const std::string table = each.section.empty() ? std::string() : fmt::format("[{}]\n", each.section);
    for (const char* zero : {"0", "0.0"}) {
      error_of([&] { apply_config_text(fmt::format("{}{} = {}\n", table, each.name, zero), "run.toml", config); });
    }
  }
}

TEST(Fields, RefuseWhatTheyDoNotTakeAndStayAsTheyWere) {
  const std::vector<std::pair<std::string_view, std::string_view>> bad = {
      {"num_envs", "0"},
      {"backend", "c\x86\x8a"},
      {"num_envs", "-1"},
      {"num_envs", ""},
      {"num_envs", "2.5"},
      {"num_envs", "8x"},
      {"num_envs", " 8"},
      {"num_envs", "0x10"},
      {"num_envs", "99999999999999999999"},
      {"total_timesteps", "0"},
      {"seed", "-1"},
      {"seed", "1e30"},
      {"threads", "0"},
      {"threads", "-2"},
      {"threads", "many"},
      {"checkpoint_every", "0"},
      {"memory_budget", "8"},
      {"memory_budget", "0GiB"},
      {"memory_budget", "8 GiB"},
      {"memory_budget", "-8GiB"},
      {"memory_budget", "1e9TiB"},
      {"learning_rate", "0"},
      {"learning_rate", "nan"},
      {"learning_rate", "inf"},
      {"learning_rate", "-1e-3"},
      {"gamma", "1.01"},
      {"gamma", "-0.1"},
      {"clip_coef", "0"},
      {"target_entropy", "0"},
      {"target_entropy", "-0.0"},
      {"anneal_lr", "yes"},
      {"hidden", ""},
      {"hidden", "64,"},
      {"hidden", "64,0"},
      {"hidden", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"},
      {"activation", "sigmoid"},
      {"precision", "f64"},
      {"algorithm", "pp0"},
      {"environment", "CartPole-v0"}};
  for (const auto& [name, text] : bad) {
    RunConfig config = default_config("ppo", "CartPole-v1");
    const std::string before = field_text(field(name), config);
    const Error error = error_of([&, n = name, t = text] { set_field(field(n), config, t, "", n); });
    EXPECT_EQ(error.kind(), ErrorKind::kStart);
    EXPECT_THAT(error.what(), HasSubstr("'" + std::string(text) + "'")) << name;
    EXPECT_FALSE(error.why().empty()) << name;
    EXPECT_FALSE(error.next().empty()) << name;
    EXPECT_EQ(field_text(field(name), config), before);
  }
}

TEST(Fields, AChoiceThatIsNoneListsAllAndNamesTheNearest) {
  RunConfig config;
  const Error error = error_of([&] { set_field(field("activation"), config, "tahn", "", "--activation"); });
  EXPECT_STREQ(error.what(), "unknown activation 'tahn'");
  EXPECT_EQ(error.why(), "choices: tanh, relu");
  EXPECT_EQ(error.next(), "the nearest is 'tanh'");
}

TEST(Fields, MinibatchesMustCutTheRolloutIntoEqualParts) {
  PpoConfig config;  // 4 environments, 128 steps
  config.num_minibatches = 7;
  const Error error = error_of([&] { validate(config); });
  EXPECT_STREQ(error.what(), "num_minibatches is 7, which does not divide the rollout");
  EXPECT_THAT(error.why(), HasSubstr("4 times num_steps 128 is 512"));
  EXPECT_EQ(error.next(), "--num-minibatches 4");
}

TEST(Fields, ARolloutThatNoBackendCanIndexIsRefused) {
  PpoConfig config;
  config.num_envs = config.num_steps = 1 << 20;
  EXPECT_STREQ(error_of([&] { validate(config); }).what(), "a rollout of 1099511627776 steps is too long");
}

TEST(Fields, OneStepCannotBeNormalised) {
  PpoConfig config;
  config.num_envs = config.num_steps = 2;
  config.num_minibatches = 4;
  EXPECT_STREQ(error_of([&] { validate(config); }).what(), "a minibatch of one step cannot be normalised");
  config.norm_adv = false;
  EXPECT_NO_THROW(validate(config));
}

TEST(ParseBytes, KnowsBinaryAndDecimalUnits) {
  EXPECT_EQ(parse_bytes("8GiB"), 8589934592U);
  EXPECT_EQ(parse_bytes("1.5gib"), 1610612736U);
  EXPECT_EQ(parse_bytes("8GB"), 8000000000U);
  EXPECT_EQ(parse_bytes("512B"), 512U);
  EXPECT_EQ(bytes_text(8589934592U), "8GiB");
  EXPECT_EQ(bytes_text(1000U), "1000B");
}

TEST(ParseWholeNumber, TakesExponentsThatAreWhole) {
  EXPECT_EQ(parse_whole_number("1e6"), 1000000);
  EXPECT_EQ(parse_whole_number("2.5e1"), 25);
  EXPECT_EQ(parse_whole_number("2.5e0"), std::nullopt);
  EXPECT_EQ(parse_whole_number("25.0"), std::nullopt);
  EXPECT_EQ(parse_whole_number("1e300"), std::nullopt);
}

TEST(NearestName, IsByEditDistance) {
  EXPECT_EQ(nearest_name("learning_rat", {"gamma", "learning_rate"}), "learning_rate");
  EXPECT_EQ(nearest_name("GAMA", {"gamma", "learning_rate"}), "gamma");
  EXPECT_EQ(nearest_name("zzzzz", {"gamma", "learning_rate"}), "");
  EXPECT_EQ(nearest_name(std::string(100000, 'g'), {"gamma"}), "");
}

}  // namespace
}  // namespace thrt::rl
