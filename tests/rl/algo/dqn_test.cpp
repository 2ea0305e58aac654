// DQN's programs against PyTorch's recorded numbers (tests/data/dqn) and against small cases by hand.
#include <thrt/rl/algo/dqn.hpp>
#include <thrt/rl/train/run_config.hpp>

#include "tests/rl/algo/torch_record.hpp"

#include <thrt/error.hpp>

#include <cmath>
#include <numeric>

namespace thrt::rl {
namespace {

using test::Loaded;
using test::Record;

constexpr PolicySpaces kSpaces{.observation_size = 4, .actions = 3};

class DqnTest : public testing::TestWithParam<std::string> {
 protected:
  Context context_ = test::open_backend(GetParam());
};

TEST_P(DqnTest, GradientStepsEqualTorch) {
  const Record record = test::read_record("dqn/torch.txt");
  ASSERT_FALSE(record.empty()) << "tests/data/dqn/torch.txt is missing";
  for (const std::string setting : {"double", "single", "clipped"}) {
    SCOPED_TRACE(setting);
    DqnConfig config;
    config.hidden = {8, 8};
    config.batch_size = 16;
    config.gamma = 0.9;
    config.adam_eps = 1e-3;
    config.double_q = setting != "single";
    config.max_grad_norm = setting == "clipped" ? 0.01 : 0.0;
    Loaded step(context_, dqn_minibatch_graph(config, kSpaces));
    test::put_network(step, test::layers("agent/q", 4, 3), record.at("online"));
    test::put_network(step, test::layers("target/q", 4, 3), record.at("target"));
    for (const char* name : {"observations", "rewards", "terminated", "next_observations"}) {
      step.put<float>(name, record.at(name));
    }
    step.put<std::int32_t>("actions", record.at("actions"));
    step.put<float>("learning_rate", {1e-2});
    for (int i = 0; i < 2; ++i) {
      step.run();
      test::expect_numbers(step.get<float>("metrics"), record.at(setting + "/metrics/" + std::to_string(i)), 2e-6);
    }
    test::expect_network(step, test::layers("agent/q", 4, 3), record.at(setting + "/online"), 5e-6);
    test::expect_network(step, test::layers("target/q", 4, 3), record.at("target"), 0.0);
  }
}

// One transition whose network is its head's bias alone, so that every number can be written down.
TEST_P(DqnTest, TerminationEndsTheFutureAndNothingElseDoes) {
  DqnConfig config;
  config.hidden = {1};
  config.batch_size = 2;
  config.gamma = 0.5;
  config.double_q = true;
  Loaded step(context_, dqn_minibatch_graph(config, kSpaces));
  for (const char* scope : {"agent/q", "target/q"}) {
    const std::string name = scope;
    step.put<float>(name + "/head/weight", {0.0, 0.0, 0.0});
  }
  step.put<float>("agent/q/head/bias", {1.0, 3.0, 2.0});     // chooses action 1
  step.put<float>("target/q/head/bias", {10.0, 4.0, 20.0});  // which the target values at 4
  step.put<std::int32_t>("actions", {0, 2});
  step.put<float>("rewards", {-1.25, 1.5});
  step.put<float>("terminated", {0.0, 1.0});
  step.put<float>("learning_rate", {0.0});
  step.run();
  // Targets: -1.25 + 0.5 * 4 = 0.75, and 1.5 alone. Errors 1 - 0.75 and 2 - 1.5, both in the quadratic part.
  const std::vector<float> metrics = step.get<float>("metrics");
  EXPECT_NEAR(metrics[0], 0.5 * (0.25 * 0.25 + 0.5 * 0.5) / 2.0, 1e-7);
  EXPECT_NEAR(metrics[1], 1.5, 1e-7);
}

TEST_P(DqnTest, ExploresAsOftenAsEpsilonSays) {
  DqnConfig config;
  config.hidden = {8};
  config.num_envs = 4000;
  config.buffer_size = 4000;
  Loaded step(context_, dqn_step_graph(config, kSpaces, 0));
  step.put<float>("agent/q/head/weight", std::vector<double>(24, 0.0));
  step.put<float>("agent/q/head/bias", {0.0, 1.0, 0.0});  // greedy: action 1
  for (const double epsilon : {0.0, 0.3, 1.0}) {
    step.put<float>("epsilon", {epsilon});
    std::vector<double> counts(3, 0.0);
    for (int run = 0; run < 3; ++run) {
      step.run();
      for (const std::int32_t action : step.get<std::int32_t>("act/action")) {
        ASSERT_TRUE(action >= 0 && action < 3);
        counts[static_cast<std::size_t>(action)] += 1.0;
      }
    }
    // 12 000 draws: five standard deviations are under 0.022. With epsilon 0 there is nothing to be off.
    const double tolerance = epsilon > 0.0 ? 0.022 : 0.0;
    EXPECT_NEAR(counts[0] / 12000.0, epsilon / 3.0, tolerance);
    EXPECT_NEAR(counts[1] / 12000.0, 1.0 - epsilon * 2.0 / 3.0, tolerance);
    EXPECT_NEAR(counts[2] / 12000.0, epsilon / 3.0, tolerance);
  }
}

TEST_P(DqnTest, TargetStartsAsTheOnlineNetworkAndThenMovesByTau) {
  DqnConfig config;
  config.hidden = {8};
  config.tau = 0.25;
  Loaded start(context_, dqn_start_graph(config, kSpaces), 9);
  for (const char* name : {"/1/weight", "/1/bias", "/head/weight", "/head/bias"}) {
    ASSERT_NE(start.get<float>(std::string("agent/q") + name), start.get<float>(std::string("target/q") + name));
  }
  start.run();
  for (const char* name : {"/1/weight", "/1/bias", "/head/weight", "/head/bias"}) {
    EXPECT_EQ(start.get<float>(std::string("agent/q") + name), start.get<float>(std::string("target/q") + name));
  }
  Loaded move(context_, dqn_target_graph(config, kSpaces));
  move.put<float>("agent/q/head/bias", {4.0, 8.0, -4.0});
  move.put<float>("target/q/head/bias", {0.0, 4.0, 4.0});
  move.run();
  EXPECT_EQ(move.get<float>("target/q/head/bias"), (std::vector<float>{1.0F, 5.0F, 2.0F}));
  EXPECT_EQ(move.get<float>("agent/q/head/bias"), (std::vector<float>{4.0F, 8.0F, -4.0F}));
}

// One launch that stores, learns G times and acts must equal the launches one by one, to the bit.
TEST_P(DqnTest, OneLaunchEqualsItsPartsToTheBit) {
  DqnConfig config;
  config.hidden = {8, 8};
  config.num_envs = 2;
  config.buffer_size = 8;
  config.batch_size = 16;
  Loaded whole(context_, dqn_step_graph(config, kSpaces, 3), 4);
  Loaded step(context_, dqn_step_graph(config, kSpaces, 0), 4);
  Loaded update(context_, dqn_update_graph(config, kSpaces), 4);
  const std::vector<double> experience = {1.0,  0.0, .1, .2, .3, .4, .5, .6, .7, .8,  //
                                          -1.0, 1.0, .2, .1, .4, .3, .6, .5, .8, .7};
  const auto copy = [](Loaded& from, Loaded& to) {
    for (const auto& [name, entry] : from.buffers.entries()) {
      if (entry.kind == Graph::SlotKind::kState && to.buffers.contains(name)) {
        to.buffers.at(name).write(std::span<const std::byte>(entry.buffer.read<std::byte>()));
      }
    }
  };
  for (Loaded* program : {&whole, &step}) {
    program->put<float>("experience", experience);
    program->put<float>("epsilon", {0.5});
  }
  whole.put<float>("learning_rate", {1e-2});
  update.put<float>("learning_rate", {1e-2});
  whole.run();
  step.run();  // stores; what it does next with the old weights is not looked at
  copy(step, update);
  std::vector<float> metrics;
  for (int i = 0; i < 3; ++i) {
    update.run();
    for (const float metric : update.get<float>("metrics")) metrics.push_back(metric);
  }
  EXPECT_EQ(whole.get<float>("metrics"), metrics);
  EXPECT_EQ(whole.get<float>("replay/rows"), step.get<float>("replay/rows"));
  std::size_t weights = 0;
  for (const auto& [name, entry] : update.buffers.entries()) {
    if (!name.starts_with("agent/")) continue;
    ++weights;
    EXPECT_EQ(whole.get<float>(name), update.get<float>(name)) << name;
  }
  EXPECT_EQ(weights, 6U);

  // And the action is the new network's: acting alone, from the same random state, with the weights after the update.
  Loaded fresh(context_, dqn_step_graph(config, kSpaces, 0), 4);
  for (const auto& [name, entry] : update.buffers.entries()) {
    if (name.starts_with("agent/")) {
      fresh.buffers.at(name).write(std::span<const std::byte>(entry.buffer.read<std::byte>()));
    }
  }
  fresh.put<float>("experience", experience);
  fresh.put<float>("epsilon", {0.5});
  fresh.run();
  EXPECT_EQ(whole.get<std::int32_t>("act/action"), fresh.get<std::int32_t>("act/action"));
}

TEST_P(DqnTest, ActsWithTheWeightsThatTheUpdateLeft) {
  DqnConfig config;
  config.hidden = {1};
  config.num_envs = 1;
  config.buffer_size = 1;
  config.batch_size = 4;
  config.max_grad_norm = 0.0;
  Loaded whole(context_, dqn_step_graph(config, kSpaces, 1));
  whole.put<float>("agent/q/head/weight", {0.0, 0.0, 0.0});
  whole.put<float>("agent/q/head/bias", {1.0, 0.9, 0.0});
  whole.put<std::int32_t>("act/action", {0});  // action 0 is punished, and Adam's first step is the learning rate: 0.5
  whole.put<float>("experience", {-100.0, 1.0, 0, 0, 0, 0, 0, 0, 0, 0});
  whole.put<float>("epsilon", {0.0});
  whole.put<float>("learning_rate", {0.5});
  whole.run();
  EXPECT_NEAR(whole.get<float>("agent/q/head/bias")[0], 0.5, 1e-5);
  EXPECT_EQ(whole.get<std::int32_t>("act/action")[0], 1);
}

INSTANTIATE_TEST_SUITE_P(Backends, DqnTest, testing::Values("reference", "cpu"),
                         [](const auto& instance) { return instance.param; });

TEST(DqnConfigTest, RefusesWhatDoesNotFitTogether) {
  RunConfig run = default_config("dqn", "Pendulum-v1");  // whose settings are the general ones
  DqnConfig& config = run.dqn;
  config.num_envs = 3;
  config.buffer_size = 10'000;
  try {
    validate(run);
    FAIL() << "a ring that ends in the middle of a step was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("buffer_size is 10000"), std::string::npos) << error.what();
  }
  config.buffer_size = 9'999;
  config.train_frequency = 10;
  EXPECT_THROW(validate(run), Error);
  config.train_frequency = 9;
  config.target_update = 500;
  EXPECT_THROW(validate(run), Error);
  config.target_update = 501;
  EXPECT_NO_THROW(validate(run));
}

}  // namespace
}  // namespace thrt::rl
