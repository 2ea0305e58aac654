// DQN's settings as config.toml and the command line know them.
#include "rl/algo/off_policy_fields.hpp"

#include <array>

namespace thrt::rl {
namespace {

template <auto Member>
FieldPointer of_dqn(RunConfig& config) {
  return &(config.dqn.*Member);
}

const std::array kFields = {
    Field{.section = "dqn",
          .name = "num_envs",
          .help = "environments that run side by side",
          .pointer = of_dqn<&DqnConfig::num_envs>,
          .range = {.low = 1.0, .high = kMostSide}},
    Field{.section = "dqn",
          .name = "buffer_size",
          .help = "transitions that are kept to learn from",
          .pointer = of_dqn<&DqnConfig::buffer_size>,
          .range = kReplayRange},
    Field{.section = "dqn",
          .name = "batch_size",
          .help = "transitions of a gradient step",
          .pointer = of_dqn<&DqnConfig::batch_size>,
          .range = {.low = 1.0, .high = kMostSide}},
    Field{.section = "dqn",
          .name = "learning_starts",
          .help = "steps of random actions before the first update",
          .pointer = of_dqn<&DqnConfig::learning_starts>,
          .range = kStepsRange},
    Field{.section = "dqn",
          .name = "train_frequency",
          .help = "steps from one update to the next",
          .pointer = of_dqn<&DqnConfig::train_frequency>,
          .range = kPeriodRange},
    Field{.section = "dqn",
          .name = "gradient_steps",
          .help = "gradient steps of an update",
          .pointer = of_dqn<&DqnConfig::gradient_steps>,
          .range = {.low = 1.0, .high = kMostSide}},
    Field{.section = "dqn",
          .name = "target_update",
          .help = "steps from one update of the target network to the next",
          .pointer = of_dqn<&DqnConfig::target_update>,
          .range = kPeriodRange},
    Field{.section = "dqn",
          .name = "tau",
          .help = "how far the target network moves towards the online one; 1: a copy",
          .pointer = of_dqn<&DqnConfig::tau>,
          .range = kRate},
    Field{.section = "dqn",
          .name = "learning_rate",
          .help = "Adam's step size",
          .pointer = of_dqn<&DqnConfig::learning_rate>,
          .range = kPositive},
    Field{.section = "dqn",
          .name = "anneal_lr",
          .help = "let the learning rate fall linearly to 0 over the run",
          .pointer = of_dqn<&DqnConfig::anneal_lr>},
    Field{.section = "dqn",
          .name = "gamma",
          .help = "discount of a reward one step later",
          .pointer = of_dqn<&DqnConfig::gamma>,
          .range = kFraction},
    Field{.section = "dqn",
          .name = "start_epsilon",
          .help = "part of random actions at first",
          .pointer = of_dqn<&DqnConfig::start_epsilon>,
          .range = kFraction},
    Field{.section = "dqn",
          .name = "final_epsilon",
          .help = "part of random actions at last",
          .pointer = of_dqn<&DqnConfig::final_epsilon>,
          .range = kFraction},
    Field{.section = "dqn",
          .name = "exploration_fraction",
          .help = "part of the run over which it falls from one to the other",
          .pointer = of_dqn<&DqnConfig::exploration_fraction>,
          .range = kFraction},
    Field{.section = "dqn",
          .name = "double_q",
          .help = "let the online network choose the next action and the target network value it",
          .pointer = of_dqn<&DqnConfig::double_q>},
    Field{.section = "dqn",
          .name = "max_grad_norm",
          .help = "longest gradient, over all parameters; 0: any",
          .pointer = of_dqn<&DqnConfig::max_grad_norm>,
          .range = kNotNegative},
    Field{.section = "dqn",
          .name = "adam_eps",
          .help = "Adam's epsilon",
          .pointer = of_dqn<&DqnConfig::adam_eps>,
          .range = kPositive},
    Field{.section = "dqn",
          .name = "hidden",
          .help = "units of each hidden layer",
          .pointer = of_dqn<&DqnConfig::hidden>,
          .range = {.low = 1.0, .high = kMostUnits}},
    Field{.section = "dqn",
          .name = "activation",
          .help = "of the hidden layers",
          .pointer = of_dqn<&DqnConfig::activation>,
          .choices = activations},
};

}  // namespace

std::span<const Field> dqn_fields() {
  return kFields;
}

}  // namespace thrt::rl
