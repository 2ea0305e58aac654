#include <thrt/nn/losses.hpp>

#include <thrt/graph/tensor_ops.hpp>
#include <thrt/nn/activations.hpp>

namespace thrt::nn {
namespace {

// Losses never broadcast: a [B] against a [B, 1] is nearly always a mistake.
Tensor difference(const char* loss, Tensor prediction, Tensor target) {
  if (!(prediction.type() == target.type())) {
    throw ir::RuleError(std::string(loss) + ": prediction " + prediction.type().str() + " and target " +
                        target.type().str() + " differ");
  }
  return prediction - target;
}

}  // namespace

Tensor reduced(Tensor loss, Reduction reduction) {
  switch (reduction) {
    case Reduction::kMean:
      return mean(loss);
    case Reduction::kSum:
      return sum(loss);
    case Reduction::kNone:
      break;
  }
  return loss;
}

Tensor mse(Tensor prediction, Tensor target, Reduction reduction) {
  return reduced(square(difference("mse", prediction, target)), reduction);
}

Tensor mae(Tensor prediction, Tensor target, Reduction reduction) {
  return reduced(abs(difference("mae", prediction, target)), reduction);
}

Tensor huber(Tensor prediction, Tensor target, double delta, Reduction reduction) {
  const Tensor d = difference("huber", prediction, target);
  const Tensor size = abs(d);
  return reduced(select(less(size, delta), 0.5 * square(d), delta * (size - 0.5 * delta)), reduction);
}

Tensor bce_with_logits(Tensor logits, Tensor target, Reduction reduction) {
  static_cast<void>(difference("bce_with_logits", logits, target));
  return reduced(softplus(logits) - logits * target, reduction);
}

Tensor softmax_cross_entropy(Tensor logits, Tensor labels, Reduction reduction) {
  return reduced(-pick(log_softmax(logits), labels), reduction);
}

}  // namespace thrt::nn
