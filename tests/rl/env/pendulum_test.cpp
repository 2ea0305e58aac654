// Pendulum-v1 against recordings of Gymnasium's, bit for bit. tests/data/pendulum/record.py made them and says how.
#include "thrt/rl/env/pendulum.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <numbers>
#include <sstream>
#include <string>
#include <vector>

#include "thrt/error.hpp"
#include "thrt/rl/env/vector_env.hpp"

namespace thrt::rl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class Bits, class Number>
Bits bits(Number value) {
  static_assert(sizeof(Bits) == sizeof(Number));
  Bits out = 0;
  std::memcpy(&out, &value, sizeof out);
  return out;
}

float float_of(std::uint32_t word) {
  float out = 0.0F;
  std::memcpy(&out, &word, sizeof out);
  return out;
}

template <class Word>
std::vector<Word> words(std::istream& line, std::size_t count) {
  std::vector<Word> out(count);
  for (Word& word : out) line >> std::hex >> word;
  EXPECT_FALSE(line.fail()) << "a damaged recording";
  return out;
}

std::vector<std::uint64_t> words_of(const PendulumState& state) {
  return {bits<std::uint64_t>(state.theta), bits<std::uint64_t>(state.theta_dot)};
}

std::vector<std::uint32_t> words_of(std::span<const float> values) {
  std::vector<std::uint32_t> out;
  for (const float value : values) out.push_back(bits<std::uint32_t>(value));
  return out;
}

// Each recording, through the plain functions and through a batch of three of which it is the middle one.
TEST(Pendulum, EqualsGymnasiumsToTheBit) {
  std::ifstream file(THRT_TEST_DATA "/pendulum/pendulum.txt");
  ASSERT_TRUE(file) << "tests/data/pendulum/pendulum.txt is missing";
  const auto batch = make_vector_env("Pendulum-v1", 3);
  Pcg64 rng(0);
  PendulumState state;
  StepResult result;
  std::int64_t length = 0;
  int number = 0, recordings = 0, steps = 0, cuts = 0;
  double episode_return = 0.0;
  for (std::string text; std::getline(file, text);) {
    SCOPED_TRACE("line " + std::to_string(++number));
    std::istringstream line(text);
    std::string kind;
    line >> kind;
    if (kind == "recording") {
      std::string name, word;
      std::uint64_t seed = 0;
      line >> name >> word >> seed;
      rng = Pcg64(seed);
      batch->reset(seed == 0 ? 0 : seed - 1);  // so that it is the middle one, or the first
      ++recordings;
      length = 0;
      episode_return = 0.0;
      state = {};
      continue;
    }
    const std::size_t row = recordings == 1 ? 0 : 1;  // of the batch; the first recording has seed 0
    if (kind == "start") {
      state = pendulum_start(rng);
      ASSERT_EQ(words_of(state), words<std::uint64_t>(line, 2));
      std::vector<float> rows(9);
      batch->observe(rows);
      const std::vector<float> expected = {static_cast<float>(std::cos(state.theta)),
                                           static_cast<float>(std::sin(state.theta)),
                                           static_cast<float>(state.theta_dot)};
      ASSERT_EQ(words_of(std::span(rows).subspan(3 * row, 3)), words_of(expected));
      length = 0;
      episode_return = 0.0;
    } else if (kind == "step") {
      const float torque = float_of(words<std::uint32_t>(line, 1)[0]);
      const std::uint32_t reward = words<std::uint32_t>(line, 1)[0];
      int truncated = 0;
      line >> truncated;
      ASSERT_EQ(bits<std::uint32_t>(pendulum_advance(state, torque, std::sin(state.theta))), reward);
      ASSERT_EQ(words_of(state), words<std::uint64_t>(line, 2));
      const std::vector<std::uint32_t> observation = words<std::uint32_t>(line, 3);

      std::vector<float> torques = {0.5F, 0.5F, 0.5F};
      torques[row] = torque;
      batch->step(torques, result);
      ASSERT_EQ(bits<std::uint32_t>(result.rewards[row]), reward);
      ASSERT_EQ(result.terminated[row], 0);
      ASSERT_EQ(result.truncated[row], truncated);
      ASSERT_EQ(++length >= kPendulumMaxEpisodeSteps, truncated == 1);
      const auto& rows = truncated == 1 ? result.final_observations : result.observations;
      ASSERT_EQ(words_of(std::span(rows).subspan(3 * row, 3)), observation);
      episode_return += static_cast<double>(float_of(reward));
      if (truncated == 1) {
        ASSERT_EQ(result.finished.size(), 3u);
        EXPECT_EQ(result.finished[row].length, 200);
        EXPECT_EQ(result.finished[row].episode_return, episode_return);
      }
      ++steps;
      cuts += truncated;
    }
  }
  EXPECT_EQ(recordings, 9);
  EXPECT_EQ(steps, 9 * 250);
  EXPECT_EQ(cuts, 9);
}

