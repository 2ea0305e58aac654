// PPO's programs against PyTorch's recorded numbers (tests/data/ppo), on every backend of the build.
#include <thrt/graph/passes.hpp>
#include <thrt/rl/algo/ppo.hpp>
#include <thrt/runtime/buffer_set.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

namespace thrt::rl {
namespace {

constexpr std::int64_t kMinibatch = 16;
constexpr PolicySpaces kSpaces{4, 3};

using Record = std::map<std::string, std::vector<double>>;

Record read_record() {
  Record record;
  std::ifstream file(THRT_TEST_DATA "/ppo/torch.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    for (double value = 0; words >> value;) record[name].push_back(value);
  }
  return record;
}

Context open(const std::string& id) {
  return Context(std::make_shared<LoadedPlugin>(THRT_BUILD_DIR "/lib/thrust/plugins/libthrust_backend_" + id + ".so",
                                                LoadOptions{.validate = true}));
}

// Where the numbers of a network lie in the record's flat list.
const std::vector<std::pair<std::string, std::size_t>> kNetwork = {
    {"1/weight", 32}, {"1/bias", 8}, {"2/weight", 64}, {"2/bias", 8}, {"head/weight", 0}, {"head/bias", 0}};

std::vector<std::pair<std::string, std::vector<float>>> split(const std::string& scope, const std::vector<double>& flat,
                                                              std::size_t outputs) {
  std::vector<std::pair<std::string, std::vector<float>>> parts;
  std::size_t first = 0;
  for (auto [name, count] : kNetwork) {
    if (name == "head/weight") count = 8 * outputs;
    if (name == "head/bias") count = outputs;
    const auto begin = flat.begin() + static_cast<std::ptrdiff_t>(first);
    parts.emplace_back(scope + name, std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(count)));
    first += count;
  }
  EXPECT_EQ(first, flat.size());
  return parts;
}

template <typename T>
void put(BufferSet& buffers, const std::string& name, const std::vector<double>& values) {
  const std::vector<T> typed(values.begin(), values.end());
  buffers.at(name).write(std::span<const T>(typed));
}

class PpoTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_FALSE(record_.empty()) << "tests/data/ppo/torch.txt is missing"; }
  Context context_ = open(GetParam());
  Record record_ = read_record();
};

PpoConfig config_of(const std::string& setting) {
  PpoConfig config;
  config.hidden = {8, 8};
  const bool full = setting == "full";
  config.clip_vloss = full;
  config.norm_adv = full;
  config.ent_coef = full ? 0.01 : 0.0;
  config.vf_coef = full ? 0.5 : 1.0;
  config.max_grad_norm = full ? 0.5 : 0.0;
  return config;
}

TEST_P(PpoTest, GradientStepsEqualTorch) {
  for (const std::string setting : {"full", "plain"}) {
    SCOPED_TRACE(setting);
    const Executable executable(context_,
                                lower(optimise(ppo_minibatch_graph(config_of(setting), kSpaces, kMinibatch))));
    BufferSet buffers(context_);
    buffers.add_slots(executable.program(), 1);
    for (const auto& [name, values] : split("agent/policy/", record_["policy"], 3)) {
      buffers.at(name).write(std::span<const float>(values));
    }
    for (const auto& [name, values] : split("agent/value/", record_["value"], 1)) {
      buffers.at(name).write(std::span<const float>(values));
    }
    for (const char* name : {"observations", "log_probs", "advantages", "returns", "values"}) {
      put<float>(buffers, name, record_[name]);
    }
    put<std::int32_t>(buffers, "actions", record_["actions"]);
    put<float>(buffers, "learning_rate", {setting == "full" ? 3e-3 : 1e-2});
    put<float>(buffers, "clip", {setting == "full" ? 0.2 : 0.1});
    Binding step = buffers.bind(executable);
    for (int i = 0; i < 2; ++i) {
      step.run();
      const std::vector<float> metrics = buffers.at("metrics").read<float>();
      const std::vector<double>& expected = record_[setting + "/metrics/" + std::to_string(i)];
      ASSERT_EQ(metrics.size(), expected.size());
      for (std::size_t m = 0; m < expected.size(); ++m) {
        EXPECT_NEAR(metrics[m], expected[m], 1e-5 * std::max(1.0, std::abs(expected[m]))) << kPpoMetricNames[m];
      }
    }
    for (const auto& [scope, outputs] : {std::pair{"policy", 3}, std::pair{"value", 1}}) {
      for (const auto& [name, expected] : split(std::string("agent/") + scope + "/", record_[setting + "/" + scope],
                                                static_cast<std::size_t>(outputs))) {
        const std::vector<float> found = buffers.at(name).read<float>();
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 5e-6) << name << " " << i;
      }
    }
  }
}

