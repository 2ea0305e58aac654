#include <thrt/nn/distributions.hpp>

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

}  // namespace thrt::nn
