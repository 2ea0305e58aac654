// SAC's programs against PyTorch's recorded numbers (tests/data/sac), and its policy's density against the closed form.
#include <thrt/rl/algo/sac.hpp>
#include <thrt/rl/algo/sac_policy.hpp>

#include "tests/rl/algo/torch_record.hpp"

#include <thrt/error.hpp>
#include <thrt/graph/autodiff.hpp>
#include <thrt/nn/random.hpp>

#include <cmath>
#include <numbers>

namespace thrt::rl {
namespace {

using test::Loaded;
using test::Record;

class SacTest : public testing::TestWithParam<std::string> {
 protected:
  Context context_ = test::open_backend(GetParam());
};

TEST_P(SacTest, GradientStepsEqualTorch) {
  const Record record = test::read_record("sac/torch.txt");
  ASSERT_FALSE(record.empty()) << "tests/data/sac/torch.txt is missing";
  const SacSpaces spaces{.observation_size = 3, .action_low = {-1, -1}, .action_high = {1, 1}};
  for (const std::string setting : {"learned", "fixed"}) {
    SCOPED_TRACE(setting);
    const bool learned = setting == "learned";
    SacConfig config;
    config.hidden = {8, 8};
    config.batch_size = 12;
    config.gamma = 0.95;
    config.tau = 0.1;
    config.adam_eps = 1e-5;
    config.alpha = learned ? 0.5 : 0.2;
    config.learn_alpha = learned;
    config.max_grad_norm = learned ? 0.0 : 0.05;
    Loaded step(context_, sac_minibatch_graph(config, spaces));
    test::put_network(step, test::layers("agent/actor", 3, 4), record.at("actor"));
    for (const std::string which : {"1", "2"}) {
      test::put_network(step, test::layers("agent/critic" + which, 5, 1), record.at("critic" + which));
      test::put_network(step, test::layers("target/critic" + which, 5, 1), record.at("target" + which));
    }
    for (const char* name : {"observations", "actions", "rewards", "terminated", "next_observations"}) {
      step.put<float>(name, record.at(name));
    }
    step.put<float>("learning_rate", {learned ? 3e-3 : 1e-2});
    for (int i = 0; i < 3; ++i) {
      step.put<float>("noise", record.at("noise/" + std::to_string(i)));
      step.run();
      test::expect_numbers(step.get<float>("metrics"), record.at(setting + "/metrics/" + std::to_string(i)), 1e-5);
    }
    test::expect_network(step, test::layers("agent/actor", 3, 4), record.at(setting + "/actor"), 2e-5);
    for (const std::string which : {"1", "2"}) {
      test::expect_network(step, test::layers("agent/critic" + which, 5, 1), record.at(setting + "/critic" + which),
                           2e-5);
      test::expect_network(step, test::layers("target/critic" + which, 5, 1), record.at(setting + "/target" + which),
                           2e-5);
    }
    test::expect_numbers(step.get<float>("temperature/log_alpha"), record.at(setting + "/log_alpha"), 2e-6);
  }
}

// log N(u; mean, std^2) - log(1 - tanh(u)^2) in f64, with 1 - tanh(u)^2 = 1 / cosh(u)^2 in a form that does not overflow.
double closed_form(double mean, double log_std, double noise) {
  const double u = mean + std::exp(log_std) * noise;
  const double log_cosh = std::abs(u) + std::log1p(std::exp(-2.0 * std::abs(u))) - std::numbers::ln2;
  return -0.5 * noise * noise - log_std - 0.5 * std::log(2.0 * std::numbers::pi) + 2.0 * log_cosh;
}

struct Case {
  double mean, log_std, noise;
};
// From the middle to actions that round to 1 in f32 (|u| > 9.1), and deviations near both clamps.
const std::vector<Case> kCases = {{0, 0, 0},      {0.3, -1, 0.7}, {-0.8, 0.5, -1.2}, {5, -2, 0.1},
                                  {-9, 0, 0.5},   {9.5, -3, 1},   {-20, 1, 2},       {40, -5, 0.3},
                                  {-80, 1.9, -3}, {2, 1.9, 4},    {1e-3, -4, -.2},   {0.5, -19.5, 0.1}};

TEST_P(SacTest, DensityIsTheClosedFormAtExtremeActionsToo) {
  const auto count = static_cast<std::int64_t>(kCases.size());
  Graph graph("density");
  const Type type{DType::kF32, {count, 1}};
  const Tensor mean = graph.input("mean", type), log_std = graph.input("log_std", type);
  const Tensor noise = graph.input("noise", type);
  const TanhGaussian::Sample sample = TanhGaussian(mean, log_std).sample(noise);
  graph.output("action", sample.action);
  graph.output("log_prob", sample.log_prob);
  const std::vector<Tensor> slopes = gradients(sum(sample.log_prob), {mean, log_std});
  graph.output("by_mean", slopes[0]);
  graph.output("by_log_std", slopes[1]);
  Loaded program(context_, graph);
  std::vector<double> means, log_stds, noises;
  for (const Case& c : kCases) {
    means.push_back(c.mean);
    log_stds.push_back(c.log_std);
    noises.push_back(c.noise);
  }
  program.put<float>("mean", means);
  program.put<float>("log_std", log_stds);
  program.put<float>("noise", noises);
  program.run();
  const std::vector<float> action = program.get<float>("action"), log_prob = program.get<float>("log_prob");
  const std::vector<float> by_mean = program.get<float>("by_mean"), by_log_std = program.get<float>("by_log_std");
  for (std::size_t i = 0; i < kCases.size(); ++i) {
    SCOPED_TRACE(i);
    const auto [m, s, e] = kCases[i];
    const double u = m + std::exp(s) * e;
    EXPECT_NEAR(action[i], std::tanh(u), 2e-7);
    const double expected = closed_form(m, s, e);
    EXPECT_NEAR(log_prob[i], expected, 2e-6 * std::max(1.0, std::abs(expected)));
    // d/du of -log(1 - tanh^2) is 2 tanh(u); u moves with the mean by 1, with log_std by std * noise.
    EXPECT_NEAR(by_mean[i], 2.0 * std::tanh(u), 2e-6);
    const double expected_slope = -1.0 + 2.0 * std::tanh(u) * std::exp(s) * e;
    EXPECT_NEAR(by_log_std[i], expected_slope, 3e-6 * std::max(1.0, std::abs(expected_slope)));
  }
}

TEST_P(SacTest, DensityIntegratesToOne) {
  // Over a in (-1, 1), as the mean of density * da on a grid of u: a probability, whatever the parameters.
  constexpr std::int64_t kPoints = 4001;
  Graph graph("integral");
  const Type type{DType::kF32, {kPoints, 1}};
  const TanhGaussian policy(full(graph, type, 0.4), full(graph, type, -0.3));
  const TanhGaussian::Sample sample = policy.sample(graph.input("noise", type));
  graph.output("action", sample.action);
  graph.output("log_prob", sample.log_prob);
  Loaded program(context_, graph);
  std::vector<double> noise;
  for (std::int64_t i = 0; i < kPoints; ++i) noise.push_back(-6.0 + 12.0 * static_cast<double>(i) / (kPoints - 1));
  program.put<float>("noise", noise);
  program.run();
  const std::vector<float> action = program.get<float>("action"), log_prob = program.get<float>("log_prob");
  double total = 0.0;  // trapezoids
  for (std::size_t i = 1; i < action.size(); ++i) {
    const double width = static_cast<double>(action[i]) - static_cast<double>(action[i - 1]);
    total +=
        0.5 * width * (std::exp(static_cast<double>(log_prob[i])) + std::exp(static_cast<double>(log_prob[i - 1])));
  }
  EXPECT_NEAR(total, 1.0, 2e-4);
}

const SacSpaces kTorque{.observation_size = 3, .action_low = {-2}, .action_high = {2}};

TEST_P(SacTest, ActionsComeInTheEnvironmentsUnitsAndAreStoredInTheNetworks) {
  SacConfig config;
  config.hidden = {8};
  config.num_envs = 1;
  config.buffer_size = 4;
  const SacSpaces lopsided{.observation_size = 3, .action_low = {-1, 10}, .action_high = {3, 14}};
  Loaded greedy(context_, sac_policy_graph(config, lopsided, 1, false));
  greedy.put<float>("agent/actor/head/weight", std::vector<double>(32, 0.0));
  greedy.put<float>("agent/actor/head/bias", {std::atanh(0.5), std::atanh(-0.25), 0, 0});
  greedy.run();
  test::expect_numbers(greedy.get<float>("action"), {1.0 + 2.0 * 0.5, 12.0 - 2.0 * 0.25}, 1e-6);

  Loaded step(context_, sac_step_graph(config, lopsided, 0));
  step.put<float>("act/observations", {1, 2, 3});
  step.put<float>("act/action", {2.0, 11.5});
  step.put<float>("experience", {0.75, 0, 4, 5, 6, 7, 8, 9});
  step.run();
  const std::vector<float> rows = step.get<float>("replay/rows");
  test::expect_numbers({rows.begin(), rows.begin() + 10}, {1, 2, 3, 4, 5, 6, 0.5, -0.25, 0.75, 0}, 1e-6);
  EXPECT_EQ(step.get<float>("act/observations"), (std::vector<float>{7, 8, 9}));
}

TEST_P(SacTest, ExploresUniformlyAtFirstAndThenFromThePolicy) {
  SacConfig config;
  config.hidden = {8};
  config.num_envs = 4000;
  config.buffer_size = 4000;
  Loaded step(context_, sac_step_graph(config, kTorque, 0));
  step.put<float>("agent/actor/head/weight", std::vector<double>(16, 0.0));
  step.put<float>("agent/actor/head/bias", {0.5, std::log(0.1)});
  const auto moments = [&] {
    step.run();
    double mean = 0.0, square = 0.0;
    for (const float action : step.get<float>("act/action")) {
      EXPECT_LE(std::abs(action), 2.0F);
      mean += static_cast<double>(action) / 4000.0;
      square += static_cast<double>(action) * static_cast<double>(action) / 4000.0;
    }
    return std::pair(mean, std::sqrt(square - mean * mean));
  };
  step.put<float>("epsilon", {1.0});
  const auto [mean, deviation] = moments();
  EXPECT_NEAR(mean, 0.0, 5.0 * 1.1547 / std::sqrt(4000.0));  // U(-2, 2) has the deviation 2 / sqrt(3)
  EXPECT_NEAR(deviation, 2.0 / std::sqrt(3.0), 0.04);
  step.put<float>("epsilon", {0.0});
  const auto [policy_mean, policy_deviation] = moments();
  // tanh about 0.5, to second order: 2 (t - s^2 t (1 - t^2)), and 2 s (1 - t^2).
  const double t = std::tanh(0.5), slope = 1.0 - t * t;
  EXPECT_NEAR(policy_mean, 2.0 * (t - 0.01 * t * slope), 5.0 * 0.16 / std::sqrt(4000.0));
  EXPECT_NEAR(policy_deviation, 0.2 * slope, 0.01);
}

TEST_P(SacTest, TargetsStartAsTheCritics) {
  SacConfig config;
  config.hidden = {8};
  Loaded start(context_, sac_start_graph(config, kTorque), 3);
  start.run();
  for (const char* name : {"critic1/1/weight", "critic1/1/bias", "critic1/head/weight", "critic1/head/bias",
                           "critic2/1/weight", "critic2/1/bias", "critic2/head/weight", "critic2/head/bias"}) {
    const std::vector<float> online = start.get<float>(std::string("agent/") + name);
    EXPECT_EQ(online, start.get<float>(std::string("target/") + name)) << name;
  }
  EXPECT_NE(start.get<float>("agent/critic1/1/weight"), start.get<float>("agent/critic2/1/weight"));
}

// What the whole update draws for itself (rows and noise), given to the plain gradient step, gives the same bits.
TEST_P(SacTest, UpdateFromTheRingIsTheGradientStep) {
  SacConfig config;
  config.hidden = {8, 8};
  config.buffer_size = 1;
  config.batch_size = 6;
  Loaded update(context_, sac_update_graph(config, kTorque), 5);
  update.put<float>("replay/rows", {.1, .2, .3, .4, .5, .6, .7, -1.5, 0});
  update.put<std::int32_t>("replay/size", {1});
  update.put<float>("learning_rate", {1e-3});
  Graph drawn("noise");
  nn::Random noises(drawn, "rng/update");
  static_cast<void>(noises.bits({6}));
  drawn.output("noise", noises.normal({2, 6, 1}));
  Loaded noise(context_, drawn, 5);
  noise.run();
  update.run();

  Loaded step(context_, sac_minibatch_graph(config, kTorque), 5);
  const auto repeated = [](std::vector<double> row) {
    std::vector<double> all;
    for (int i = 0; i < 6; ++i) all.insert(all.end(), row.begin(), row.end());
    return all;
  };
  step.put<float>("observations", repeated({.1, .2, .3}));
  step.put<float>("next_observations", repeated({.4, .5, .6}));
  step.put<float>("actions", repeated({.7}));
  step.put<float>("rewards", repeated({-1.5}));
  const std::vector<float> values = noise.get<float>("noise");
  step.put<float>("noise", {values.begin(), values.end()});
  step.put<float>("learning_rate", {1e-3});
  step.run();
  EXPECT_EQ(update.get<float>("metrics"), step.get<float>("metrics"));
  EXPECT_EQ(update.get<float>("agent/actor/2/weight"), step.get<float>("agent/actor/2/weight"));
  EXPECT_EQ(update.get<float>("target/critic2/2/weight"), step.get<float>("target/critic2/2/weight"));
}

INSTANTIATE_TEST_SUITE_P(Backends, SacTest, testing::Values("reference", "cpu"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace thrt::rl
