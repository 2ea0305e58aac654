#include "rl/train/policy_player.hpp"

#include <thrt/error.hpp>
#include <thrt/graph/passes.hpp>

#include "rl/algo/algorithm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace thrt::rl {
namespace {

// How many environments run side by side at most.
constexpr std::int64_t kMostEnvs = 128;

std::int64_t envs_for(const EvalOptions& options) {
  if (options.episodes < 1) throw Error("episodes must be at least 1", {}, "--episodes 100");
  return std::min(options.episodes, kMostEnvs);
}

// Environment e plays a fixed number of episodes: taking the first that end instead would favour short ones.
std::int64_t quota(std::int64_t episodes, std::int64_t envs, std::int64_t env) {
  return episodes / envs + (env < episodes % envs ? 1 : 0);
}

BoundProgram bind_policy(BufferSet& buffers, const BufferSet* training, const RunConfig& config, const VectorEnv& env,
                         const EvalOptions& options) {
  const auto batch = static_cast<std::int64_t>(env.num_envs());
  const Program program = lower(optimise(algorithm_of(config).act_graph(config, env, batch, options.stochastic)));
  if (training != nullptr) {
    for (const Program::Slot& slot : program.slots()) {
      const bool weights = slot.kind == Graph::SlotKind::kState && !slot.name.starts_with("rng/");
      if (weights && training->contains(slot.name)) buffers.share(*training, slot.name);
    }
  }
  return BoundProgram(buffers, program, options.seed);
}

void summarise(EvalResult& result) {
  const double count = static_cast<double>(result.returns.size());
  result.mean = std::accumulate(result.returns.begin(), result.returns.end(), 0.0) / count;
  double squares = 0.0;
  for (const double value : result.returns) squares += (value - result.mean) * (value - result.mean);
  result.standard_deviation = count > 1.0 ? std::sqrt(squares / (count - 1.0)) : 0.0;
}

}  // namespace

PolicyPlayer::PolicyPlayer(const Context& context, const RunConfig& config, const EvalOptions& options)
    : PolicyPlayer(BufferSet(context), nullptr, config, options) {}

PolicyPlayer::PolicyPlayer(const BufferSet& training, const RunConfig& config, const EvalOptions& options)
    : PolicyPlayer(BufferSet(training.context()), &training, config, options) {}

PolicyPlayer::PolicyPlayer(BufferSet buffers, const BufferSet* training, const RunConfig& config,
                           const EvalOptions& options)
    : options_(options),
      env_(make_vector_env(config.environment, envs_for(options))),
      buffers_(std::move(buffers)),
      policy_(bind_policy(buffers_, training, config, *env_, options)) {
  if (const auto* box = std::get_if<BoxSpace>(&env_->action_space())) {
    box_actions_.resize(env_->num_envs() * box->size());
  } else {
    actions_.resize(env_->num_envs());
  }
}

void PolicyPlayer::act_and_step(std::vector<float>& observations, StepResult& step) {
  upload<float>(buffers_, "observations", observations);
  policy_.run();
  if (actions_.empty()) {
    download(buffers_, "action", box_actions_);
    env_->step(box_actions_, step);
  } else {
    download(buffers_, "action", actions_);
    env_->step(actions_, step);
  }
  observations.swap(step.observations);
}

EvalResult PolicyPlayer::play() {
  const auto envs = static_cast<std::int64_t>(env_->num_envs());
  std::vector<std::int64_t> played(env_->num_envs(), 0);
  std::vector<float> observations(env_->num_envs() * env_->observation_space().size());
  StepResult step;
  EvalResult result;
  env_->reset(options_.seed);
  env_->observe(observations);
  while (result.returns.size() < static_cast<std::size_t>(options_.episodes)) {
    act_and_step(observations, step);
    for (const EpisodeEnd& episode : step.finished) {
      if (played[episode.env] == quota(options_.episodes, envs, static_cast<std::int64_t>(episode.env))) continue;
      ++played[episode.env];
      result.returns.push_back(episode.episode_return);
      result.lengths.push_back(episode.length);
    }
  }
  summarise(result);
  return result;
}

}  // namespace thrt::rl
