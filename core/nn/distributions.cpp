#include <thrt/nn/distributions.hpp>

#include <cmath>
#include <numbers>

namespace thrt::nn {

Categorical::Categorical(Tensor logits) : logits_(logits), log_probabilities_(log_softmax(logits)) {}

Tensor Categorical::log_prob(Tensor action) const {
  return pick(log_probabilities_, action);
}

Tensor Categorical::entropy() const {
  return -sum(exp(log_probabilities_) * log_probabilities_, {-1});
}

Tensor Categorical::mode() const {
  return argmax(logits_);
}

Tensor Categorical::sample(Random& random) const {
  const Tensor noise = -log(-log(random.uniform_open(logits_.shape(), logits_.dtype())));
  return argmax(logits_ + noise);
}

DiagonalGaussian::DiagonalGaussian(Tensor mean, Tensor log_std)
    : mean_(mean), log_std_(broadcast_to(log_std, mean.shape())) {}

// log N(a; mu, s) = -((a - mu) / s)^2 / 2 - log s - log(2 pi) / 2.
Tensor DiagonalGaussian::log_prob(Tensor action) const {
  const Tensor deviation = (action - mean_) * exp(-log_std_);
  return sum(-0.5 * square(deviation) - log_std_ - 0.5 * std::log(2.0 * std::numbers::pi), {-1});
}

// (1 + log(2 pi)) / 2 + log s.
Tensor DiagonalGaussian::entropy() const {
  return sum(log_std_ + 0.5 * (1.0 + std::log(2.0 * std::numbers::pi)), {-1});
}

Tensor DiagonalGaussian::sample(Random& random) const {
  return mean_ + exp(log_std_) * random.normal(mean_.shape(), mean_.dtype());
}

}  // namespace thrt::nn
