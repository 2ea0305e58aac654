// A2C's update against PyTorch's recorded numbers (tests/data/a2c), on every backend of the build.
#include <thrt/graph/passes.hpp>
#include <thrt/rl/algo/a2c.hpp>
#include <thrt/runtime/buffer_set.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

namespace thrt::rl {
namespace {

constexpr std::int64_t kBatch = 12;

using Record = std::map<std::string, std::vector<double>>;

Record read_record() {
  Record record;
  std::ifstream file(THRT_TEST_DATA "/a2c/torch.txt");
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

struct Setting {
  std::string name;
  A2cConfig config;
  PolicySpaces spaces;
  double learning_rate = 0.0;
};

std::vector<Setting> settings() {
  Setting rmsprop{"rmsprop", {}, {4, 3, false}, 7e-3}, tensorflow{"rmsprop_tf", {}, {4, 3, false}, 7e-3},
      adam{"adam", {}, {4, 3, true}, 1e-2};
  rmsprop.config.ent_coef = 0.01;
  tensorflow.config.shared_trunk = true;
  tensorflow.config.vf_coef = 0.25;
  tensorflow.config.norm_adv = true;
  tensorflow.config.max_grad_norm = 0.0;
  adam.config.shared_trunk = true;
  adam.config.ent_coef = 0.02;
  for (Setting* each : {&rmsprop, &tensorflow, &adam}) {
    each->config.hidden = {8, 8};
    each->config.optimiser = each->name;
  }
  return {rmsprop, tensorflow, adam};
}

// The parameters that the record lists under a key, in its order, and how many numbers each has.
using Parameters = std::vector<std::pair<std::string, std::size_t>>;

Parameters trunk(const std::string& scope) {
  return {{scope + "1/weight", 32}, {scope + "1/bias", 8}, {scope + "2/weight", 64}, {scope + "2/bias", 8}};
}

Parameters head(const std::string& scope, std::size_t outputs) {
  return {{scope + "head/weight", 8 * outputs}, {scope + "head/bias", outputs}};
}

Parameters joined(Parameters a, const Parameters& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Calls visit(name, numbers) with each parameter's part of `flat`.
template <typename Visit>
void each_part(const Parameters& parameters, const std::vector<double>& flat, Visit visit) {
  std::size_t first = 0;
  for (const auto& [name, count] : parameters) {
    ASSERT_LE(first + count, flat.size()) << name;
    visit(name, std::vector<double>(flat.begin() + static_cast<std::ptrdiff_t>(first),
                                    flat.begin() + static_cast<std::ptrdiff_t>(first + count)));
    first += count;
  }
  ASSERT_EQ(first, flat.size());
}

class A2cTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_FALSE(record_.empty()) << "tests/data/a2c/torch.txt is missing"; }

  template <typename T>
  void put(BufferSet& buffers, const std::string& name, const std::vector<double>& values) {
    const std::vector<T> typed(values.begin(), values.end());
    buffers.at(name).write(std::span<const T>(typed));
  }
  void put_parameters(BufferSet& buffers, const Parameters& parameters, const std::vector<double>& flat) {
    each_part(parameters, flat, [&](const std::string& name, const std::vector<double>& part) {
      if (buffers.contains(name)) put<float>(buffers, name, part);
    });
  }
  void expect_parameters(BufferSet& buffers, const Parameters& parameters, const std::vector<double>& flat) {
    each_part(parameters, flat, [&](const std::string& name, const std::vector<double>& part) {
      const std::vector<float> found = buffers.at(name).read<float>();
      ASSERT_EQ(found.size(), part.size()) << name;
      for (std::size_t i = 0; i < part.size(); ++i) EXPECT_NEAR(found[i], part[i], 5e-6) << name << " " << i;
    });
  }
  void fill(BufferSet& buffers, const Setting& setting) {
    const std::string policy = setting.config.shared_trunk ? "agent/trunk/" : "agent/policy/";
    put_parameters(buffers, joined(trunk(policy), head("agent/policy/", 3)), record_["policy"]);
    put_parameters(buffers, joined(trunk("agent/value/"), head("agent/value/", 1)), record_["value"]);
    for (const char* name : {"observations", "advantages", "returns"}) put<float>(buffers, name, record_[name]);
    if (setting.spaces.continuous) {
      put<float>(buffers, "agent/policy/log_std", record_["log_std"]);
      put<float>(buffers, "actions", record_["box_actions"]);
    } else {
      put<std::int32_t>(buffers, "actions", record_["actions"]);
    }
    put<float>(buffers, "learning_rate", {setting.learning_rate});
  }

  Context context_ = open(GetParam());
  Record record_ = read_record();
};

TEST_P(A2cTest, UpdatesEqualTorch) {
  for (const Setting& setting : settings()) {
    SCOPED_TRACE(setting.name);
    const Executable executable(context_, lower(optimise(a2c_minibatch_graph(setting.config, setting.spaces, kBatch))));
    BufferSet buffers(context_);
    buffers.add_slots(executable.program(), 1);
    fill(buffers, setting);
    Binding update = buffers.bind(executable);
    for (int i = 0; i < 2; ++i) {
      update.run();
      const std::vector<float> metrics = buffers.at("metrics").read<float>();
      const std::vector<double>& expected = record_[setting.name + "/metrics/" + std::to_string(i)];
      ASSERT_EQ(metrics.size(), expected.size());
      for (std::size_t m = 0; m < expected.size(); ++m) {
        EXPECT_NEAR(metrics[m], expected[m], 1e-5 * std::max(1.0, std::abs(expected[m]))) << kA2cMetricNames[m];
      }
    }
    const std::string policy = setting.config.shared_trunk ? "agent/trunk/" : "agent/policy/";
    expect_parameters(buffers, joined(trunk(policy), head("agent/policy/", 3)), record_[setting.name + "/policy"]);
    expect_parameters(buffers, head("agent/value/", 1), record_[setting.name + "/value_head"]);
    if (!setting.config.shared_trunk) {
      expect_parameters(buffers, trunk("agent/value/"), record_[setting.name + "/value_trunk"]);
    }
    if (setting.spaces.continuous) {
      expect_parameters(buffers, {{"agent/policy/log_std", 3}}, record_[setting.name + "/log_std"]);
    }
  }
}

TEST_P(A2cTest, ASharedTrunkHasThePublishedNumberOfParameters) {  // 4 675, of 4-64-64 with heads of 2 and 1
  A2cConfig config;
  config.shared_trunk = true;
  const Program program = lower(optimise(a2c_minibatch_graph(config, {4, 2}, 64)));
  std::int64_t parameters = 0;
  for (const Program::Slot& slot : program.slots()) {
    if (slot.name.starts_with("agent/")) parameters += slot.type.elements();
  }
  EXPECT_EQ(parameters, 4675);
}

// Actions drawn from a normal distribution of known mean and deviation, and their log-density.
TEST_P(A2cTest, ContinuousActionsAreNormal) {
  constexpr std::int64_t kRows = 4000;
  const ActorCriticShape shape{{8}, "tanh", false};
  const Executable act(context_, lower(optimise(actor_critic_act_graph("act", shape, {4, 2, true}, kRows))));
  BufferSet buffers(context_);
  buffers.add_slots(act.program(), 3);
  put<float>(buffers, "agent/policy/head/weight", std::vector<double>(16, 0.0));
  put<float>(buffers, "agent/policy/head/bias", {0.5, -1.5});
  put<float>(buffers, "agent/policy/log_std", {std::log(0.25), std::log(2.0)});
  Binding binding = buffers.bind(act);
  const double means[] = {0.5, -1.5}, deviations[] = {0.25, 2.0};
  double sums[] = {0.0, 0.0}, squares[] = {0.0, 0.0}, product = 0.0;
  for (int run = 0; run < 5; ++run) {
    binding.run();
    const std::vector<float> actions = buffers.at("action").read<float>();
    const std::vector<float> log_probs = buffers.at("log_prob").read<float>();
    for (std::size_t row = 0; row < log_probs.size(); ++row) {
      double density = 0.0, both = 1.0;
      for (std::size_t j = 0; j < 2; ++j) {
        const double z = (static_cast<double>(actions[2 * row + j]) - means[j]) / deviations[j];
        density += -0.5 * z * z - std::log(deviations[j]) - 0.9189385332046727;  // log(2 pi) / 2
        sums[j] += z;
        squares[j] += z * z;
        both *= z;
      }
      product += both;
      ASSERT_NEAR(log_probs[row], density, 1e-4 * std::max(1.0, std::abs(density)));
    }
  }
  constexpr double kDraws = 20000.0;  // five standard deviations: 0.036 of a mean, 0.05 of a mean square
  for (std::size_t j = 0; j < 2; ++j) {
    EXPECT_NEAR(sums[j] / kDraws, 0.0, 0.036);
    EXPECT_NEAR(squares[j] / kDraws, 1.0, 0.05);
  }
  EXPECT_NEAR(product / kDraws, 0.0, 0.036);
}

INSTANTIATE_TEST_SUITE_P(Backends, A2cTest, testing::Values("reference", "cpu"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace thrt::rl