PpoConfig small_config() {
  PpoConfig config;
  config.num_envs = 4;
  config.num_steps = 16;
  config.num_minibatches = 4;
  config.update_epochs = 3;
  config.hidden = {8, 8};
  return config;
}

// Any rollout will do: values of a fixed pattern.
void put_rollout(BufferSet& buffers, const PpoConfig& config, const std::string& prefix) {
  const auto batch = static_cast<std::size_t>(config.batch_size());
  const auto pattern = [](std::size_t count, double step) {
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = std::sin(step * static_cast<double>(i + 1));
    return values;
  };
  put<float>(buffers, prefix + "observations", pattern(batch * 4, 0.37));
  put<float>(buffers, prefix + "log_probs", std::vector<double>(batch, std::log(1.0 / 3.0)));
  put<float>(buffers, prefix + "advantages", pattern(batch, 1.3));
  put<float>(buffers, prefix + "returns", pattern(batch, 0.7));
  put<float>(buffers, prefix + "values", pattern(batch, 0.9));
  std::vector<double> actions(batch);
  for (std::size_t i = 0; i < batch; ++i) actions[i] = static_cast<double>(i % 3);
  put<std::int32_t>(buffers, prefix + "actions", actions);
  put<float>(buffers, "learning_rate", {1e-3});
  put<float>(buffers, "clip", {0.2});
}

