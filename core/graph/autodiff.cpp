#include <thrt/graph/autodiff.hpp>

#include <thrt/error.hpp>
#include <thrt/graph/tensor_ops.hpp>

#include "gradient_rules.hpp"

#include <fmt/format.h>

#include <map>

namespace thrt {
namespace {

// Which values lie on a path from a source: the only ones whose gradient is needed.
std::vector<bool> reached_from(const Graph& graph, std::span<const Tensor> sources) {
  std::vector<bool> reached(graph.values().size(), false);
  for (const Tensor source : sources) reached[source.id()] = true;
  for (const Graph::Op& op : graph.ops()) {
    if (op.stops_gradient) continue;
    bool any = false;
    for (const ValueId operand : op.operands) any = any || reached[operand];
    for (std::uint32_t i = 0; i < op.result_count; ++i) {
      const ValueId result = op.first_result + i;
      if (any && ir::is_float(graph.type(result).dtype)) reached[result] = true;
    }
  }
  return reached;
}

}  // namespace

std::vector<Tensor> vector_jacobian_product(Tensor target, Tensor seed, std::span<const Tensor> sources) {
  Graph& graph = target.graph();
  if (!(seed.type() == target.type())) {
    throw Error(fmt::format("gradient of {} with a seed of {}", target.type().str(), seed.type().str()));
  }
  const std::vector<bool> reached = reached_from(graph, sources);
  std::map<ValueId, Tensor> cotangents;
  if (reached[target.id()]) cotangents[target.id()] = seed;

  const auto op_count = static_cast<std::uint32_t>(graph.ops().size());
  for (std::uint32_t index = op_count; index-- > 0;) {
    // A copy: appending to the graph moves its ops.
    const Graph::Op op = graph.ops()[index];
    if (op.stops_gradient) continue;
    const auto found = cotangents.find(op.first_result);
    if (op.kind == OpKind::REPEAT) {
      for (std::uint32_t i = 0; i < op.result_count; ++i) {
        if (cotangents.contains(op.first_result + i)) {
          throw Error(fmt::format("graph '{}': the gradient passes through a repeat", graph.name()),
                      "a repeat does not keep its iterations, so it has no gradient",
                      "take the gradient inside the repeat's body, or unroll the loop");
        }
      }
      continue;
    }
    if (found == cotangents.end()) continue;
    std::vector<bool> wanted;
    for (const ValueId operand : op.operands) {
      wanted.push_back(reached[operand] && ir::is_float(graph.type(operand).dtype));
    }
    const Graph::Mark mark(graph, "", op.location.empty() ? "" : "grad:" + op.location);
    const std::vector<Tensor> parts = operand_gradients(graph, op, found->second, wanted);
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      if (!wanted[i] || !parts[i]) continue;
      Tensor& total = cotangents[op.operands[i]];
      total = total ? total + parts[i] : parts[i];
    }
  }

  std::vector<Tensor> results;
  for (const Tensor source : sources) {
    const auto found = cotangents.find(source.id());
    results.push_back(found != cotangents.end() ? found->second : like(source, 0.0));
  }
  return results;
}

std::vector<Tensor> gradients(Tensor target, std::span<const Tensor> sources) {
  if (target.type().elements() != 1 || !ir::is_float(target.dtype())) {
    throw Error(fmt::format("gradient of {}", target.type().str()), "the target must be one float element",
                "reduce it first, with sum() or mean()");
  }
  return vector_jacobian_product(target, like(target, 1.0), sources);
}

}  // namespace thrt
