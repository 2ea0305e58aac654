// SAC's settings as config.toml and the command line know them.
#include "rl/algo/off_policy_fields.hpp"

#include <array>

namespace thrt::rl {
namespace {

template <auto Member>
FieldPointer of_sac(RunConfig& config) {
  return &(config.sac.*Member);
}

const std::array kFields = {
    Field{.section = "sac",
          .name = "num_envs",
          .help = "environments that run side by side",
          .pointer = of_sac<&SacConfig::num_envs>,
          .range = {.low = 1.0, .high = kMostSide}},
    Field{.section = "sac",
          .name = "buffer_size",
          .help = "transitions that are kept to learn from",
          .pointer = of_sac<&SacConfig::buffer_size>,
          .range = kReplayRange},
    Field{.section = "sac",
          .name = "batch_size",
          .help = "transitions of a gradient step",
          .pointer = of_sac<&SacConfig::batch_size>,
          .range = {.low = 1.0, .high = kMostSide}},
    Field{.section = "sac",
          .name = "learning_starts",
          .help = "steps of random actions before the first update",
          .pointer = of_sac<&SacConfig::learning_starts>,
          .range = kStepsRange},
    Field{.section = "sac",
          .name = "train_frequency",
          .help = "steps from one update to the next",
          .pointer = of_sac<&SacConfig::train_frequency>,
          .range = kPeriodRange},
    Field{.section = "sac",
          .name = "gradient_steps",
          .help = "gradient steps of an update",
          .pointer = of_sac<&SacConfig::gradient_steps>,
          .range = {.low = 1.0, .high = kMostSide}},
    Field{.section = "sac",
          .name = "tau",
          .help = "how far the targets move towards the critics after each gradient step",
          .pointer = of_sac<&SacConfig::tau>,
          .range = kRate},
    Field{.section = "sac",
          .name = "learning_rate",
          .help = "Adam's step size, of actor, critics and temperature",
          .pointer = of_sac<&SacConfig::learning_rate>,
          .range = kPositive},
    Field{.section = "sac",
          .name = "gamma",
          .help = "discount of a reward one step later",
          .pointer = of_sac<&SacConfig::gamma>,
          .range = kFraction},
    Field{.section = "sac",
          .name = "alpha",
          .help = "temperature, the weight of the entropy, at first",
          .pointer = of_sac<&SacConfig::alpha>,
          .range = kPositive},
    Field{.section = "sac",
          .name = "learn_alpha",
          .help = "let the temperature hold the entropy at target_entropy",
          .pointer = of_sac<&SacConfig::learn_alpha>},
    Field{.section = "sac",
          .name = "target_entropy",
          .help = "in nats; auto: minus the number of action elements",
          .pointer = of_sac<&SacConfig::target_entropy>,
          .zero_word = "auto"},
    Field{.section = "sac",
          .name = "max_grad_norm",
          .help = "longest gradient of the actor and of the critics; 0: any",
          .pointer = of_sac<&SacConfig::max_grad_norm>,
          .range = kNotNegative},
    Field{.section = "sac",
          .name = "adam_eps",
          .help = "Adam's epsilon",
          .pointer = of_sac<&SacConfig::adam_eps>,
          .range = kPositive},
    Field{.section = "sac",
          .name = "hidden",
          .help = "units of each hidden layer, actor and critics alike",
          .pointer = of_sac<&SacConfig::hidden>,
          .range = {.low = 1.0, .high = kMostUnits}},
    Field{.section = "sac",
          .name = "activation",
          .help = "of the hidden layers",
          .pointer = of_sac<&SacConfig::activation>,
          .choices = activations},
};

}  // namespace

std::span<const Field> sac_fields() {
  return kFields;
}

}  // namespace thrt::rl
