// Plays episodes with a policy, in environments of its own.
#pragma once

#include <thrt/rl/env/vector_env.hpp>
#include <thrt/rl/train/trainer.hpp>

#include "rl/algo/bound_program.hpp"

#include <memory>
#include <vector>

namespace thrt::rl {

class PolicyPlayer {
 public:
  // With weights of its own, which are the initial ones until a checkpoint is loaded into buffers().
  PolicyPlayer(const Context& context, const RunConfig& config, const EvalOptions& options);
  // With the weights of a training, as they are whenever it plays.
  PolicyPlayer(const BufferSet& training, const RunConfig& config, const EvalOptions& options);

  BufferSet& buffers() { return buffers_; }
  // The episodes that the options name; the same each time while the weights are, unless the actions are sampled.
  EvalResult play();

 private:
  PolicyPlayer(BufferSet buffers, const BufferSet* training, const RunConfig& config, const EvalOptions& options);
  void act_and_step(std::vector<float>& observations, StepResult& step);

  EvalOptions options_;
  std::unique_ptr<VectorEnv> env_;
  BufferSet buffers_;
  std::vector<std::int32_t> actions_;
  std::vector<float> box_actions_;
  BoundProgram policy_;
};

}  // namespace thrt::rl
