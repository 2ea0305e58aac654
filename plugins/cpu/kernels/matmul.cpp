// f32 matmul.
//
// Why not oneDNN: dnnl_primitive_execute of 2.6 makes six heap allocations in every call, which a launch may not, and
// dnnl_sgemm packs both operands whatever their size.
//
// Compiled with -ffp-contract=fast: a sum's error bound leaves room for fused multiply-adds.
#include "level.hpp"

#include "matmul_loops.hpp"

namespace thrt::cpu::THRT_CPU_LEVEL {
namespace {

struct MultiplyF32 {
  static Vector add(Vector sum, float a, Vector b) { return sum + a * b; }
  static Vector add(Vector sum, Vector a, Vector b) { return sum + a * b; }
};

}  // namespace

MatmulPlan plan_matmul(const MatmulShape& shape) {
  MatmulPlan plan = plan_loops(shape);
  plan.run = &run_loops<MultiplyF32>;
  return plan;
}

void add_rows(float* sum, const float* x, std::int64_t stride, std::int64_t rows, std::int64_t columns, bool first) {
  for (std::int64_t j = 0; j < columns; j += kLanes) {
    const std::int64_t width = smaller(columns - j, kLanes);
    Vector total = first ? Vector{} : load_first(sum + j, width);
    if (width == kLanes) {
      for (std::int64_t i = 0; i < rows; ++i) total += load(x + i * stride + j);
    } else {
      for (std::int64_t i = 0; i < rows; ++i) total += load_first(x + i * stride + j, width);
    }
    store_first(sum + j, total, width);
  }
}

}  // namespace thrt::cpu::THRT_CPU_LEVEL
