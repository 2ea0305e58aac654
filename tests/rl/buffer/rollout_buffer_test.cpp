#include "thrt/rl/buffer/rollout_buffer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "thrt/error.hpp"
#include "thrt/rl/env/pcg64.hpp"

namespace thrt::rl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One environment, one observation element per step (its index), one episode end where flagged.
struct Transition {
  float reward = 0.0F;
  float value = 0.0F;
  bool terminated = false;
  bool truncated = false;
};

StepResult result_of(const std::vector<Transition>& row, float final_observation) {
  StepResult result;
  result.resize(row.size(), 1);
  for (std::size_t env = 0; env < row.size(); ++env) {
    result.rewards[env] = row[env].reward;
    result.terminated[env] = row[env].terminated ? 1 : 0;
    result.truncated[env] = row[env].truncated ? 1 : 0;
    result.final_observations[env] = final_observation + static_cast<float>(env);
  }
  return result;
}

void fill(RolloutBuffer& buffer, const std::vector<std::vector<Transition>>& steps) {
  float index = 0.0F;
  for (const std::vector<Transition>& row : steps) {
    std::vector<float> values;
    for (const Transition& transition : row) values.push_back(transition.value);
    const std::vector<float> observations(row.size(), index);
    const std::vector<std::int32_t> actions(row.size(), 1);
    const std::vector<float> log_probs(row.size(), -0.5F);
    buffer.add(observations, actions, log_probs, values, result_of(row, 100.0F + 10.0F * index));
    index += 1.0F;
  }
}

std::string what_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no thrt::Error was thrown";
}

// gamma = lambda = 0.5 and values small enough to work by hand.
TEST(RolloutBuffer, WithoutAnEnd) {
  RolloutBuffer buffer(2, 1, 1);
  fill(buffer, {{{1.0F, 2.0F}}, {{3.0F, 4.0F}}});
  buffer.compute_advantages(std::vector{8.0F}, 0.5, 0.5);
  // delta_1 = 3 + 0.5 * 8 - 4 = 3; delta_0 = 1 + 0.5 * 4 - 2 = 1; A_0 = 1 + 0.25 * 3.
  EXPECT_THAT(buffer.advantages(), ElementsAre(1.75F, 3.0F));
  EXPECT_THAT(buffer.returns(), ElementsAre(3.75F, 7.0F));
}

TEST(RolloutBuffer, TerminationCutsTheBootstrap) {
  RolloutBuffer buffer(2, 1, 1);
  fill(buffer, {{{1.0F, 2.0F, true, false}}, {{3.0F, 4.0F}}});
  EXPECT_EQ(buffer.truncations(), 0u);
  buffer.compute_advantages(std::vector{8.0F}, 0.5, 0.5);
  EXPECT_THAT(buffer.advantages(), ElementsAre(1.0F - 2.0F, 3.0F));
}

TEST(RolloutBuffer, TruncationBootstrapsFromTheLastObservationsValue) {
  RolloutBuffer buffer(2, 1, 1);
  fill(buffer, {{{1.0F, 2.0F, false, true}}, {{3.0F, 4.0F}}});
  EXPECT_THAT(buffer.truncated_observations(), ElementsAre(100.0F));
  buffer.set_truncated_values(std::vector{6.0F});
  buffer.compute_advantages(std::vector{8.0F}, 0.5, 0.5);
  // 1 + 0.5 * 6 - 2: neither the next episode's value 4 nor its advantage 3 enters.
  EXPECT_THAT(buffer.advantages(), ElementsAre(2.0F, 3.0F));
  EXPECT_THAT(buffer.returns(), ElementsAre(4.0F, 7.0F));
}

TEST(RolloutBuffer, TruncationInTheLastStepDoesNotUseTheLastValue) {
  RolloutBuffer buffer(1, 1, 1);
  fill(buffer, {{{1.0F, 2.0F, false, true}}});
  buffer.set_truncated_values(std::vector{6.0F});
  buffer.compute_advantages(std::vector{1000.0F}, 0.5, 0.5);
  EXPECT_THAT(buffer.advantages(), ElementsAre(2.0F));
}

