// One function for each op that is neither elementwise nor a view: OpView -> Step. Attributes are checked by the
// verifier, dtypes by refuse() in device.cpp, before these are called. A pair {result, operand} in
// Step::memory.in_place is for the case that the step reads that operand once; the caller drops it where two operands
// share memory.
#pragma once

#include "step.hpp"

namespace thrt::cpu {

Step lower_iota(const sdk::OpView& op);
Step lower_pad(const sdk::OpView& op);
Step lower_concat(const sdk::OpView& op);
Step lower_gather(const sdk::OpView& op);
Step lower_scatter_add(const sdk::OpView& op, const CompileSettings& settings);
Step lower_dynamic_slice(const sdk::OpView& op);
Step lower_dynamic_update_slice(const sdk::OpView& op);
Step lower_reduce(const sdk::OpView& op, const CompileSettings& settings);
Step lower_argmax(const sdk::OpView& op);
Step lower_argsort(const sdk::OpView& op);
MatmulShape matmul_shape(const sdk::OpView& op);
MatmulPlan plan_product(const MatmulShape& shape, const CompileSettings& settings);
Step lower_matmul(const sdk::OpView& op, const CompileSettings& settings);
Step lower_random_bits(const sdk::OpView& op, const CompileSettings& settings);
Step lower_convolution(const sdk::OpView& op, const CompileSettings& settings);
Step lower_repeat(const sdk::OpView& op, const CompileSettings& settings);

// Reads all operands, writes all results, does nothing yet.
inline Step step_of(const sdk::OpView& op) {
  Step step;
  for (const std::uint32_t value : op.operands()) step.reads(value);
  for (std::uint32_t i = 0; i < op.result_count(); ++i) step.writes(op.result(i));
  return step;
}

// Products of the dimensions before and after an axis.
struct AroundAxis {
  std::int64_t before = 1, length = 1, after = 1;

  AroundAxis(const ir::Shape& shape, std::int64_t axis) : length(shape[static_cast<int>(axis)]) {
    for (int d = 0; d < shape.rank(); ++d) (d < axis ? before : after) *= d == axis ? 1 : shape[d];
  }
};

}  // namespace thrt::cpu
