// matmul and random_bits: the ops that are one call of a kernel.
#include "lower.hpp"
#include "matmul_cut.hpp"

#include <cstring>

namespace thrt::cpu {

MatmulShape matmul_shape(const sdk::OpView& op) {
  const ir::Type a = op.operand_type(0), to = op.result_type();
  const int rank = to.shape.rank();
  MatmulShape shape{};
  shape.transpose_a = op.attribute(0) == 1;
  shape.transpose_b = op.attribute(1) == 1;
  shape.m = to.shape[rank - 2];
  shape.n = to.shape[rank - 1];
  shape.k = a.shape[shape.transpose_a ? rank - 2 : rank - 1];
  shape.batch = shape.m * shape.n == 0 ? 0 : to.elements() / (shape.m * shape.n);
  return shape;
}

MatmulPlan plan_product(const MatmulShape& shape, const CompileSettings& settings) {
  const bool bf16 = settings.precision == THRT_PRECISION_BF16;
  return bf16 ? settings.kernels->plan_matmul_bf16(shape) : settings.kernels->plan_matmul(shape);
}

Step lower_matmul(const sdk::OpView& op, const CompileSettings& settings) {
  Step step = step_of(op);
  const MatmulShape shape = matmul_shape(op);
  if (op.result_type().elements() == 0) return step;
  if (shape.k == 0) {
    step.bind = [bytes = op.result_type().bytes(), result = op.result()](const Addresses& addresses,
                                                                         std::byte*) -> Task {
      return [bytes, out = addresses.of(result)] { std::memset(out, 0, bytes); };
    };
    return step;
  }
  const MatmulCut cut = cut_matmul(plan_product(shape, settings), settings.threads);
  step.memory.scratch_bytes = cut.scratch_bytes();
  step.parts = static_cast<std::uint32_t>(cut.blocks.size());
  step.cost = cut.plan.nanoseconds;
  step.bind = [cut, x = op.operand(0), y = op.operand(1), result = op.result()](const Addresses& addresses,
                                                                                std::byte* scratch) {
    const auto* a = reinterpret_cast<const float*>(addresses.of(x));
    const auto* b = reinterpret_cast<const float*>(addresses.of(y));
    auto* c = reinterpret_cast<float*>(addresses.of(result));
    Work work;
    for (std::size_t part = 0; part < cut.blocks.size(); ++part) {
      work.parts.emplace_back([plan = cut.plan, block = cut.blocks[part], a, b, c,
                               workspace = scratch + part * cut.plan.workspace] {
        const MatmulShape& s = plan.shape;
        for (std::int64_t i = 0; i < s.batch; ++i) {
          plan.run(plan, block, a + i * s.m * s.k, b + i * s.k * s.n, c + i * s.m * s.n, workspace, MatmulEpilogue{});
        }
      });
    }
    return work;
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
