#include "limits.hpp"
#include "matmul_ways.hpp"

#include <thrt/bench/groups.hpp>
#include <thrt/bench/measure.hpp>
#include <thrt/graph/passes.hpp>

#include <algorithm>
#include <utility>

namespace thrt::bench {
namespace {

bool has_convolutions(const Graph& graph) {
  return std::any_of(graph.ops().begin(), graph.ops().end(), [](const Graph::Op& op) {
    return op.kind == OpKind::CONV2D || op.kind == OpKind::CONV2D_GRAD_INPUT || op.kind == OpKind::CONV2D_GRAD_FILTER;
  });
}

// Every product of the program as the backends get it, in its order.
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

std::function<void()> fastest(const Product& product) {
  std::vector<Way> ways = ways_of(product);
  std::vector<double> seconds;
  for (const Way& way : ways) seconds.push_back(measure(way.run, {.min_seconds = 0.01}).min);
  const auto best = std::min_element(seconds.begin(), seconds.end()) - seconds.begin();
  return ways[static_cast<std::size_t>(best)].run;
}

std::function<void()> chain_of(const Graph& graph) {
  std::vector<std::function<void()>> chain;
  for (const Product& product : products_of(graph)) chain.push_back(fastest(product));
  return [chain] {
    for (const std::function<void()>& run : chain) run();
  };
}

}  // namespace

void add_small_net_limits(std::vector<Limit>& limits) {
  for (const Group& group : groups()) {
    if (!group.graph) continue;
    const Graph graph = optimise(group.graph());
    if (has_convolutions(graph)) continue;
    limits.push_back({benchmark_id(group, "floor"), [graph](int) { return chain_of(graph); }});
  }
}

}  // namespace thrt::bench
