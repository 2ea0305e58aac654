// matmul and random_bits: the ops that are one call of a kernel.
#include "lower.hpp"

#include <cstring>

namespace thrt::cpu {

Step lower_matmul(const sdk::OpView& op, const CompileSettings& settings) {
  const Kernels& kernels = *settings.kernels;
  Step step = step_of(op);
  const ir::Type a = op.operand_type(0), to = op.result_type();
  if (to.elements() == 0) return step;
  const int rank = to.shape.rank();
  MatmulShape shape{};
  shape.transpose_a = op.attribute(0) == 1;
  shape.transpose_b = op.attribute(1) == 1;
  shape.m = to.shape[rank - 2];
  shape.n = to.shape[rank - 1];
  shape.k = a.shape[shape.transpose_a ? rank - 2 : rank - 1];
  shape.batch = to.elements() / (shape.m * shape.n);
  step.memory.scratch_bytes = kernels.matmul_workspace(shape);
  step.bind = [shape, run = kernels.matmul, bytes = to.bytes(), x = op.operand(0), y = op.operand(1),
               result = op.result()](const Addresses& addresses, std::byte* scratch) -> Task {
    auto* out = reinterpret_cast<float*>(addresses.of(result));
    if (shape.k == 0) {
      return [out, bytes] { std::memset(out, 0, bytes); };
    }
    return [shape, run, out, scratch, a_data = reinterpret_cast<const float*>(addresses.of(x)),
            b_data = reinterpret_cast<const float*>(addresses.of(y))] { run(shape, a_data, b_data, out, scratch); };
  };
  return step;
}

Step lower_random_bits(const sdk::OpView& op, const CompileSettings& settings) {
  const Kernels& kernels = *settings.kernels;
  Step step = step_of(op);
  const std::int64_t words = op.result_type().elements();
  if (words == 0) return step;
  step.bind = [words, draw = kernels.random_words, state = op.operand(0), result = op.result()](
                  const Addresses& addresses, std::byte*) -> Task {
    return [words, draw, from = reinterpret_cast<const std::uint32_t*>(addresses.of(state)),
            out = reinterpret_cast<std::uint32_t*>(addresses.of(result))] { draw(from, out, words); };
  };
  return step;
}

}  // namespace thrt::cpu
