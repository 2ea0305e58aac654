#include <thrt/rl/train/fields.hpp>

#include <thrt/rl/env/vector_env.hpp>

#include <array>

namespace thrt::rl {
namespace {

template <auto Member>
FieldPointer of_run(RunConfig& config) {
  return &(config.*Member);
}

template <auto Member>
FieldPointer of_ppo(RunConfig& config) {
  return &(config.ppo.*Member);
}

std::vector<std::string> precisions() {
  return {"f32", "tf32", "bf16", "f16"};
}

std::vector<std::string> activations() {
  return {"tanh", "relu"};
}

constexpr double kMostSteps = 1e15;     // counted exactly in a double
constexpr double kMostSeed = 9.2e18;    // TOML's integers end at 2^63 - 1
constexpr double kMostSide = 1 << 20;   // of a rollout; the product is checked apart
constexpr double kMostUnits = 1 << 16;  // of a layer
constexpr Range kFraction = {.low = 0.0, .high = 1.0};
constexpr Range kPositive = {.low = 0.0, .above_low = true};
constexpr Range kNotNegative = {.low = 0.0};

const std::array kFields = {
    Field{.section = "",
          .name = "algorithm",
          .help = "what learns",
          .pointer = of_run<&RunConfig::algorithm>,
          .choices = algorithm_names,
          .positional = true},
    Field{.section = "",
          .name = "environment",
          .help = "what it learns",
          .pointer = of_run<&RunConfig::environment>,
          .choices = vector_env_ids,
          .positional = true},
    Field{.section = "",
          .name = "seed",
          .help = "of everything that is drawn at random",
          .pointer = of_run<&RunConfig::seed>,
          .range = {.low = 0.0, .high = kMostSeed}},
    Field{.section = "",
          .name = "total_timesteps",
          .help = "environment steps, over all environments",
          .pointer = of_run<&RunConfig::total_timesteps>,
          .range = {.low = 1.0, .high = kMostSteps}},
    Field{.section = "",
          .name = "checkpoint_every",
          .help = "environment steps from one checkpoint to the next; auto: a tenth of the run",
          .pointer = of_run<&RunConfig::checkpoint_every>,
          .range = {.low = 1.0, .high = kMostSteps},
          .zero_word = "auto"},
    Field{.section = "",
          .name = "backend",
          .help = "where to compute: ID, ID:INDEX or ID:NAME (see thrust backends)",
          .pointer = of_run<&RunConfig::backend>},
    Field{.section = "",
          .name = "threads",
          .help = "of the backend; auto: its own choice",
          .pointer = of_run<&RunConfig::threads>,
          .range = {.low = 1.0, .high = 1024.0},
          .zero_word = "auto"},
    Field{.section = "",
          .name = "precision",
          .help = "of matrix products and convolutions",
          .pointer = of_run<&RunConfig::precision>,
          .choices = precisions},
    Field{.section = "",
          .name = "memory_budget",
          .help = "most memory to take on the device; all: what it has",
          .pointer = of_run<&RunConfig::memory_budget>,
          .zero_word = "all",
          .bytes = true},

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
          .help = "Adam's step size",
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
          .help = "weight of the value loss",
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
          .help = "units of each hidden layer, policy and value network alike",
          .pointer = of_ppo<&PpoConfig::hidden>,
          .range = {.low = 1.0, .high = kMostUnits}},
    Field{.section = "ppo",
          .name = "activation",
          .help = "of the hidden layers",
          .pointer = of_ppo<&PpoConfig::activation>,
          .choices = activations},
};

}  // namespace

std::span<const Field> run_fields() {
  return kFields;
}

}  // namespace thrt::rl
