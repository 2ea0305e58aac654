// What the batch machinery promises whatever the environment: seeding, autoreset, statistics, saving, bad input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "thrt/error.hpp"
#include "thrt/rl/env/pcg64.hpp"
#include "thrt/rl/env/vector_env.hpp"

namespace thrt::rl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<VectorEnv> cartpoles(std::int64_t n) {
  return make_vector_env("CartPole-v1", n);
}

std::vector<std::int32_t> random_actions(Pcg64& rng, std::size_t n) {
  std::vector<std::int32_t> actions(n);
  for (std::int32_t& action : actions) action = static_cast<std::int32_t>(rng.next_uint64() >> 63);
  return actions;
}

std::vector<float> observed(const VectorEnv& envs) {
  std::vector<float> out(envs.num_envs() * envs.observation_space().size());
  envs.observe(out);
  return out;
}

Error error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no thrt::Error was thrown";
  return Error("");
}

void expect_same(const StepResult& a, const StepResult& b) {
  EXPECT_EQ(a.observations, b.observations);
  EXPECT_EQ(a.rewards, b.rewards);
  EXPECT_EQ(a.terminated, b.terminated);
  EXPECT_EQ(a.truncated, b.truncated);
  EXPECT_EQ(a.finished, b.finished);
}

TEST(VectorEnv, DescribesCartPole) {
  const auto envs = cartpoles(3);
  EXPECT_EQ(envs->id(), "CartPole-v1");
  EXPECT_EQ(envs->num_envs(), 3u);
  EXPECT_EQ(envs->max_episode_steps(), 500);
  EXPECT_THAT(envs->observation_space().shape, ElementsAre(4));
  EXPECT_EQ(envs->observation_space().size(), 4u);
  // Gymnasium's Box: 4.8 and 24 degrees, the speeds unbounded.
  EXPECT_THAT(envs->observation_space().high, ElementsAre(4.8F, INFINITY, 0.41887903F, INFINITY));
  EXPECT_THAT(envs->observation_space().low, ElementsAre(-4.8F, -INFINITY, -0.41887903F, -INFINITY));
  EXPECT_EQ(std::get<DiscreteSpace>(envs->action_space()).n, 2);
}

TEST(VectorEnv, SeedsEnvironmentIWithSeedPlusI) {
  const auto three = cartpoles(3);
  three->reset(100);
  const std::vector<float> all = observed(*three);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto one = cartpoles(1);
    one->reset(100 + i);
    EXPECT_EQ(observed(*one), std::vector<float>(&all[4 * i], &all[4 * i] + 4));
  }
}

TEST(VectorEnv, EnvironmentsOfABatchDoNotTouchEachOther) {
  const auto batch = cartpoles(2);
  const auto alone = cartpoles(1);
  batch->reset(5);
  alone->reset(6);
  Pcg64 rng(1);
  StepResult both;
  StepResult one;
  for (int step = 0; step < 300; ++step) {
    const std::vector<std::int32_t> actions = random_actions(rng, 2);
    batch->step(actions, both);
    alone->step(std::vector{actions[1]}, one);
    ASSERT_EQ(std::vector<float>(&both.observations[4], &both.observations[4] + 4), one.observations) << step;
  }
}

TEST(VectorEnv, ResetSeedsAnew) {
  const auto envs = cartpoles(2);
  envs->reset(9);
  const std::vector<float> first = observed(*envs);
  StepResult result;
  for (int step = 0; step < 30; ++step) envs->step(std::vector{1, 0}, result);
  envs->reset(9);
  EXPECT_EQ(observed(*envs), first);
}

TEST(VectorEnv, EpisodeStatisticsAddUp) {
  const auto envs = cartpoles(4);
  envs->reset(0);
  Pcg64 rng(2);
  StepResult result;
  std::vector<double> returns(4, 0.0);
  std::vector<std::int64_t> lengths(4, 0);
  std::size_t episodes = 0;
  for (int step = 0; step < 400; ++step) {
    envs->step(random_actions(rng, 4), result);
    std::vector<EpisodeEnd> expected;
    for (std::size_t i = 0; i < 4; ++i) {
      returns[i] += static_cast<double>(result.rewards[i]);
      lengths[i] += 1;
      if ((result.terminated[i] | result.truncated[i]) == 0) continue;
      expected.push_back({i, returns[i], lengths[i]});
      returns[i] = 0.0;
      lengths[i] = 0;
    }
    EXPECT_EQ(result.finished, expected);
    episodes += expected.size();
  }
  EXPECT_GT(episodes, 40u);
}

TEST(VectorEnv, FinalObservationIsKeptApartFromTheNextEpisodesFirst) {
  const auto envs = cartpoles(1);
  envs->reset(0);
  StepResult result;
  do {
    envs->step(std::vector{1}, result);
  } while (result.terminated[0] == 0);
  EXPECT_GT(std::abs(result.final_observations[2]), 12.0F * 3.1415926F / 180.0F);
  for (float element : result.observations) EXPECT_LE(std::abs(element), 0.05F);
  EXPECT_EQ(observed(*envs), result.observations);
}

