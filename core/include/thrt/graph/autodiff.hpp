// Reverse-mode differentiation. The rules are written in the same ops, so gradients can be differentiated again, and
// every backend that runs the ops runs their gradients.
#pragma once

#include <thrt/graph/graph.hpp>

#include <span>
#include <vector>

namespace thrt {

// d(target)/d(source) for each source, appended to the graph. target: one float element of any rank. A source that
// target does not depend on gets zeros. Ties: max and min share the gradient equally, reduce_max shares it among all
// largest elements; abs and sign have gradient 0 at 0. Throws Error where a repeat lies between target and a source.
std::vector<Tensor> gradients(Tensor target, std::span<const Tensor> sources);
inline std::vector<Tensor> gradients(Tensor target, std::initializer_list<Tensor> sources) {
  return gradients(target, std::span<const Tensor>(sources.begin(), sources.size()));
}

// The gradient of sum(target * seed); target of any shape, seed of target's type.
std::vector<Tensor> vector_jacobian_product(Tensor target, Tensor seed, std::span<const Tensor> sources);

}  // namespace thrt
