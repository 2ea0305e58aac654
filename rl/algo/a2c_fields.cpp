// A2C's settings as config.toml and the command line know them.
#include "rl/algo/hyper_parameter.hpp"

#include <array>

namespace thrt::rl {
namespace {

template <auto Member>
FieldPointer of_a2c(RunConfig& config) {
  return &(config.a2c.*Member);
}

std::vector<std::string> optimisers() {
  return {"rmsprop", "rmsprop_tf", "adam"};
}

const std::array kFields = {
    Field{.section = "a2c",
          .name = "num_envs",
          .help = "environments that run side by side",
          .pointer = of_a2c<&A2cConfig::num_envs>,
          .range = {.low = 1.0, .high = kMostSide}},
    Field{.section = "a2c",
          .name = "num_steps",
          .help = "steps of each environment in a rollout",
          .pointer = of_a2c<&A2cConfig::num_steps>,
          .range = {.low = 1.0, .high = kMostSide}},
    Field{.section = "a2c",
          .name = "learning_rate",
          .help = "the optimiser's step size",
          .pointer = of_a2c<&A2cConfig::learning_rate>,
          .range = kPositive},
    Field{.section = "a2c",
          .name = "anneal_lr",
          .help = "let the learning rate fall linearly to 0 over the run",
          .pointer = of_a2c<&A2cConfig::anneal_lr>},
    Field{.section = "a2c",
          .name = "gamma",
          .help = "discount of a reward one step later",
          .pointer = of_a2c<&A2cConfig::gamma>,
          .range = kFraction},
    Field{.section = "a2c",
          .name = "gae_lambda",
          .help = "lambda of generalised advantage estimation; 1: the n-step return",
          .pointer = of_a2c<&A2cConfig::gae_lambda>,
          .range = kFraction},
    Field{.section = "a2c",
          .name = "norm_adv",
          .help = "normalise the advantages of each update",
          .pointer = of_a2c<&A2cConfig::norm_adv>},
    Field{.section = "a2c",
          .name = "ent_coef",
          .help = "weight of the entropy bonus",
          .pointer = of_a2c<&A2cConfig::ent_coef>,
          .range = kNotNegative},
    Field{.section = "a2c",
          .name = "vf_coef",
          .help = "weight of the value loss, the mean squared error",
          .pointer = of_a2c<&A2cConfig::vf_coef>,
          .range = kNotNegative},
    Field{.section = "a2c",
          .name = "max_grad_norm",
          .help = "longest gradient, over all parameters; 0: any",
          .pointer = of_a2c<&A2cConfig::max_grad_norm>,
          .range = kNotNegative},
    Field{.section = "a2c",
          .name = "optimiser",
          .help = "rmsprop is PyTorch's, rmsprop_tf TensorFlow 1's",
          .pointer = of_a2c<&A2cConfig::optimiser>,
          .choices = optimisers},
    Field{.section = "a2c",
          .name = "optimiser_eps",
          .help = "the optimiser's epsilon",
          .pointer = of_a2c<&A2cConfig::optimiser_eps>,
          .range = kPositive},
    Field{.section = "a2c",
          .name = "rms_decay",
          .help = "how much of rmsprop's mean square a step keeps",
          .pointer = of_a2c<&A2cConfig::rms_decay>,
          .range = kFraction},
    Field{.section = "a2c",
          .name = "hidden",
          .help = "units of each hidden layer",
          .pointer = of_a2c<&A2cConfig::hidden>,
          .range = {.low = 1.0, .high = kMostUnits}},
    Field{.section = "a2c",
          .name = "activation",
          .help = "of the hidden layers",
          .pointer = of_a2c<&A2cConfig::activation>,
          .choices = activations},
    Field{.section = "a2c",
          .name = "shared_trunk",
          .help = "one network with two heads instead of one for the policy and one for the value",
          .pointer = of_a2c<&A2cConfig::shared_trunk>},
};

}  // namespace

std::span<const Field> a2c_fields() {
  return kFields;
}

}  // namespace thrt::rl
