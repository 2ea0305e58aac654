// The floor of the convolution network: each convolution and each product by the fastest way there is on this machine,
// operands in the layout that this way wants, nothing in between. The groups' ids name whole chains; those under
// "layer/" time each call alone.
#include "chain.hpp"
#include "limits.hpp"

#include <thrt/bench/groups.hpp>
#include <thrt/graph/passes.hpp>

#include <fmt/format.h>

namespace thrt::bench {
namespace {

using Calls = std::vector<std::function<void()>>;

std::function<void()> chain_of(const Graph& graph, bool bf16) {
  Calls calls;
  for (const Convolution& convolution : convolutions_of(graph)) calls.push_back(fastest(ways_of(convolution, bf16)));
  for (const Product& product : products_of(graph)) {
    calls.push_back(fastest(bf16 ? bf16_ways_of(product) : ways_of(product)));
  }
  return [calls] {
    for (const std::function<void()>& call : calls) call();
  };
}

std::string layer_name(const Convolution& c) {
  const char* kind = c.kind == Convolution::Kind::kForward     ? "forward"
                     : c.kind == Convolution::Kind::kGradInput ? "grad_input"
                                                               : "grad_filter";
  return fmt::format("layer/conv_{}x{}x{}/{}", c.filter[0], c.filter[2], c.filter[3], kind);
}

// The convolutions of a training step one by one.
void add_layers(std::vector<Limit>& limits, const Graph& graph, std::int64_t batch) {
  for (const Convolution& convolution : convolutions_of(graph)) {
    for (const bool bf16 : {false, true}) {
      limits.push_back({fmt::format("{}/floor{}/b{}", layer_name(convolution), bf16 ? "-bf16" : "", batch),
                        [convolution, bf16](int) { return fastest(ways_of(convolution, bf16)); }});
    }
  }
}

}  // namespace

void add_nature_cnn_limits(std::vector<Limit>& limits) {
  for (const Group& group : groups()) {
    if (!group.graph) continue;
    const Graph graph = optimise(group.graph());
    if (!has_convolutions(graph)) continue;
    for (const bool bf16 : {false, true}) {
      limits.push_back(
          {benchmark_id(group, bf16 ? "floor-bf16" : "floor"), [graph, bf16](int) { return chain_of(graph, bf16); }});
    }
    if (group.name == "nature_dqn_qnet_train_step") add_layers(limits, graph, group.batch);
  }
}

}  // namespace thrt::bench
