#include "chain.hpp"

#include <thrt/bench/measure.hpp>

#include <algorithm>

namespace thrt::bench {

bool has_convolutions(const Graph& graph) {
  return !convolutions_of(graph).empty();
}

std::vector<Product> products_of(const Graph& graph) {
  std::vector<Product> products;
  for (const Graph::Op& op : graph.ops()) {
    if (op.kind != OpKind::MATMUL) continue;
    const Shape a = graph.type(op.operands[0]).shape, c = graph.type(op.first_result).shape;
    const bool transpose_a = op.attributes[0] != 0, transpose_b = op.attributes[1] != 0;
    const int rank = c.rank();
    std::int64_t batch = 1;
    for (int axis = 0; axis < rank - 2; ++axis) batch *= c[axis];
    const Product one = {.rows = c[rank - 2],
                         .depth = a[transpose_a ? rank - 2 : rank - 1],
                         .columns = c[rank - 1],
                         .transpose_a = transpose_a,
                         .transpose_b = transpose_b};
    products.insert(products.end(), static_cast<std::size_t>(batch), one);
  }
  return products;
}

std::vector<Convolution> convolutions_of(const Graph& graph) {
  std::vector<Convolution> convolutions;
  for (const Graph::Op& op : graph.ops()) {
    const Shape first = op.operands.empty() ? Shape{} : graph.type(op.operands[0]).shape;
    const Shape result = graph.type(op.first_result).shape;
    if (op.kind == OpKind::CONV2D) {
      convolutions.push_back(
          {Convolution::Kind::kForward, first, graph.type(op.operands[1]).shape, result, op.attributes});
    } else if (op.kind == OpKind::CONV2D_GRAD_INPUT) {
      convolutions.push_back(
          {Convolution::Kind::kGradInput, result, graph.type(op.operands[1]).shape, first, op.attributes});
    } else if (op.kind == OpKind::CONV2D_GRAD_FILTER) {
      convolutions.push_back(
          {Convolution::Kind::kGradFilter, graph.type(op.operands[1]).shape, result, first, op.attributes});
    }
  }
  return convolutions;
}

std::function<void()> fastest(const std::vector<Way>& ways) {
  std::vector<double> seconds;
  for (const Way& way : ways) seconds.push_back(measure(way.run, {.min_seconds = 0.01}).min);
  const auto best = std::min_element(seconds.begin(), seconds.end()) - seconds.begin();
  return ways[static_cast<std::size_t>(best)].run;
}

}  // namespace thrt::bench
