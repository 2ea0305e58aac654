// Optimisers: each updates the parameters (state slots, by name) from their gradients, and keeps its own state in slots
// named after itself and the parameter. Everything that changes from step to step is a value, so one compiled program
// serves all steps. Two optimisers in one program need two names.
//
//   const ClippedGradients clipped = nn::clip_by_global_norm(grads, 0.5);
//   nn::adam(graph, names, clipped.gradients, graph.input("learning_rate", {DType::kF32, {}}), {.eps = 1e-5});
#pragma once

#include <thrt/graph/graph.hpp>

#include <span>
#include <string>
#include <vector>

namespace thrt::nn {

struct ClippedGradients {
  std::vector<Tensor> gradients;
  Tensor norm;  // rank 0, before clipping: sqrt of the sum of squares of all gradients
};

// Times min(1, max_norm / (norm + 1e-6)), as PyTorch's clip_grad_norm_.
ClippedGradients clip_by_global_norm(std::span<const Tensor> gradients, double max_norm);

// learning_rate is a float of rank 0. All throw Error when names and gradients do not pair up.

// Kingma and Ba 2015; weight decay as AdamW (Loshchilov and Hutter 2019), applied before the step:
//   p <- p - lr * weight_decay * p
//   m <- beta1 m + (1 - beta1) g         v <- beta2 v + (1 - beta2) g^2
//   p <- p - lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
// Slots adam/step (i32, t), adam/m/PARAM, adam/v/PARAM; a group "adam/1" for each parameter.
struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  std::string name = "adam";
};
void adam(Graph& graph, std::span<const std::string> parameters, std::span<const Tensor> gradients,
          Tensor learning_rate, const AdamOptions& options = {});

// As torch.optim.SGD: g <- g + weight_decay p; b <- momentum b + g; p <- p - lr * b, or with nesterov
// p <- p - lr * (g + momentum b). Slots sgd/momentum/PARAM when there is momentum; groups "sgd/1".
struct SgdOptions {
  double momentum = 0.0;
  bool nesterov = false;
  double weight_decay = 0.0;
  std::string name = "sgd";
};
void sgd(Graph& graph, std::span<const std::string> parameters, std::span<const Tensor> gradients, Tensor learning_rate,
         const SgdOptions& options = {});

// v <- decay v + (1 - decay) g^2, then (Tieleman and Hinton 2012)
//   kPyTorch     d = g / (sqrt(v) + eps);  without momentum p <- p - lr d, else b <- momentum b + d; p <- p - lr b;
//                v starts at 0 (torch.optim.RMSprop)
//   kTensorFlow  d = g / sqrt(v + eps);  p <- p - lr d, else b <- momentum b + lr d; p <- p - b;  v starts at 1 (TF 1's
//                RMSPropOptimizer, which the A2C and IMPALA results were made with)
// Slots rmsprop/v/PARAM, and rmsprop/momentum/PARAM when there is momentum; groups "rmsprop/1".
struct RmspropOptions {
  enum class Variant { kPyTorch, kTensorFlow };
  double decay = 0.99;
  double eps = 1e-8;
  double momentum = 0.0;
  Variant variant = Variant::kPyTorch;
  std::string name = "rmsprop";
};
void rmsprop(Graph& graph, std::span<const std::string> parameters, std::span<const Tensor> gradients,
             Tensor learning_rate, const RmspropOptions& options = {});

}  // namespace thrt::nn
