// The networks of an on-policy algorithm, a policy and a value function, as functions that add them to a graph, and the
// programs that act with them.
//
// Shapes: N environments or B rows, D observation elements, A discrete choices or A elements of a continuous action.
// Separate networks, as in CleanRL and Stable-Baselines3, have the parameters "agent/policy/..." and "agent/value/...";
// with a shared trunk "agent/trunk/..." and the two heads.
#pragma once

#include <thrt/graph/graph.hpp>
#include <thrt/nn/distributions.hpp>
#include <thrt/rl/env/vector_env.hpp>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace thrt::rl {

struct PolicySpaces {
  std::int64_t observation_size = 0;  // D
  std::int64_t actions = 0;           // A
  bool continuous = false;

  Type action_type(std::int64_t batch) const;  // i32[batch], or f32[batch, A]
};

PolicySpaces policy_spaces(const VectorEnv& env);

// What a network looks like.
struct ActorCriticShape {
  std::vector<std::int64_t> hidden;
  std::string activation;
  bool shared_trunk = false;

  std::string text() const;  // "hidden 64,64, activation tanh"
};

// A distribution over actions of either kind. Continuous ones are normal around the network's output, with deviations
// that do not depend on the observation ("agent/policy/log_std" [A], from 0), as in Schulman et al. 2017.
class Policy {
 public:
  explicit Policy(nn::Categorical choice) : distribution_(choice) {}
  explicit Policy(nn::DiagonalGaussian normal) : distribution_(normal) {}

  Tensor log_prob(Tensor action) const;  // [B]
  Tensor entropy() const;                // [B]
  Tensor mode() const;
  Tensor sample(nn::Random& random) const;

 private:
  std::variant<nn::Categorical, nn::DiagonalGaussian> distribution_;
};

struct ActorCritic {
  Policy policy;
  Tensor value;  // [B]
};

// observations [B, D]. Weights are orthogonal: gain sqrt(2) inside, 0.01 for the policy's head (a nearly uniform first
// policy), 1 for the value's.
Policy policy_network(const ActorCriticShape& shape, const PolicySpaces& spaces, Tensor observations);
ActorCritic actor_critic(const ActorCriticShape& shape, const PolicySpaces& spaces, Tensor observations);

// "observations" f32[N, D] -> "action", sampled; "log_prob" f32[N]; "value" f32[N]. State "rng/act".
Graph actor_critic_act_graph(const std::string& name, const ActorCriticShape& shape, const PolicySpaces& spaces,
                             std::int64_t batch);
// "observations" f32[N, D] -> "action", the most probable.
Graph actor_critic_greedy_graph(const std::string& name, const ActorCriticShape& shape, const PolicySpaces& spaces,
                                std::int64_t batch);
// "observations" f32[N, D] -> "value" f32[N].
Graph actor_critic_value_graph(const std::string& name, const ActorCriticShape& shape, const PolicySpaces& spaces,
                               std::int64_t batch);

// To mean 0 and (sample) standard deviation 1, as CleanRL and Stable-Baselines3 do in each minibatch.
Tensor normalised(Tensor x);

}  // namespace thrt::rl
