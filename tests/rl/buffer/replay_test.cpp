// The ring on the device: what is stored where, and what is drawn how often.
#include <thrt/rl/buffer/replay.hpp>

#include "tests/rl/algo/torch_record.hpp"

#include <thrt/error.hpp>
#include <thrt/graph/tensor_ops.hpp>

#include <set>

namespace thrt::rl {
namespace {

using test::Loaded;

class ReplayTest : public testing::TestWithParam<std::string> {
 protected:
  Context context_ = test::open_backend(GetParam());
};

Graph store_graph(const ReplayShape& shape, std::int64_t count) {
  Graph graph("store");
  const Type observations{DType::kF32, {count, shape.observation_size}}, column{DType::kF32, {count}};
  replay_store(graph, shape,
               {graph.input("observations", observations), graph.input("next", observations),
                graph.input("actions", {DType::kF32, {count, shape.action_size}}), graph.input("rewards", column),
                graph.input("terminated", column)});
  return graph;
}

Graph sample_graph(const ReplayShape& shape, std::int64_t batch) {
  Graph graph("sample");
  nn::Random random(graph, "rng/update");
  const ReplayBatch drawn = replay_sample(graph, shape, batch, random);
  graph.output("observations", drawn.observations);
  graph.output("next_observations", drawn.next_observations);
  graph.output("actions", drawn.actions);
  graph.output("rewards", drawn.rewards);
  graph.output("terminated", drawn.terminated);
  return graph;
}

TEST_P(ReplayTest, FillsAndThenOverwritesTheOldest) {
  const ReplayShape shape{.capacity = 6, .observation_size = 2, .action_size = 1};
  Loaded store(context_, store_graph(shape, 2));
  for (int t = 0; t < 4; ++t) {  // rewards 0 1 | 2 3 | 4 5 | 6 7
    const double first = 2.0 * t;
    store.put<float>("observations", {first + .1, first + .2, first + 1.1, first + 1.2});
    store.put<float>("next", {first + .3, first + .4, first + 1.3, first + 1.4});
    store.put<float>("actions", {first * 10, first * 10 + 10});
    store.put<float>("rewards", {first, first + 1});
    store.put<float>("terminated", {0, 1});
    store.run();
    EXPECT_EQ(store.get<std::int32_t>("replay/size")[0], std::min(2 * (t + 1), 6));
    EXPECT_EQ(store.get<std::int32_t>("replay/next")[0], 2 * (t + 1) % 6);
  }
  const std::vector<float> rows = store.get<float>("replay/rows");
  ASSERT_EQ(rows.size(), 6U * 7U);
  const std::vector<float> expected_rewards = {6, 7, 2, 3, 4, 5};
  for (std::size_t row = 0; row < 6; ++row) {
    const float reward = expected_rewards[row];
    test::expect_numbers(
        {rows.begin() + static_cast<std::ptrdiff_t>(row * 7), rows.begin() + static_cast<std::ptrdiff_t>(row * 7 + 7)},
        {reward + .1, reward + .2, reward + .3, reward + .4, reward * 10.0, reward, static_cast<double>(row % 2)},
        1e-6);
  }
}

TEST_P(ReplayTest, DrawsWholeRowsOfWhatIsThere) {
  const ReplayShape shape{.capacity = 100, .observation_size = 2, .action_size = 1};
  Loaded sample(context_, sample_graph(shape, 64));
  std::vector<double> rows(700, -1.0);
  for (int i = 0; i < 37; ++i) {
    for (int column = 0; column < 7; ++column) rows[static_cast<std::size_t>(i * 7 + column)] = i + 1000.0 * column;
  }
  sample.put<float>("replay/rows", rows);
  sample.put<std::int32_t>("replay/size", {37});
  std::set<int> seen;
  for (int run = 0; run < 8; ++run) {
    sample.run();
    const std::vector<float> observations = sample.get<float>("observations"),
                             next = sample.get<float>("next_observations");
    const std::vector<float> actions = sample.get<float>("actions"), rewards = sample.get<float>("rewards");
    const std::vector<float> terminated = sample.get<float>("terminated");
    for (std::size_t b = 0; b < 64; ++b) {
      const float i = observations[2 * b];
      ASSERT_TRUE(i >= 0.0F && i < 37.0F);
      seen.insert(static_cast<int>(i));
      EXPECT_EQ(observations[2 * b + 1], i + 1000.0F);
      EXPECT_EQ(next[2 * b], i + 2000.0F);
      EXPECT_EQ(next[2 * b + 1], i + 3000.0F);
      EXPECT_EQ(actions[b], i + 4000.0F);
      EXPECT_EQ(rewards[b], i + 5000.0F);
      EXPECT_EQ(terminated[b], i + 6000.0F);
    }
  }
  EXPECT_EQ(seen.size(), 37U);  // 512 draws miss one of 37 once in 30 000 times; the seed is fixed
}

TEST_P(ReplayTest, DrawsUniformlyAndAsTheSeedSays) {
  constexpr std::size_t kSize = 50;
  const ReplayShape shape{.capacity = 64, .observation_size = 1, .action_size = 1};
  const auto draw = [&](std::uint64_t seed, int runs) {
    Loaded sample(context_, sample_graph(shape, 1000), seed);
    std::vector<double> rows(64 * 5);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<double>(i / 5);
    sample.put<float>("replay/rows", rows);
    sample.put<std::int32_t>("replay/size", {static_cast<double>(kSize)});
    std::vector<std::size_t> drawn;
    for (int run = 0; run < runs; ++run) {
      sample.run();
      for (const float value : sample.get<float>("rewards")) drawn.push_back(static_cast<std::size_t>(value));
    }
    return drawn;
  };
  const std::vector<std::size_t> first = draw(7, 20);
  EXPECT_EQ(first, draw(7, 20));
  EXPECT_NE(first, draw(8, 20));

  // Chi-square with 49 degrees of freedom: the 0.05 % quantiles are 22.8 and 89.6.
  std::vector<double> counts(kSize, 0.0);
  for (const std::size_t index : first) {
    ASSERT_LT(index, kSize);
    counts[index] += 1.0;
  }
  const double expected = static_cast<double>(first.size()) / static_cast<double>(kSize);
  double statistic = 0.0;
  for (const double count : counts) statistic += (count - expected) * (count - expected) / expected;
  EXPECT_GT(statistic, 22.8);
  EXPECT_LT(statistic, 89.6);

  // And no draw depends on the one before: pairs of neighbours in 5 x 5 classes, 24 degrees of freedom, 0.1 % quantile.
  std::vector<double> pairs(25, 0.0);
  for (std::size_t i = 0; i + 1 < first.size(); i += 2) pairs[first[i] / 10 * 5 + first[i + 1] / 10] += 1.0;
  const double each = static_cast<double>(first.size() / 2) / 25.0;
  double dependence = 0.0;
  for (const double count : pairs) dependence += (count - each) * (count - each) / each;
  EXPECT_LT(dependence, 51.2);
}

INSTANTIATE_TEST_SUITE_P(Backends, ReplayTest, testing::Values("reference", "cpu"),
                         [](const auto& instance) { return instance.param; });

TEST(ReplayShapeTest, RefusesBlocksThatWouldWrap) {
  EXPECT_THROW(store_graph({.capacity = 5, .observation_size = 1, .action_size = 1}, 2), Error);
  EXPECT_THROW(store_graph({.capacity = 2, .observation_size = 1, .action_size = 1}, 4), Error);
  EXPECT_NO_THROW(store_graph({.capacity = 4, .observation_size = 1, .action_size = 1}, 4));
}

}  // namespace
}  // namespace thrt::rl
