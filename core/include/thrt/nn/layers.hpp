// Layers: functions that add nodes to the graph of their input. A layer's parameters are state slots NAME/weight and so
// on, of the input's dtype, so the same call in two graphs (acting and training) gives the same slots, and buffers
// bound by name are shared. A layer reads its parameters as they are at that point of the program: built after an
// optimiser's step, it sees the new ones.
//
//   Tensor h = nn::mlp(observation, "agent/actor", {64, 64}, nn::Activation::kTanh, std::sqrt(2.0));
//   Tensor logits = nn::dense(h, "agent/actor/head", 2, {.weight = Init::orthogonal(0.01)});
//   std::vector<std::string> names = nn::parameters(graph, "agent");
//   std::vector<Tensor> grads = gradients(loss, nn::values(graph, names));
#pragma once

#include <thrt/graph/tensor_ops.hpp>
#include <thrt/nn/activations.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace thrt::nn {

struct DenseOptions {
  Init weight = Init::kaiming_uniform(1.0);  // U(-b, b), b = sqrt(3 / in): variance 1 / in
  Init bias = Init::zeros();
  bool use_bias = true;
  Activation activation = Activation::kIdentity;
};

// x [..., in] -> [..., units]. Slots NAME/weight [in, units], NAME/bias [units].
Tensor dense(Tensor x, const std::string& name, std::int64_t units, const DenseOptions& options = {});

struct Conv2dOptions {
  Conv2dGeometry geometry = {};
  Init filter = Init::kaiming_uniform(1.0);
  Init bias = Init::zeros();
  bool use_bias = true;
  Activation activation = Activation::kIdentity;
};

// x [N, C, H, W] -> [N, channels, OH, OW]. Slots NAME/filter [channels, C, kernel, kernel], NAME/bias [channels].
Tensor conv2d(Tensor x, const std::string& name, std::int64_t channels, std::int64_t kernel,
              const Conv2dOptions& options = {});

struct LayerNormOptions {
  double eps = 1e-5;  // added to the variance
};

// Over the last axis: (x - mean) / sqrt(variance + eps) * weight + bias, with the variance of the population (Ba, Kiros
// and Hinton 2016). Slots NAME/weight [D] of ones, NAME/bias [D] of zeros.
Tensor layer_norm(Tensor x, const std::string& name, const LayerNormOptions& options = {});

// Dense layers NAME/1, NAME/2, ... of these widths, each followed by the activation; weights orthogonal with `gain`.
Tensor mlp(Tensor x, const std::string& name, std::span<const std::int64_t> widths, Activation activation, double gain);
inline Tensor mlp(Tensor x, const std::string& name, std::initializer_list<std::int64_t> widths, Activation activation,
                  double gain) {
  return mlp(x, name, std::span<const std::int64_t>(widths.begin(), widths.size()), activation, gain);
}

// The trainable state under a scope: the names of the graph's float states `scope` or `scope`/..., in the order in
// which they were declared. What is not to be trained belongs under another scope ("target/..."; optimisers and random
// states have scopes of their own). Throws Error when there is none.
std::vector<std::string> parameters(const Graph& graph, std::string_view scope);
// Their values at this point of the program: Graph::current of each.
std::vector<Tensor> values(Graph& graph, std::span<const std::string> names);

}  // namespace thrt::nn
