// CartPole-v1 against recordings of Gymnasium's, bit for bit. tests/data/cartpole/record.py made them and says how.
#include "thrt/rl/env/cartpole.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "thrt/rl/env/vector_env.hpp"

namespace thrt::rl {
namespace {

using ::testing::ElementsAreArray;

std::uint64_t bits(double value) {
  std::uint64_t out = 0;
  std::memcpy(&out, &value, sizeof out);
  return out;
}

std::uint32_t bits(float value) {
  std::uint32_t out = 0;
  std::memcpy(&out, &value, sizeof out);
  return out;
}

// The next four hexadecimal words of a line.
template <class Word>
std::vector<Word> four(std::istream& line) {
  std::vector<Word> words(4);
  for (Word& word : words) line >> std::hex >> word;
  EXPECT_FALSE(line.fail()) << "a damaged recording";
  return words;
}

std::vector<std::uint64_t> words_of(const CartPoleState& state) {
  return {bits(state.x), bits(state.x_dot), bits(state.theta), bits(state.theta_dot)};
}

std::vector<std::uint32_t> words_of(const std::vector<float>& rows, std::size_t env) {
  std::vector<std::uint32_t> words;
  for (std::size_t i = 0; i < 4; ++i) words.push_back(bits(rows[4 * env + i]));
  return words;
}

std::ifstream open_recording(const std::string& name) {
  std::ifstream file(std::string(THRT_TEST_DATA) + "/cartpole/" + name);
  EXPECT_TRUE(file) << "tests/data/cartpole/" << name << " is missing";
  return file;
}

struct Counts {
  int recordings = 0;
  int steps = 0;
  int terminated = 0;
  int truncated = 0;
  int both = 0;
};

TEST(CartPole, StateEqualsGymnasiumsToTheBit) {
  std::ifstream file = open_recording("scalar.txt");
  Counts counts;
  Pcg64 rng(0);
  CartPoleState state;
  std::int64_t length = 0;
  int number = 0;
  for (std::string text; std::getline(file, text);) {
    SCOPED_TRACE("line " + std::to_string(++number) + " of scalar.txt");
    std::istringstream line(text);
    std::string kind;
    line >> kind;
    if (kind == "recording") {
      std::string name;
      std::string word;
      std::uint64_t seed = 0;
      line >> name >> word >> seed;
      rng = Pcg64(seed);
      ++counts.recordings;
    } else if (kind == "start") {
      state = cartpole_start(rng);
      length = 0;
      ASSERT_THAT(words_of(state), ElementsAreArray(four<std::uint64_t>(line)));
    } else if (kind == "step") {
      int action = 0;
      int terminated = 0;
      int truncated = 0;
      line >> action >> terminated >> truncated;
      ASSERT_EQ(cartpole_advance(state, action == 1), terminated == 1);
      ASSERT_EQ(++length >= kCartPoleMaxEpisodeSteps, truncated == 1);
      ASSERT_THAT(words_of(state), ElementsAreArray(four<std::uint64_t>(line)));
      ++counts.steps;
      counts.terminated += terminated;
      counts.truncated += truncated;
      counts.both += terminated * truncated;
    }
  }
  EXPECT_EQ(counts.recordings, 10);
  EXPECT_EQ(counts.steps, 2 * 40 + 6 * 200 + 520 + 500);
  EXPECT_GT(counts.terminated, 40);
  EXPECT_EQ(counts.truncated, 2);
  EXPECT_EQ(counts.both, 1);
}

struct VectorLine {
  int action = 0;
  int terminated = 0;
  int truncated = 0;
  std::vector<std::uint32_t> observation;
  std::vector<std::uint32_t> final_observation;  // empty unless the episode ended
};

VectorLine parse_vector_line(const std::string& text) {
  std::istringstream line(text);
  VectorLine out;
  std::string word;
  line >> word >> out.action >> out.terminated >> out.truncated;
  EXPECT_EQ(word, "step");
  out.observation = four<std::uint32_t>(line);
  if (line >> word) out.final_observation = four<std::uint32_t>(line);
  return out;
}

void expect_equal(const std::vector<VectorLine>& lines, const StepResult& result) {
  for (std::size_t env = 0; env < lines.size(); ++env) {
    EXPECT_EQ(result.rewards[env], 1.0F);
    EXPECT_EQ(result.terminated[env], lines[env].terminated);
    EXPECT_EQ(result.truncated[env], lines[env].truncated);
    EXPECT_THAT(words_of(result.observations, env), ElementsAreArray(lines[env].observation));
    const bool ended = (result.terminated[env] | result.truncated[env]) != 0;
    ASSERT_EQ(ended, !lines[env].final_observation.empty());
    if (ended) {
      EXPECT_THAT(words_of(result.final_observations, env), ElementsAreArray(lines[env].final_observation));
    }
  }
}

// Replays the recording whose header was read. Returns its number of steps.
int replay(std::istream& file, std::unique_ptr<VectorEnv> envs, std::uint64_t seed) {
  const std::size_t n = envs->num_envs();
  std::string text;
  std::vector<float> observations(4 * n);
  envs->reset(seed);
  envs->observe(observations);
  for (std::size_t env = 0; env < n; ++env) {
    std::getline(file, text);
    std::istringstream line(text);
    line >> text;
    EXPECT_THAT(words_of(observations, env), ElementsAreArray(four<std::uint32_t>(line)));
  }
  StepResult result;
  int steps = 0;
  for (; file.peek() == 's' && !::testing::Test::HasFailure(); ++steps) {
    std::vector<VectorLine> lines;
    std::vector<std::int32_t> actions;
    for (std::size_t env = 0; env < n; ++env) {
      std::getline(file, text);
      lines.push_back(parse_vector_line(text));
      actions.push_back(lines.back().action);
    }
    SCOPED_TRACE("step " + std::to_string(steps));
    envs->step(actions, result);
    expect_equal(lines, result);
  }
  return steps;
}

TEST(CartPole, BatchEqualsGymnasiumsVectorEnvWithSameStepAutoreset) {
  std::ifstream file = open_recording("vector.txt");
  std::vector<int> steps;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string word;
    std::uint64_t seed = 0;
    std::int64_t envs = 0;
    if (!(line >> word >> word >> word >> seed >> word >> envs) || text[0] == '#') continue;
    SCOPED_TRACE(text);
    steps.push_back(replay(file, make_vector_env("CartPole-v1", envs), seed));
  }
  EXPECT_THAT(steps, ElementsAreArray({60, 505}));
}

// Published values: seed 42's start, and the step at which pushing right alone ends the episode.
TEST(CartPole, StartsWhereGymnasiumStarts) {
  Pcg64 rng(42);
  const CartPoleState state = cartpole_start(rng);
  EXPECT_EQ(state.x, 0.027395604855596334);
  EXPECT_EQ(state.x_dot, -0.006112156024794771);
  EXPECT_EQ(state.theta, 0.03585979199113824);
  EXPECT_EQ(state.theta_dot, 0.019736802905936393);
}

TEST(CartPole, AlwaysRightEndsWhereGymnasiumsDoes) {
  for (const auto& [seed, expected] : {std::pair{0u, 8}, std::pair{42u, 10}}) {
    Pcg64 rng(seed);
    CartPoleState state = cartpole_start(rng);
    int steps = 1;
    while (!cartpole_advance(state, true)) ++steps;
    EXPECT_EQ(steps, expected) << "seed " << seed;
  }
}

TEST(CartPole, FollowsTheEquationsOfMotion) {
  // From rest at a small angle, push right; both accelerations by the published equations, solved by hand as the
  // linear system  (M + m) x'' + m l cos(t) t'' = F,  cos(t) x'' + 4/3 l t'' = g sin(t)  with m 0.1, M 1, l 0.5.
  const double theta = 0.1;
  const double a = 1.1;
  const double b = 0.05 * std::cos(theta);
  const double c = std::cos(theta);
  const double d = 4.0 / 3.0 * 0.5;
  const double determinant = a * d - b * c;
  const double x_acc = (10.0 * d - b * 9.8 * std::sin(theta)) / determinant;
  const double theta_acc = (a * 9.8 * std::sin(theta) - c * 10.0) / determinant;
  CartPoleState state{0.0, 0.0, theta, 0.0};
  EXPECT_FALSE(cartpole_advance(state, true));
  EXPECT_EQ(state.x, 0.0);  // positions move with the velocities of before
  EXPECT_EQ(state.theta, theta);
  EXPECT_NEAR(state.x_dot, 0.02 * x_acc, 1e-12);
  EXPECT_NEAR(state.theta_dot, 0.02 * theta_acc, 1e-12);
}

}  // namespace
}  // namespace thrt::rl