std::vector<float> weights_of(BufferSet& buffers) {
  std::vector<float> all;
  for (const auto& [name, entry] : buffers.entries()) {
    if (!name.starts_with("agent/")) continue;
    const std::vector<float> part = entry.buffer.read<float>();
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

TEST_P(PpoTest, UpdatePhaseWithOneMinibatchEqualsItsGradientStepsToTheBit) {
  PpoConfig config = small_config();
  config.num_minibatches = 1;
  const Executable phase(context_, lower(optimise(ppo_update_graph(config, kSpaces))));
  const Executable step(context_, lower(optimise(ppo_minibatch_graph(config, kSpaces, config.batch_size()))));
  BufferSet in_phase(context_), in_steps(context_);
  in_phase.add_slots(phase.program(), 5);
  in_steps.add_slots(step.program(), 5);
  put_rollout(in_phase, config, "rollout/");
  put_rollout(in_steps, config, "");
  in_phase.bind(phase).run();
  Binding steps = in_steps.bind(step);
  std::vector<float> metrics;
  for (std::int64_t epoch = 0; epoch < config.update_epochs; ++epoch) {
    steps.run();
    for (const float metric : in_steps.at("metrics").read<float>()) metrics.push_back(metric);
  }
  EXPECT_EQ(weights_of(in_phase), weights_of(in_steps));
  EXPECT_EQ(in_phase.at("metrics").read<float>(), metrics);
}

TEST_P(PpoTest, UpdatePhaseVisitsEveryTransitionOncePerEpoch) {
  // With one transition marked by an enormous return, the value loss of exactly one minibatch per epoch shows it.
  PpoConfig config = small_config();
  config.clip_vloss = false;
  config.vf_coef = 0.0;  // looking does not change the network
  const Executable phase(context_, lower(optimise(ppo_update_graph(config, kSpaces))));
  BufferSet buffers(context_);
  buffers.add_slots(phase.program(), 5);
  put_rollout(buffers, config, "rollout/");
  std::set<std::vector<int>> orders;
  Binding binding = buffers.bind(phase);
  for (int marked = 0; marked < 8; ++marked) {
    std::vector<double> returns(static_cast<std::size_t>(config.batch_size()), 0.0);
    returns[static_cast<std::size_t>(marked) * 8] = 1e4;
    put<float>(buffers, "rollout/returns", returns);
    binding.run();
    const std::vector<float> metrics = buffers.at("metrics").read<float>();
    std::vector<int> order;
    for (int epoch = 0; epoch < 3; ++epoch) {
      int seen = 0;
      for (int m = 0; m < 4; ++m) {
        const auto at = static_cast<std::size_t>(epoch * 4 + m) * kPpoMetrics + 1;
        if (metrics[at] > 1e6F) {
          ++seen;
          order.push_back(m);
        }
      }
      EXPECT_EQ(seen, 1) << "epoch " << epoch;
    }
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 3U) << "the permutations repeat";
}

TEST_P(PpoTest, ActingSamplesFromThePolicy) {
  PpoConfig config;
  config.hidden = {8};
  constexpr std::int64_t kBatch = 2000;
  const Executable act(context_, lower(optimise(ppo_act_graph(config, kSpaces, kBatch))));
  BufferSet buffers(context_);
  buffers.add_slots(act.program(), 3);
  // The head's bias alone decides: probabilities 0.2, 0.3, 0.5 in every row.
  put<float>(buffers, "agent/policy/head/weight", std::vector<double>(24, 0.0));
  put<float>(buffers, "agent/policy/head/bias", {std::log(0.2), std::log(0.3), std::log(0.5)});
  Binding binding = buffers.bind(act);
  std::vector<double> counts(3, 0.0);
  std::vector<std::int32_t> first;
  for (int run = 0; run < 10; ++run) {
    binding.run();
    const std::vector<std::int32_t> actions = buffers.at("action").read<std::int32_t>();
    const std::vector<float> log_probs = buffers.at("log_prob").read<float>();
    for (std::size_t i = 0; i < actions.size(); ++i) {
      ASSERT_TRUE(actions[i] >= 0 && actions[i] < 3);
      counts[static_cast<std::size_t>(actions[i])] += 1.0;
      EXPECT_NEAR(log_probs[i], std::log(std::array{0.2, 0.3, 0.5}[static_cast<std::size_t>(actions[i])]), 1e-5);
    }
    if (run == 0) first = actions;
    if (run == 1) {
      EXPECT_NE(first, actions) << "the random state does not advance";
    }
  }
  // 20 000 draws: five standard deviations are under 0.018.
  EXPECT_NEAR(counts[0] / 20000.0, 0.2, 0.018);
  EXPECT_NEAR(counts[1] / 20000.0, 0.3, 0.018);
  EXPECT_NEAR(counts[2] / 20000.0, 0.5, 0.018);
}

TEST_P(PpoTest, FirstPolicyIsNearlyUniformAndHiddenWeightsAreOrthogonal) {
  const Executable act(context_, lower(optimise(ppo_act_graph(PpoConfig{}, kSpaces, 4))));
  BufferSet buffers(context_);
  buffers.add_slots(act.program(), 11);
  put<float>(buffers, "observations", std::vector<double>(16, 0.5));
  buffers.bind(act).run();
  for (const float log_prob : buffers.at("log_prob").read<float>()) EXPECT_NEAR(log_prob, std::log(1.0 / 3.0), 0.05);
  const std::vector<float> weight = buffers.at("agent/policy/2/weight").read<float>();
  for (std::size_t a = 0; a < 64; ++a) {
    for (std::size_t b = 0; b < 64; ++b) {
      double product = 0.0;
      for (std::size_t i = 0; i < 64; ++i)
        product += static_cast<double>(weight[i * 64 + a]) * static_cast<double>(weight[i * 64 + b]);
      ASSERT_NEAR(product, a == b ? 2.0 : 0.0, 1e-5);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, PpoTest, testing::Values("reference", "cpu"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace thrt::rl
