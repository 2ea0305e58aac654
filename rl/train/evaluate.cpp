#include <thrt/error.hpp>
#include <thrt/graph/passes.hpp>
#include <thrt/rl/algo/ppo.hpp>
#include <thrt/rl/train/trainer.hpp>

#include "rl/algo/bound_program.hpp"
#include "rl/algo/policy_spaces.hpp"
#include "rl/train/checkpoint.hpp"
#include "rl/train/open_device.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace thrt::rl {
namespace {

// How many environments run side by side at most.
constexpr std::int64_t kMostEnvs = 128;

// Environment e plays a fixed number of episodes: taking the first that end instead would favour short ones.
std::int64_t quota(std::int64_t episodes, std::int64_t envs, std::int64_t env) {
  return episodes / envs + (env < episodes % envs ? 1 : 0);
}

void play(VectorEnv& env, BufferSet& buffers, BoundProgram& policy, const EvalOptions& options, EvalResult& result) {
  const std::size_t envs = env.num_envs();
  std::vector<float> observations(envs * env.observation_space().size());
  std::vector<std::int32_t> actions(envs);
  std::vector<std::int64_t> played(envs, 0);
  StepResult step;
  env.reset(options.seed);
  env.observe(observations);
  while (result.returns.size() < static_cast<std::size_t>(options.episodes)) {
    upload<float>(buffers, "observations", observations);
    policy.run();
    download(buffers, "action", actions);
    env.step(actions, step);
    observations.swap(step.observations);
    for (const EpisodeEnd& episode : step.finished) {
      if (played[episode.env] ==
          quota(options.episodes, static_cast<std::int64_t>(envs), static_cast<std::int64_t>(episode.env))) {
        continue;
      }
      ++played[episode.env];
      result.returns.push_back(episode.episode_return);
      result.lengths.push_back(episode.length);
    }
  }
}

}  // namespace

EvalResult evaluate(const SelectedBackend& backend, const RunConfig& config, const std::string& checkpoint_path,
                    const EvalOptions& options) {
  if (options.episodes < 1) throw Error("episodes must be at least 1", {}, "--episodes 100");
  const std::int64_t envs = std::min(options.episodes, kMostEnvs);
  const std::unique_ptr<VectorEnv> env = make_vector_env(config.environment, envs);
  const PolicySpaces spaces = policy_spaces(*env);
  BufferSet buffers(open_device(backend, config));
  const Graph graph =
      options.stochastic ? ppo_act_graph(config.ppo, spaces, envs) : ppo_greedy_graph(config.ppo, spaces, envs);
  BoundProgram policy(buffers, lower(optimise(graph)), options.seed);
  const TrainingState state = load_checkpoint(checkpoint_path, config, buffers, LoadPurpose::kEvaluate);

  EvalResult result;
  result.step = state.step;
  play(*env, buffers, policy, options, result);
  const double count = static_cast<double>(result.returns.size());
  result.mean = std::accumulate(result.returns.begin(), result.returns.end(), 0.0) / count;
  double squares = 0.0;
  for (const double value : result.returns) squares += (value - result.mean) * (value - result.mean);
  result.standard_deviation = count > 1.0 ? std::sqrt(squares / (count - 1.0)) : 0.0;
  return result;
}

}  // namespace thrt::rl
