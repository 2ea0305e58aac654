// PPO's settings as config.toml and the command line know them.
#include "rl/algo/hyper_parameter.hpp"

#include <array>

namespace thrt::rl {
namespace {

template <auto Member>
FieldPointer of_ppo(RunConfig& config) {
  return &(config.ppo.*Member);
}

const std::array kFields = {
    Field{.section = "ppo",
          .name = "num_envs",
          .help = "environments that run side by side",
          .pointer = of_ppo<&PpoConfig::num_envs>,
          .range = {.low = 1.0, .high = kMostSide}},
    Field{.section = "ppo",
          .name = "num_steps",
          .help = "steps of each environment in a rollout",
          .pointer = of_ppo<&PpoConfig::num_steps>,
          .range = {.low = 1.0, .high = kMostSide}},
    Field{.section = "ppo",
          .name = "num_minibatches",
          .help = "parts that an epoch cuts the rollout into",
          .pointer = of_ppo<&PpoConfig::num_minibatches>,
          .range = {.low = 1.0, .high = kMostSide}},
    Field{.section = "ppo",
          .name = "update_epochs",
          .help = "passes over each rollout",
          .pointer = of_ppo<&PpoConfig::update_epochs>,
          .range = {.low = 1.0, .high = 10000.0}},
    Field{.section = "ppo",
          .name = "learning_rate",
          .help = "the optimiser's step size",
          .pointer = of_ppo<&PpoConfig::learning_rate>,
          .range = kPositive},
    Field{.section = "ppo",
          .name = "anneal_lr",
          .help = "let the learning rate fall linearly to 0 over the run",
          .pointer = of_ppo<&PpoConfig::anneal_lr>},
    Field{.section = "ppo",
          .name = "gamma",
          .help = "discount of a reward one step later",
          .pointer = of_ppo<&PpoConfig::gamma>,
          .range = kFraction},
    Field{.section = "ppo",
          .name = "gae_lambda",
          .help = "lambda of generalised advantage estimation",
          .pointer = of_ppo<&PpoConfig::gae_lambda>,
          .range = kFraction},
    Field{.section = "ppo",
          .name = "clip_coef",
          .help = "how far the probability ratio may move from 1",
          .pointer = of_ppo<&PpoConfig::clip_coef>,
          .range = kPositive},
    Field{.section = "ppo",
          .name = "anneal_clip",
          .help = "let clip_coef fall linearly to 0 over the run",
          .pointer = of_ppo<&PpoConfig::anneal_clip>},
    Field{.section = "ppo",
          .name = "clip_vloss",
          .help = "clip the change of the value by clip_coef too",
          .pointer = of_ppo<&PpoConfig::clip_vloss>},
    Field{.section = "ppo",
          .name = "norm_adv",
          .help = "normalise the advantages of each minibatch",
          .pointer = of_ppo<&PpoConfig::norm_adv>},
    Field{.section = "ppo",
          .name = "ent_coef",
          .help = "weight of the entropy bonus",
          .pointer = of_ppo<&PpoConfig::ent_coef>,
          .range = kNotNegative},
    Field{.section = "ppo",
          .name = "vf_coef",
          .help = "weight of the value loss, half the mean squared error",
          .pointer = of_ppo<&PpoConfig::vf_coef>,
          .range = kNotNegative},
    Field{.section = "ppo",
          .name = "max_grad_norm",
          .help = "longest gradient, over all parameters; 0: any",
          .pointer = of_ppo<&PpoConfig::max_grad_norm>,
          .range = kNotNegative},
    Field{.section = "ppo",
          .name = "adam_eps",
          .help = "Adam's epsilon",
          .pointer = of_ppo<&PpoConfig::adam_eps>,
          .range = kPositive},
    Field{.section = "ppo",
          .name = "hidden",
          .help = "units of each hidden layer",
          .pointer = of_ppo<&PpoConfig::hidden>,
          .range = {.low = 1.0, .high = kMostUnits}},
    Field{.section = "ppo",
          .name = "activation",
          .help = "of the hidden layers",
          .pointer = of_ppo<&PpoConfig::activation>,
          .choices = activations},
    Field{.section = "ppo",
          .name = "shared_trunk",
          .help = "one network with two heads instead of one for the policy and one for the value",
          .pointer = of_ppo<&PpoConfig::shared_trunk>},
};

}  // namespace

std::span<const Field> ppo_fields() {
  return kFields;
}

}  // namespace thrt::rl
