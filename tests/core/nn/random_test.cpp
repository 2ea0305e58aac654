#include "reference_device.hpp"

#include <thrt/philox.h>
#include <thrt/graph/repeat.hpp>
#include <thrt/nn/random.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace thrt::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::Gt;
using ::testing::Lt;

constexpr std::int64_t kDraws = 20000;

double mean_of(const std::vector<double>& x, int power = 1) {
  double total = 0.0;
  for (const double value : x) total += std::pow(value, power);
  return total / static_cast<double>(x.size());
}

std::vector<double> draw(const std::function<Tensor(nn::Random&)>& what) {
  Graph graph("g");
  nn::Random random(graph);
  graph.output("x", what(random));
  return run(graph).at("x").numbers();
}

// philox.h's own words, and the state's advance.
TEST(Random, BitsAreTheStatesWordsAndEachDrawAdvancesIt) {
  Graph graph("g");
  nn::Random random(graph, "noise");
  graph.output("first", random.bits({3}));
  graph.output("second", random.bits({2, 3}));
  const HostValues results =
      run(graph, {{"noise", {{DType::kU32, {4}}, std::vector<double>{11, 22, 4294967295.0, 7}}}});
  const std::array<std::uint32_t, 4> first = {11, 22, 4294967295u, 7}, second = {11, 22, 0, 7};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(results.at("first").numbers()[i], thrt_random_word(first.data(), i));
  }
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(results.at("second").numbers()[i], thrt_random_word(second.data(), i));
  }
  EXPECT_THAT(results.at("noise").numbers(), ElementsAre(11, 22, 1, 7));
}

// Moments of n uniform numbers: mean 1/2 with deviation 1/sqrt(12 n), second moment 1/3 with sqrt(4/45 / n).
TEST(Random, UniformNumbersFillTheirRange) {
  const double n = static_cast<double>(kDraws);
  for (const bool open : {false, true}) {
    const std::vector<double> x =
        draw([&](nn::Random& r) { return open ? r.uniform_open({kDraws}) : r.uniform({kDraws}); });
    EXPECT_NEAR(mean_of(x), 0.5, 5.0 / std::sqrt(12.0 * n));
    EXPECT_NEAR(mean_of(x, 2), 1.0 / 3.0, 5.0 * std::sqrt(4.0 / 45.0 / n));
    EXPECT_THAT(x, Each(Lt(1.0)));
    if (open) {
      EXPECT_THAT(x, Each(Gt(0.0)));
    } else {
      EXPECT_THAT(x, Each(Ge(0.0)));
    }
  }
}

TEST(Random, UniformIsTheUpper24Bits) {
  Graph graph("g");
  nn::Random random(graph);
  graph.output("x", random.uniform({5}));
  const std::array<std::uint32_t, 4> state = {1, 2, 3, 4};
  const std::vector<double> x =
      run(graph, {{"rng", {{DType::kU32, {4}}, std::vector<double>{1, 2, 3, 4}}}}).at("x").numbers();
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(x[i], (thrt_random_word(state.data(), i) >> 8) * 0x1p-24);
}

// The extremes of 23 bits, in f32: a logarithm and a logarithm of it stay finite.
TEST(Random, OpenUniformExcludesBothEndsInF32) {
  EXPECT_GT((0.0f + 0.5f) * 0x1p-23f, 0.0f);
  EXPECT_LT((8388607.0f + 0.5f) * 0x1p-23f, 1.0f);
}

// Moments of n normal numbers: 0, 1, 0, 3 with deviations 1, sqrt 2, sqrt 15, sqrt 96 over sqrt n.
TEST(Random, NormalNumbersHaveTheirMoments) {
  const std::vector<double> x = draw([](nn::Random& r) { return r.normal({kDraws}); });
  const double unit = 5.0 / std::sqrt(static_cast<double>(kDraws));
  EXPECT_NEAR(mean_of(x, 1), 0.0, unit);
  EXPECT_NEAR(mean_of(x, 2), 1.0, unit * std::sqrt(2.0));
  EXPECT_NEAR(mean_of(x, 3), 0.0, unit * std::sqrt(15.0));
  EXPECT_NEAR(mean_of(x, 4), 3.0, unit * std::sqrt(96.0));
  double lagged = 0.0;  // the two of a pair are apart by half the count
  for (std::size_t i = 0; i < x.size() / 2; ++i) lagged += x[i] * x[i + x.size() / 2];
  EXPECT_NEAR(lagged / (static_cast<double>(kDraws) / 2.0), 0.0, unit * std::sqrt(2.0));
}

TEST(Random, NormalTakesAnyShape) {
  for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 0}, Shape{3, 5}}) {
    Graph graph("g");
    nn::Random random(graph);
    EXPECT_EQ(random.normal(shape).shape(), shape);
    EXPECT_EQ(random.normal(shape, DType::kF64).dtype(), DType::kF64);
    EXPECT_NO_THROW(run(graph));
  }
}

TEST(Random, PermutationsArePermutations) {
  constexpr std::int64_t kCount = 257;
  Graph body("body");
  nn::Random random(body);
  body.output("order", random.permutation(kCount));
  Graph graph("g");
  graph.output("orders", repeat(graph, 3, body, {}).at("order"));
  const std::vector<double> orders = run(graph).at("orders").numbers();
  std::vector<double> expected(kCount);
  std::iota(expected.begin(), expected.end(), 0.0);
  std::vector<std::vector<double>> each;
  for (std::ptrdiff_t i = 0; i < 3; ++i) {
    each.emplace_back(orders.begin() + i * kCount, orders.begin() + (i + 1) * kCount);
    std::vector<double> sorted = each.back();
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, expected);
    EXPECT_NE(each.back(), expected);
  }
  EXPECT_NE(each[0], each[1]);
  EXPECT_NE(each[1], each[2]);
}

// All 24 orders of 4 elements appear about equally often: chi-squared with 23 degrees of freedom; 59.5 has p = 4e-5.
TEST(Random, PermutationsAreUniform) {
  constexpr std::int64_t kTrips = 4800;
  Graph body("body");
  nn::Random random(body);
  const std::array<std::int32_t, 4> digits = {1, 4, 16, 64};
  body.output("order", sum(random.permutation(4) * constant_i32(body, {4}, digits)));
  Graph graph("g");
  graph.output("orders", repeat(graph, kTrips, body, {}).at("order"));
  std::map<double, double> counts;
  for (const double order : run(graph).at("orders").numbers()) counts[order] += 1.0;
  ASSERT_EQ(counts.size(), 24u);
  double chi_squared = 0.0;
  for (const auto& [order, count] : counts) chi_squared += (count - 200.0) * (count - 200.0) / 200.0;
  EXPECT_LT(chi_squared, 59.5);
}

TEST(Random, SlotsOfTwoNamesAndTwoSeedsDrawDifferently) {
  Graph graph("g");
  nn::Random acting(graph, "rng/act"), training(graph, "rng/update");
  graph.output("a", acting.bits({8}));
  graph.output("b", training.bits({8}));
  std::vector<HostValue> seen;
  for (const std::uint64_t seed : {1u, 2u}) {
    Session session(graph, seed);
    for (int i = 0; i < 3; ++i) {
      session.run();
      for (const char* name : {"a", "b"}) {
        EXPECT_EQ(std::count(seen.begin(), seen.end(), session.get(name)), 0);
        seen.push_back(session.get(name));
      }
    }
  }
}

}  // namespace
}  // namespace thrt::test