TEST(Pendulum, StartsWhereGymnasiumDoes) {  // env.reset(seed=42)
  Pcg64 rng(42);
  const PendulumState state = pendulum_start(rng);
  EXPECT_EQ(state.theta, 1.721316619099806);
  EXPECT_EQ(state.theta_dot, -0.12224312049589536);
}

// Python's float % float: C's fmod, which is exact, then made of the divisor's sign.
double python_modulo(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0.0) return 0.0;
  return rest < 0.0 ? rest + b : rest;
}

TEST(Pendulum, AnglesWrapAsInPythonToTheBit) {
  constexpr double kPi = std::numbers::pi;
  const auto expect_same = [](double theta) {
    ASSERT_EQ(bits<std::uint64_t>(pendulum_wrapped(theta)),
              bits<std::uint64_t>(python_modulo(theta + kPi, 2.0 * kPi) - kPi))
        << theta;
  };
  // Around the places where the quotient changes, and anywhere.
  for (int turn = -29; turn <= 29; ++turn) {
    double below = turn * kPi, above = below;
    for (int step = 0; step < 200; ++step) {
      expect_same(below);
      expect_same(above);
      below = std::nextafter(below, -1e9);
      above = std::nextafter(above, 1e9);
    }
  }
  Pcg64 rng(5);
  for (int i = 0; i < 300000; ++i) expect_same(rng.uniform(-190.0, 190.0));
  for (int i = 0; i < 100000; ++i) expect_same(rng.uniform(-4.0, 4.0));
}

TEST(Pendulum, ASavedStateContinuesWithTheSameBits) {
  const auto one = make_vector_env("Pendulum-v1", 5), other = make_vector_env("Pendulum-v1", 5);
  one->reset(3);
  StepResult a, b;
  const std::vector<float> torques = {-2.0F, -1.0F, 0.0F, 1.0F, 2.0F};
  for (int i = 0; i < 150; ++i) one->step(torques, a);
  other->load_state(one->save_state());
  for (int i = 0; i < 100; ++i) {  // over the end of the episodes
    one->step(torques, a);
    other->step(torques, b);
    ASSERT_EQ(a.observations, b.observations);
    ASSERT_EQ(a.rewards, b.rewards);
    ASSERT_EQ(a.finished, b.finished);
  }
}

template <class Action>
std::string refusal(VectorEnv& env, const std::vector<Action>& actions) {
  StepResult result;
  try {
    env.step(actions, result);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(Pendulum, ActionsThatItCannotTakeAreRefused) {
  const auto env = make_vector_env("Pendulum-v1", 2);
  EXPECT_THAT(refusal<float>(*env, {0.0F, 0.0F}), HasSubstr("was not reset"));
  env->reset(1);
  EXPECT_THAT(refusal<float>(*env, {0.0F}), HasSubstr("1 action elements for 2 environments"));
  EXPECT_THAT(refusal<float>(*env, {0.0F, std::numeric_limits<float>::quiet_NaN()}),
              HasSubstr("action nan of environment 1 is not a finite number"));
  EXPECT_THAT(refusal<float>(*env, {-std::numeric_limits<float>::infinity(), 0.0F}),
              HasSubstr("action -inf of environment 0 is not a finite number"));
  EXPECT_THAT(refusal<std::int32_t>(*env, {0, 1}), HasSubstr("Pendulum-v1 takes continuous actions"));
  const auto cartpole = make_vector_env("CartPole-v1", 2);
  cartpole->reset(1);
  EXPECT_THAT(refusal<float>(*cartpole, {0.0F, 1.0F}), HasSubstr("CartPole-v1 takes discrete actions"));
}

TEST(Pendulum, DescribesItsSpaces) {
  const auto env = make_vector_env("Pendulum-v1", 1);
  EXPECT_THAT(env->observation_space().high, ElementsAre(1.0F, 1.0F, 8.0F));
  EXPECT_THAT(env->observation_space().low, ElementsAre(-1.0F, -1.0F, -8.0F));
  const auto& actions = std::get<BoxSpace>(env->action_space());
  EXPECT_THAT(actions.low, ElementsAre(-2.0F));
  EXPECT_THAT(actions.high, ElementsAre(2.0F));
  EXPECT_EQ(env->max_episode_steps(), 200);
}

}  // namespace
}  // namespace thrt::rl
