#include "rl/algo/gradient_step.hpp"

#include <thrt/graph/autodiff.hpp>
#include <thrt/graph/tensor_ops.hpp>

#include <limits>

namespace thrt::rl {

nn::ClippedGradients clipped_gradients(Tensor loss, std::span<const Tensor> sources, double max_norm) {
  const std::vector<Tensor> slopes = gradients(loss, sources);
  return nn::clip_by_global_norm(slopes, max_norm > 0.0 ? max_norm : std::numeric_limits<double>::infinity());
}

Tensor stacked(const std::vector<Tensor>& scalars) {
  std::vector<Tensor> rows;
  rows.reserve(scalars.size());
  for (const Tensor value : scalars) rows.push_back(reshape(value, {1}));
  return concat(rows, 0);
}

}  // namespace thrt::rl