TEST(RolloutBuffer, BothFlagsCountAsTerminated) {
  RolloutBuffer buffer(1, 1, 1);
  fill(buffer, {{{1.0F, 2.0F, true, true}}});
  EXPECT_EQ(buffer.truncations(), 0u);
  buffer.compute_advantages(std::vector{8.0F}, 0.5, 0.5);
  EXPECT_THAT(buffer.advantages(), ElementsAre(-1.0F));
}

// The definition, equation 16 of Schulman et al. (2016): A_t = sum over l of (gamma lambda)^l delta_{t+l}, to the end
// of the episode or of the rollout.
double advantage_by_definition(const std::vector<Transition>& path, const std::vector<double>& next_values,
                               std::size_t from, double gamma, double lambda) {
  double sum = 0.0;
  double weight = 1.0;
  for (std::size_t t = from; t < path.size(); ++t) {
    const double future = path[t].terminated ? 0.0 : next_values[t];
    sum += weight * (static_cast<double>(path[t].reward) + gamma * future - static_cast<double>(path[t].value));
    if (path[t].terminated || path[t].truncated) break;
    weight *= gamma * lambda;
  }
  return sum;
}

TEST(RolloutBuffer, EqualsTheDefinitionOnRandomRollouts) {
  constexpr std::size_t kSteps = 64;
  constexpr std::size_t kEnvs = 5;
  constexpr double kGamma = 0.97;
  constexpr double kLambda = 0.9;
  Pcg64 rng(11);
  const auto number = [&rng] { return static_cast<float>(rng.uniform(-2.0, 2.0)); };
  std::vector<std::vector<Transition>> steps(kSteps, std::vector<Transition>(kEnvs));
  for (auto& row : steps) {
    for (Transition& t : row) t = {number(), number(), rng.random_double() < 0.1, rng.random_double() < 0.1};
  }
  std::vector<float> last_values(kEnvs);
  for (float& value : last_values) value = number();

  RolloutBuffer buffer(kSteps, kEnvs, 1);
  fill(buffer, steps);
  std::vector<float> truncated_values(buffer.truncations());
  ASSERT_GT(truncated_values.size(), 10u);
  for (float& value : truncated_values) value = number();
  buffer.set_truncated_values(truncated_values);
  buffer.compute_advantages(last_values, kGamma, kLambda);

  std::vector<std::vector<Transition>> paths(kEnvs);
  std::vector<std::vector<double>> next_values(kEnvs);
  std::size_t truncation = 0;
  for (std::size_t t = 0; t < kSteps; ++t) {
    for (std::size_t env = 0; env < kEnvs; ++env) {
      const Transition& now = steps[t][env];
      float next = t + 1 < kSteps ? steps[t + 1][env].value : last_values[env];
      if (now.truncated && !now.terminated) next = truncated_values[truncation++];
      paths[env].push_back(now);
      next_values[env].push_back(static_cast<double>(next));
    }
  }
  for (std::size_t t = 0; t < kSteps; ++t) {
    for (std::size_t env = 0; env < kEnvs; ++env) {
      const double expected = advantage_by_definition(paths[env], next_values[env], t, kGamma, kLambda);
      const std::size_t cell = t * kEnvs + env;
      EXPECT_NEAR(buffer.advantages()[cell], expected, 1e-5) << t << ", " << env;
      EXPECT_NEAR(buffer.returns()[cell], expected + static_cast<double>(steps[t][env].value), 1e-5);
    }
  }
}

