// The walk that all passes share: copies a graph op by op, letting the pass replace the results of each.
#pragma once

#include <thrt/graph/graph.hpp>

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace thrt {

// What an op becomes, given its operands in the new graph: nothing (it is copied), its results in the new graph, or an
// empty vector (it is dropped; nothing may use it).
using Replace =
    std::function<std::optional<std::vector<Tensor>>(Graph& to, const Graph::Op& op, std::span<const Tensor> operands)>;

// `pass` is applied to the bodies of repeats first.
Graph rewrite(const Graph& from, Graph (*pass)(const Graph&), const Replace& replace);

}  // namespace thrt
