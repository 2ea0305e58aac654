// The algorithms as a table: what the trainer, the evaluation, config.toml and the command line ask of each.
#pragma once

#include <thrt/graph/graph.hpp>
#include <thrt/rl/algo/learner.hpp>
#include <thrt/rl/train/fields.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace thrt::rl {

struct Algorithm {
  std::string_view name;  // and of its table in config.toml
  // Its settings, each with `name` as its section.
  std::span<const Field> (*fields)();
  // Sets the values tuned for an environment, where there are any.
  void (*set_defaults)(RunConfig& config, std::string_view environment);
  // Throws Error for what single fields cannot say.
  void (*validate)(const RunConfig& config);
  std::int64_t (*steps_per_iteration)(const RunConfig& config);
  // What the weights' shapes alone do not tell, as text that a checkpoint keeps: a network with a layer less, or
  // another activation, would find all the tensors it asks for.
  std::string (*network)(const RunConfig& config);
  // The policy: "observations" f32[batch, D] -> "action" i32[batch], or f32[batch, A] for continuous actions. The best
  // action, or one drawn with the state "rng/act". The weights have the names that training gives them.
  Graph (*act_graph)(const RunConfig& config, const VectorEnv& env, std::int64_t batch, bool stochastic);
  std::unique_ptr<Learner> (*make_learner)(const Context& context, const RunConfig& config);
};

Algorithm ppo_algorithm();
Algorithm a2c_algorithm();
Algorithm dqn_algorithm();
Algorithm sac_algorithm();

std::span<const Algorithm> algorithms();
// Throws Error for an unknown name.
const Algorithm& algorithm_of(const RunConfig& config);

}  // namespace thrt::rl
