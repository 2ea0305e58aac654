// Activation functions, elementwise, with gradients everywhere (a kink has the gradient that is stated).
#pragma once

#include <thrt/graph/graph.hpp>

#include <string>
#include <string_view>

namespace thrt::nn {

Tensor relu(Tensor x);  // max(x, 0); gradient 0 at 0
Tensor leaky_relu(Tensor x, double slope = 0.01);
Tensor gelu(Tensor x);                     // x * Phi(x), exact (Hendrycks and Gimpel 2016)
Tensor silu(Tensor x);                     // x * sigmoid(x)
Tensor softplus(Tensor x);                 // log(1 + exp(x)), without overflow
Tensor elu(Tensor x, double alpha = 1.0);  // x, or alpha * (exp(x) - 1) below 0 (Clevert et al. 2016)

// exp(x) - 1 without cancellation near 0, for x <= 0 or small x: 2t / (1 - t) with t = tanh(x / 2).
Tensor expm1(Tensor x);

enum class Activation { kIdentity, kRelu, kLeakyRelu, kTanh, kSigmoid, kGelu, kSilu, kSoftplus, kElu };

Tensor activate(Tensor x, Activation activation);
// "identity", "relu", "leaky_relu", "tanh", "sigmoid", "gelu", "silu", "softplus", "elu".
std::string_view activation_name(Activation activation);
// Throws Error that lists the names.
Activation activation_from(std::string_view name);

}  // namespace thrt::nn
