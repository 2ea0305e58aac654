// Distributions over actions.
#pragma once

#include <thrt/graph/tensor_ops.hpp>
#include <thrt/nn/random.hpp>

namespace thrt::nn {

// Over A choices, by unnormalised log-probabilities [B, A]; a batch of any rank works alike. All logits are finite.
class Categorical {
 public:
  explicit Categorical(Tensor logits);

  Tensor log_probabilities() const { return log_probabilities_; }  // [B, A]
  Tensor log_prob(Tensor action) const;                            // action i32 [B] in [0, A) -> [B]
  Tensor entropy() const;                                          // [B], in nats
  Tensor mode() const;                                             // i32 [B]: the first of the most likely
  // i32 [B], by argmax(logits + Gumbel noise) (Gumbel 1954).
  Tensor sample(Random& random) const;

 private:
  Tensor logits_;
  Tensor log_probabilities_;
};

// Normal in each of A elements, independently: means [B, A] and logarithms of the standard deviations, [A] or [B, A].
class DiagonalGaussian {
 public:
  DiagonalGaussian(Tensor mean, Tensor log_std);

  Tensor log_prob(Tensor action) const;  // [B, A] -> [B], the logarithm of the density
  Tensor entropy() const;                // [B], differential, in nats
  Tensor mode() const { return mean_; }  // [B, A]
  Tensor sample(Random& random) const;   // [B, A]

 private:
  Tensor mean_;
  Tensor log_std_;  // [B, A]
};

}  // namespace thrt::nn
