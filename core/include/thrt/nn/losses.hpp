// Losses. Without reduction each gives one number per element (per row for softmax_cross_entropy); the mean is over all
// of them.
#pragma once

#include <thrt/graph/graph.hpp>

namespace thrt::nn {

enum class Reduction { kMean, kSum, kNone };

Tensor reduced(Tensor loss, Reduction reduction);

// prediction and target of one shape.
Tensor mse(Tensor prediction, Tensor target, Reduction reduction = Reduction::kMean);
Tensor mae(Tensor prediction, Tensor target, Reduction reduction = Reduction::kMean);
// d^2 / 2 where |d| < delta, else delta * (|d| - delta / 2) (Huber 1964). delta = 1 is the smooth L1 loss.
Tensor huber(Tensor prediction, Tensor target, double delta = 1.0, Reduction reduction = Reduction::kMean);
// -z log(sigmoid(x)) - (1 - z) log(1 - sigmoid(x)) as softplus(x) - x z, finite for every finite x; z in [0, 1].
Tensor bce_with_logits(Tensor logits, Tensor target, Reduction reduction = Reduction::kMean);
// logits [..., A], labels i32 [...] in [0, A) -> -log softmax(logits)[label]; a label outside costs 0.
Tensor softmax_cross_entropy(Tensor logits, Tensor labels, Reduction reduction = Reduction::kMean);

}  // namespace thrt::nn