TEST(RolloutBuffer, LambdaOneIsTheDiscountedReturnAndLambdaZeroTheOneStepError) {
  RolloutBuffer buffer(3, 1, 1);
  fill(buffer, {{{1.0F, 10.0F}}, {{2.0F, 20.0F}}, {{3.0F, 30.0F, true, false}}});
  buffer.compute_advantages(std::vector{0.0F}, 0.5, 1.0);
  EXPECT_THAT(buffer.returns(), ElementsAre(1.0F + 1.0F + 0.75F, 2.0F + 1.5F, 3.0F));
  buffer.compute_advantages(std::vector{0.0F}, 0.5, 0.0);
  EXPECT_THAT(buffer.returns(), ElementsAre(1.0F + 10.0F, 2.0F + 15.0F, 3.0F));
}

TEST(RolloutBuffer, StoresStepsInOrder) {
  RolloutBuffer buffer(2, 2, 3);
  StepResult result;
  result.resize(2, 3);
  result.rewards = {0.5F, 0.25F};
  result.terminated = {1, 0};
  buffer.add(std::vector{1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F}, std::vector{0, 1}, std::vector{-1.0F, -2.0F},
             std::vector{7.0F, 8.0F}, result);
  result.terminated = {0, 0};
  result.truncated = {0, 1};
  result.final_observations = {0.0F, 0.0F, 0.0F, 21.0F, 22.0F, 23.0F};
  buffer.add(std::vector{11.0F, 12.0F, 13.0F, 14.0F, 15.0F, 16.0F}, std::vector{1, 0}, std::vector{-3.0F, -4.0F},
             std::vector{9.0F, 10.0F}, result);
  EXPECT_THAT(buffer.observations(), ElementsAre(1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16));
  EXPECT_THAT(buffer.actions(), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(buffer.log_probs(), ElementsAre(-1, -2, -3, -4));
  EXPECT_THAT(buffer.values(), ElementsAre(7, 8, 9, 10));
  EXPECT_THAT(buffer.rewards(), ElementsAre(0.5F, 0.25F, 0.5F, 0.25F));
  EXPECT_THAT(buffer.terminated(), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(buffer.truncated(), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(buffer.truncated_observations(), ElementsAre(21, 22, 23));
  EXPECT_EQ(buffer.filled(), 2u);
}

TEST(RolloutBuffer, ClearedBufferKnowsNothingOfTheLastRollout) {
  RolloutBuffer buffer(1, 1, 1);
  fill(buffer, {{{1.0F, 2.0F, false, true}}});
  buffer.set_truncated_values(std::vector{6.0F});
  buffer.clear();
  EXPECT_EQ(buffer.filled(), 0u);
  EXPECT_EQ(buffer.truncations(), 0u);
  fill(buffer, {{{1.0F, 2.0F, false, true}}});
  EXPECT_THAT(what_of([&] { buffer.compute_advantages(std::vector{8.0F}, 0.5, 0.5); }),
              HasSubstr("1 truncated episodes, of which 0 have a value"));
}

TEST(RolloutBuffer, RefusesMisuse) {
  RolloutBuffer buffer(2, 1, 1);
  EXPECT_THAT(what_of([&] { buffer.compute_advantages(std::vector{8.0F}, 0.5, 0.5); }), HasSubstr("0 of its 2"));
  fill(buffer, {{{1.0F, 2.0F}}, {{1.0F, 2.0F}}});
  EXPECT_THAT(what_of([&] { fill(buffer, {{{1.0F, 2.0F}}}); }), HasSubstr("already holds its 2 steps"));
  EXPECT_THAT(what_of([&] {
                buffer.compute_advantages(std::vector{1.0F, 2.0F}, 0.5, 0.5);
              }),
              HasSubstr("2 last values, not 1"));
  EXPECT_THAT(what_of([&] { buffer.set_truncated_values(std::vector{1.0F}); }), HasSubstr("1 values"));
  buffer.clear();
  EXPECT_THAT(what_of([&] { fill(buffer, {{{}, {}}}); }), HasSubstr("not 1"));
  EXPECT_THAT(what_of([] { RolloutBuffer(0, 1, 1); }), HasSubstr("0 steps"));
  EXPECT_THAT(what_of([] { RolloutBuffer(1, -1, 1); }), HasSubstr("-1 environments"));
}

}  // namespace
}  // namespace thrt::rl