TEST(VectorEnv, ContinuesFromASavedStateToTheBit) {
  const auto first = cartpoles(3);
  first->reset(77);
  Pcg64 rng(4);
  StepResult result;
  for (int step = 0; step < 137; ++step) first->step(random_actions(rng, 3), result);
  const std::string saved = first->save_state();

  const auto second = cartpoles(3);
  second->load_state(saved);
  EXPECT_EQ(observed(*second), observed(*first));
  EXPECT_EQ(second->save_state(), saved);
  StepResult other;
  std::size_t episodes = 0;
  for (int step = 0; step < 300; ++step) {
    const std::vector<std::int32_t> actions = random_actions(rng, 3);
    first->step(actions, result);
    second->step(actions, other);
    expect_same(result, other);
    episodes += result.finished.size();
  }
  EXPECT_GT(episodes, 20u);  // auto-resets, and so the generators, were part of it
  EXPECT_EQ(second->save_state(), first->save_state());
}

TEST(VectorEnv, UnknownIdNamesTheKnownAndTheNearest) {
  const Error error = error_of([] { make_vector_env("CartPoel-v1", 1); });
  EXPECT_THAT(error.what(), HasSubstr("'CartPoel-v1'"));
  EXPECT_THAT(error.why(), HasSubstr("CartPole-v1"));
  EXPECT_THAT(error.next(), HasSubstr("'CartPole-v1'"));
  EXPECT_EQ(error.kind(), ErrorKind::kStart);
}

TEST(VectorEnv, RefusesFewerThanOneEnvironment) {
  EXPECT_THAT(error_of([] { cartpoles(0); }).what(), HasSubstr("is 0"));
  EXPECT_THAT(error_of([] { cartpoles(-4); }).what(), HasSubstr("is -4"));
}

TEST(VectorEnv, RefusesActionsOutsideTheSpaceAndChangesNothing) {
  const auto envs = cartpoles(3);
  envs->reset(1);
  const std::string before = envs->save_state();
  StepResult result;
  const Error error = error_of([&] { envs->step(std::vector{0, 1, 2}, result); });
  EXPECT_THAT(error.what(), HasSubstr("action 2 of environment 2"));
  EXPECT_THAT(error.why(), HasSubstr("0 to 1"));
  EXPECT_THAT(error_of([&] { envs->step(std::vector{-1, 1, 0}, result); }).what(), HasSubstr("action -1"));
  EXPECT_THAT(error_of([&] { envs->step(std::vector{0, 1}, result); }).what(), HasSubstr("2 actions for 3"));
  EXPECT_EQ(envs->save_state(), before);
}

TEST(VectorEnv, RefusesUseBeforeReset) {
  const auto envs = cartpoles(1);
  StepResult result;
  std::vector<float> row(4);
  EXPECT_THAT(error_of([&] { envs->step(std::vector{0}, result); }).what(), HasSubstr("was not reset"));
  EXPECT_THAT(error_of([&] { envs->observe(row); }).what(), HasSubstr("was not reset"));
  EXPECT_THAT(error_of([&] { envs->save_state(); }).what(), HasSubstr("was not reset"));
}

TEST(VectorEnv, RefusesSeedsThatOverflow) {
  const auto envs = cartpoles(2);
  EXPECT_THAT(error_of([&] { envs->reset(~0ULL); }).what(), HasSubstr("too large"));
  EXPECT_NO_THROW(envs->reset(~0ULL - 1));
}

TEST(VectorEnv, RefusesAWrongObservationBuffer) {
  const auto envs = cartpoles(2);
  envs->reset(0);
  std::vector<float> row(4);
  EXPECT_THAT(error_of([&] { envs->observe(row); }).what(), HasSubstr("4 observation elements for 2"));
}

class SavedState : public ::testing::Test {
 protected:
  void SetUp() override {
    envs_->reset(3);
    good_ = envs_->save_state();
  }

  Error refused(const std::string& bytes) {
    Error error = error_of([&] { envs_->load_state(bytes); });
    EXPECT_EQ(envs_->save_state(), good_) << "a refused state changed the environments";
    return error;
  }

  std::unique_ptr<VectorEnv> envs_ = cartpoles(2);
  std::string good_;
};

TEST_F(SavedState, TruncatedAnywhereIsRefused) {
  for (std::size_t size = 0; size < good_.size(); ++size) refused(good_.substr(0, size));
}

TEST_F(SavedState, LongerIsRefused) {
  EXPECT_THAT(refused(good_ + "x").why(), HasSubstr("1 bytes are left over"));
}

TEST_F(SavedState, OfAnotherCountIsRefused) {
  const auto three = cartpoles(3);
  three->reset(0);
  const Error error = refused(three->save_state());
  EXPECT_THAT(error.what(), HasSubstr("3 environments, this run has 2"));
}

TEST_F(SavedState, OfAnotherEnvironmentIsRefused) {
  std::string other = good_;
  other.replace(other.find("CartPole-v1"), 11, "CartPole-v9");
  EXPECT_THAT(refused(other).what(), HasSubstr("'CartPole-v9', not 'CartPole-v1'"));
}

TEST_F(SavedState, OfAnotherFormatIsRefused) {
  std::string other = good_;
  other[other.find("state-1") + 6] = '2';
  EXPECT_THAT(refused(other).why(), HasSubstr("does not start with"));
  EXPECT_THAT(refused("hello").why(), HasSubstr("does not start with"));
}

TEST_F(SavedState, WithAnImpossibleStepCountIsRefused) {
  std::string other = good_;
  // Layout: length and text of format and id, count, then per environment four generator words and the step count.
  const std::size_t count = 8 + 16 + 8 + 11 + 8 + 4 * 8;
  other[count + 1] = 2;  // 512 steps
  EXPECT_THAT(refused(other).why(), HasSubstr("impossible"));
}

}  // namespace
}  // namespace thrt::rl
