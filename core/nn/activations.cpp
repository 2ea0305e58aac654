#include <thrt/nn/activations.hpp>

#include <thrt/error.hpp>
#include <thrt/graph/tensor_ops.hpp>

#include <fmt/format.h>

#include <array>
#include <numbers>
#include <utility>

namespace thrt::nn {
namespace {

constexpr std::array<std::pair<Activation, std::string_view>, 9> kNames = {{
    {Activation::kIdentity, "identity"},
    {Activation::kRelu, "relu"},
    {Activation::kLeakyRelu, "leaky_relu"},
    {Activation::kTanh, "tanh"},
    {Activation::kSigmoid, "sigmoid"},
    {Activation::kGelu, "gelu"},
    {Activation::kSilu, "silu"},
    {Activation::kSoftplus, "softplus"},
    {Activation::kElu, "elu"},
}};

}  // namespace

Tensor relu(Tensor x) {
  return select(greater(x, 0.0), x, like(x, 0.0));
}

Tensor leaky_relu(Tensor x, double slope) {
  return select(greater(x, 0.0), x, x * slope);
}

Tensor gelu(Tensor x) {
  return x * (0.5 * (1.0 + erf(x * (1.0 / std::numbers::sqrt2))));
}

Tensor silu(Tensor x) {
  return x * sigmoid(x);
}

Tensor softplus(Tensor x) {
  return maximum(x, 0.0) + log1p(exp(-abs(x)));
}

Tensor expm1(Tensor x) {
  const Tensor t = tanh(x * 0.5);
  return 2.0 * t / (1.0 - t);
}

Tensor elu(Tensor x, double alpha) {
  const Tensor positive = greater(x, 0.0);
  // Where x is positive the other branch sees 0, so that it cannot overflow into its gradient.
  return select(positive, x, alpha * expm1(select(positive, like(x, 0.0), x)));
}

Tensor activate(Tensor x, Activation activation) {
  switch (activation) {
    case Activation::kIdentity:
      return x;
    case Activation::kRelu:
      return relu(x);
    case Activation::kLeakyRelu:
      return leaky_relu(x);
    case Activation::kTanh:
      return tanh(x);
    case Activation::kSigmoid:
      return sigmoid(x);
    case Activation::kGelu:
      return gelu(x);
    case Activation::kSilu:
      return silu(x);
    case Activation::kSoftplus:
      return softplus(x);
    case Activation::kElu:
      return elu(x);
  }
  return x;
}

std::string_view activation_name(Activation activation) {
  for (const auto& [value, name] : kNames) {
    if (value == activation) return name;
  }
  return "unknown";
}

Activation activation_from(std::string_view name) {
  std::string choices;
  for (const auto& [value, known] : kNames) {
    if (known == name) return value;
    choices += (choices.empty() ? "" : ", ") + std::string(known);
  }
  throw Error(fmt::format("unknown activation '{}'", name), {}, fmt::format("choose one of: {}", choices));
}

}  // namespace thrt::nn
