#include <thrt/nn/optimisers.hpp>

#include <thrt/error.hpp>
#include <thrt/graph/tensor_ops.hpp>
#include <thrt/nn/activations.hpp>

#include <fmt/format.h>

#include <cmath>

namespace thrt::nn {
namespace {

void require_pairs(Graph& graph, const std::string& optimiser, std::span<const std::string> parameters,
                   std::span<const Tensor> gradients, Tensor learning_rate) {
  if (parameters.size() != gradients.size()) {
    throw Error(fmt::format("{}: {} gradients for {} parameters", optimiser, gradients.size(), parameters.size()));
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Type type = graph.current(parameters[i]).type();
    if (!(type == gradients[i].type())) {
      throw Error(fmt::format("{}: parameter '{}' is {} and its gradient {}", optimiser, parameters[i], type.str(),
                              gradients[i].type().str()));
    }
  }
  if (learning_rate.rank() != 0 || !ir::is_float(learning_rate.dtype())) {
    throw Error(fmt::format("{}: the learning rate is {}, not one float", optimiser, learning_rate.type().str()));
  }
}

// A state like `parameter`, at its current value.
Tensor slot_of(Graph& graph, const std::string& name, Tensor parameter, const Init& init) {
  graph.state(name, parameter.type(), init);
  return graph.current(name);
}

}  // namespace

ClippedGradients clip_by_global_norm(std::span<const Tensor> gradients, double max_norm) {
  if (gradients.empty()) throw Error("clip_by_global_norm: there are no gradients");
  const Graph::Mark mark(gradients[0].graph(), "clip_by_global_norm/1", "clip_by_global_norm");
  Tensor total = sum(square(gradients[0]));
  for (const Tensor gradient : gradients.subspan(1)) total = total + sum(square(gradient));
  ClippedGradients result{{}, sqrt(total)};
  const Tensor scale = minimum(max_norm / (result.norm + 1e-6), 1.0);
  for (const Tensor gradient : gradients) result.gradients.push_back(gradient * scale);
  return result;
}

void adam(Graph& graph, std::span<const std::string> parameters, std::span<const Tensor> gradients,
          Tensor learning_rate, const AdamOptions& options) {
  require_pairs(graph, options.name, parameters, gradients, learning_rate);
  const std::string step_slot = options.name + "/step";
  graph.state(step_slot, {DType::kI32, {}}, Init::zeros());
  const Graph::Mark location(graph, "", options.name);
  const Tensor step = graph.current(step_slot) + 1.0;
  graph.update(step_slot, step);
  // 1 - beta^t as -expm1(t log(beta)): the difference itself would lose three digits in f32 at the first steps.
  const Tensor t = cast(step, learning_rate.dtype());
  const Tensor step_size = learning_rate / -expm1(t * std::log(options.beta1));
  const Tensor scale_v = 1.0 / sqrt(-expm1(t * std::log(options.beta2)));

  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Tensor p = graph.current(parameters[i]);
    const Tensor g = gradients[i];
    const std::string m_slot = options.name + "/m/" + parameters[i], v_slot = options.name + "/v/" + parameters[i];
    Tensor m = slot_of(graph, m_slot, p, Init::zeros());
    Tensor v = slot_of(graph, v_slot, p, Init::zeros());
    const Graph::Mark mark(graph, "adam/1", parameters[i]);
    if (options.weight_decay != 0.0) p = p * (1.0 - cast(learning_rate, p.dtype()) * options.weight_decay);
    m = options.beta1 * m + (1.0 - options.beta1) * g;
    v = options.beta2 * v + (1.0 - options.beta2) * square(g);
    const Tensor denominator = sqrt(v) * cast(scale_v, p.dtype()) + options.eps;
    graph.update(parameters[i], p - cast(step_size, p.dtype()) * (m / denominator));
    graph.update(m_slot, m);
    graph.update(v_slot, v);
  }
}

void sgd(Graph& graph, std::span<const std::string> parameters, std::span<const Tensor> gradients, Tensor learning_rate,
         const SgdOptions& options) {
  require_pairs(graph, options.name, parameters, gradients, learning_rate);
  const Graph::Mark location(graph, "", options.name);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor p = graph.current(parameters[i]);
    const Tensor rate = cast(learning_rate, p.dtype());
    const std::string slot = options.name + "/momentum/" + parameters[i];
    const Tensor momentum = options.momentum != 0.0 ? slot_of(graph, slot, p, Init::zeros()) : Tensor{};
    const Graph::Mark mark(graph, "sgd/1", parameters[i]);
    Tensor direction = options.weight_decay != 0.0 ? gradients[i] + options.weight_decay * p : gradients[i];
    if (momentum) {
      const Tensor next = options.momentum * momentum + direction;
      graph.update(slot, next);
      direction = options.nesterov ? direction + options.momentum * next : next;
    }
    graph.update(parameters[i], p - rate * direction);
  }
}

void rmsprop(Graph& graph, std::span<const std::string> parameters, std::span<const Tensor> gradients,
             Tensor learning_rate, const RmspropOptions& options) {
  require_pairs(graph, options.name, parameters, gradients, learning_rate);
  const bool tensorflow = options.variant == RmspropOptions::Variant::kTensorFlow;
  const Graph::Mark location(graph, "", options.name);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor p = graph.current(parameters[i]), g = gradients[i];
    const Tensor rate = cast(learning_rate, p.dtype());
    const std::string v_slot = options.name + "/v/" + parameters[i];
    const std::string momentum_slot = options.name + "/momentum/" + parameters[i];
    Tensor v = slot_of(graph, v_slot, p, tensorflow ? Init::constant(1.0) : Init::zeros());
    const Tensor momentum = options.momentum != 0.0 ? slot_of(graph, momentum_slot, p, Init::zeros()) : Tensor{};
    const Graph::Mark mark(graph, "rmsprop/1", parameters[i]);
    v = options.decay * v + (1.0 - options.decay) * square(g);
    graph.update(v_slot, v);
    Tensor step = g / (tensorflow ? sqrt(v + options.eps) : sqrt(v) + options.eps);
    if (tensorflow) step = rate * step;
    if (momentum) {
      step = options.momentum * momentum + step;
      graph.update(momentum_slot, step);
    }
    graph.update(parameters[i], tensorflow ? p - step : p - rate * step);
  }
}

}  // namespace thrt::nn
