#include <thrt/nn/layers.hpp>

#include <thrt/error.hpp>

#include <fmt/format.h>

namespace thrt::nn {
namespace {

// "linear/1", "linear_tanh/1": a layer with its activation is one thing to a backend that can fuse it.
std::string group_name(const char* layer, Activation activation) {
  if (activation == Activation::kIdentity) return fmt::format("{}/1", layer);
  return fmt::format("{}_{}/1", layer, activation_name(activation));
}

// The parameter at this point of the program: after an optimiser's step, what that step made of it.
Tensor parameter(Graph& graph, const std::string& name, const Type& type, const Init& init) {
  graph.state(name, type, init);
  return graph.current(name);
}

void require_positive(std::int64_t count, const std::string& name, const char* what) {
  if (count <= 0) throw Error(fmt::format("layer '{}' has {} {}", name, count, what), {}, "ask for at least one");
}

}  // namespace

Tensor dense(Tensor x, const std::string& name, std::int64_t units, const DenseOptions& options) {
  require_positive(units, name, "units");
  if (x.rank() < 2) {
    throw Error(fmt::format("layer '{}' takes a batch, not {}", name, x.type().str()), {}, "give it [batch, features]");
  }
  Graph& graph = x.graph();
  const Tensor weight = parameter(graph, name + "/weight", {x.dtype(), {x.dim(-1), units}}, options.weight);
  const Tensor bias =
      options.use_bias ? parameter(graph, name + "/bias", {x.dtype(), {units}}, options.bias) : Tensor{};
  const Graph::Mark mark(graph, group_name("linear", options.activation), name);

  Shape result = x.shape();
  result.set(x.rank() - 1, units);
  const std::int64_t rows = Shape(x.shape().dims().first(static_cast<std::size_t>(x.rank() - 1))).elements();
  Tensor y = matmul(reshape(x, {rows, x.dim(-1)}), weight);
  if (bias) y = y + bias;
  return reshape(activate(y, options.activation), result);
}

Tensor conv2d(Tensor x, const std::string& name, std::int64_t channels, std::int64_t kernel,
              const Conv2dOptions& options) {
  require_positive(channels, name, "channels");
  require_positive(kernel, name, "filter rows");
  if (x.rank() != 4) {
    throw Error(fmt::format("layer '{}' takes images, not {}", name, x.type().str()), {},
                "give it [batch, channels, height, width]");
  }
  Graph& graph = x.graph();
  const Tensor filter =
      parameter(graph, name + "/filter", {x.dtype(), {channels, x.dim(1), kernel, kernel}}, options.filter);
  const Tensor bias =
      options.use_bias ? parameter(graph, name + "/bias", {x.dtype(), {channels}}, options.bias) : Tensor{};
  const Graph::Mark mark(graph, group_name("conv2d", options.activation), name);
  Tensor y = thrt::conv2d(x, filter, options.geometry);
  if (bias) y = y + broadcast_in(bias, y.shape(), {1});
  return activate(y, options.activation);
}

Tensor layer_norm(Tensor x, const std::string& name, const LayerNormOptions& options) {
  Graph& graph = x.graph();
  const Type features{x.dtype(), {x.dim(-1)}};
  const Tensor weight = parameter(graph, name + "/weight", features, Init::constant(1.0));
  const Tensor bias = parameter(graph, name + "/bias", features, Init::zeros());
  const Graph::Mark mark(graph, "layer_norm/1", name);
  const Tensor centred = x - mean(x, {-1}, true);
  const Tensor variance = mean(square(centred), {-1}, true);
  return centred / sqrt(variance + options.eps) * weight + bias;
}

Tensor mlp(Tensor x, const std::string& name, std::span<const std::int64_t> widths, Activation activation,
           double gain) {
  int number = 0;
  for (const std::int64_t width : widths) {
    x = dense(x, fmt::format("{}/{}", name, ++number), width,
              {.weight = Init::orthogonal(gain), .activation = activation});
  }
  return x;
}

std::vector<std::string> parameters(const Graph& graph, std::string_view scope) {
  std::vector<std::string> names;
  for (const Graph::Slot& slot : graph.slots()) {
    const std::string_view name = slot.name;
    const bool inside =
        name.substr(0, scope.size()) == scope && (name.size() == scope.size() || name[scope.size()] == '/');
    if (slot.kind == Graph::SlotKind::kState && ir::is_float(slot.type.dtype) && inside) names.push_back(slot.name);
  }
  if (names.empty()) throw Error(fmt::format("graph '{}' has no parameters under '{}'", graph.name(), scope));
  return names;
}

std::vector<Tensor> values(Graph& graph, std::span<const std::string> names) {
  std::vector<Tensor> result;
  for (const std::string& name : names) result.push_back(graph.current(name));
  return result;
}

}  // namespace thrt::nn
