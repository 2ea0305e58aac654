// What every algorithm's gradient step ends with.
#pragma once

#include <thrt/graph/graph.hpp>
#include <thrt/nn/optimisers.hpp>

#include <span>
#include <vector>

namespace thrt::rl {

// The gradients of a loss, their global norm clipped to max_norm; 0: not clipped.
nn::ClippedGradients clipped_gradients(Tensor loss, std::span<const Tensor> sources, double max_norm);

// Values of rank 0 as one vector.
Tensor stacked(const std::vector<Tensor>& scalars);

}  // namespace thrt::rl
