// The gradient of each op, in ops.
#pragma once

#include <thrt/graph/graph.hpp>

#include <vector>

namespace thrt {

// For op with result cotangent `g`: the cotangent of each operand i with wanted[i]; others, and those that are zero,
// are empty.
std::vector<Tensor> operand_gradients(Graph& graph, const Graph::Op& op, Tensor g, const std::vector<bool>& wanted);

}  // namespace thrt
