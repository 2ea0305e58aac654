#include "chain.hpp"
#include "limits.hpp"

#include <thrt/bench/groups.hpp>
#include <thrt/graph/passes.hpp>

namespace thrt::bench {
namespace {

std::function<void()> chain_of(const Graph& graph) {
  std::vector<std::function<void()>> chain;
  for (const Product& product : products_of(graph)) chain.push_back(fastest(ways_of(product)));
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
