// SAC's policy: a Gaussian, squashed into (-1, 1) by tanh, whose mean and deviation a network gives.
#pragma once

#include <thrt/graph/tensor_ops.hpp>

namespace thrt::rl {

// Of a = tanh(u), u ~ N(mean, exp(log_deviation)^2), each element apart. All f32[B, A].
class TanhGaussian {
 public:
  // log_deviation is clamped to [-20, 2], as in Haarnoja's code and Stable-Baselines3.
  TanhGaussian(Tensor mean, Tensor log_deviation);

  struct Sample {
    Tensor action;    // f32[B, A] in (-1, 1); at an end where f32 has nothing between
    Tensor log_prob;  // f32[B], in nats, of the whole action vector
  };
  // Of the action that this standard normal noise makes; differentiable in mean and log_deviation. Exact for any u:
  // log(1 - tanh(u)^2) is 2 (log 2 - u - softplus(-2u)), which neither cancels nor needs a constant under the
  // logarithm.
  Sample sample(Tensor noise) const;
  Tensor action(Tensor noise) const;           // the action alone
  Tensor mode() const { return tanh(mean_); }  // of u, squashed

 private:
  Tensor mean_, log_deviation_;
};

}  // namespace thrt::rl
