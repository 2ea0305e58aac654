// Matmul of f32 operands rounded to bf16, with f32 sums. Compiled for AVX-512 with BF16 alone, and called only where the
// processor has it.
//
// Two elements next to each other along K are rounded into one lane of 32 bits: operands become matrices of pairs, half
// as deep, stored the way they were, and the loops are those of f32. The instruction multiplies pairs and adds both
// products to an f32 lane; it takes denormals for zero and gives none.
#include "level.hpp"

#include "matmul_loops.hpp"

#include <immintrin.h>

namespace thrt::cpu::THRT_CPU_LEVEL {
namespace {

struct MultiplyBf16 {
  static Vector add(Vector sum, Vector a, Vector b) {
    return reinterpret_cast<Vector>(
        _mm512_dpbf16_ps(reinterpret_cast<__m512>(sum), reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b)));
  }
  static Vector add(Vector sum, float a, Vector b) { return add(sum, reinterpret_cast<Vector>(_mm512_set1_ps(a)), b); }
};

inline __mmask16 first_lanes(std::int64_t count) {
  return static_cast<__mmask16>(count >= kLanes ? 0xffffu : (1u << count) - 1u);
}

// Both halves of 16 lanes: low first.
inline __m512i pairs(__mmask16 mask, __m512 low, __m512 high) {
  const __m512i l = _mm512_maskz_cvtepu16_epi32(mask, reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(low)));
  const __m512i h = _mm512_maskz_cvtepu16_epi32(mask, reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(high)));
  return _mm512_or_si512(l, _mm512_maskz_slli_epi32(mask, h, 16));
}

// Rows [first, end) of a matrix whose rows are `k` long, along K: `depth` pairs each.
void round_along(const float* from, std::int64_t k, std::int64_t first, std::int64_t end, float* to) {
  const std::int64_t depth = (k + 1) / 2;
  for (std::int64_t i = first; i < end; ++i) {
    const float* row = from + i * k;
    auto* out = reinterpret_cast<std::uint16_t*>(to + i * depth);
    std::int64_t p = 0;
    for (; p + 2 * kLanes <= k; p += 2 * kLanes) {
      const __m512bh both = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(row + p + kLanes), _mm512_loadu_ps(row + p));
      _mm512_storeu_si512(out + p, reinterpret_cast<__m512i>(both));
    }
    for (; p < k; p += kLanes) {
      const auto rounded =
          reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(first_lanes(k - p), row + p)));
      // The second half of a last odd pair is a zero of the masked load.
      _mm256_mask_storeu_epi16(out + p, first_lanes(2 * depth - p), rounded);
    }
  }
}

// Columns [first, end) of a matrix of `k` rows, each `width` long: `depth` rows of pairs.
void round_across(const float* from, std::int64_t k, std::int64_t width, std::int64_t first, std::int64_t end,
                  float* to) {
  for (std::int64_t p = 0; p < k; p += 2) {
    const float* low = from + p * width;
    float* out = to + p / 2 * width;
    for (std::int64_t j = first; j < end; j += kLanes) {
      const __mmask16 mask = first_lanes(end - j);
      const __m512 high = p + 1 < k ? _mm512_maskz_loadu_ps(mask, low + width + j) : _mm512_setzero_ps();
      _mm512_mask_storeu_epi32(out + j, mask, pairs(mask, _mm512_maskz_loadu_ps(mask, low + j), high));
    }
  }
}

MatmulShape shape_of_pairs(MatmulShape shape) {
  shape.k = (shape.k + 1) / 2;
  return shape;
}

std::int64_t floats_of_a(const MatmulShape& pairs) {
  return round_up(pairs.m * pairs.k, kLanes);
}

void run_bf16(const MatmulPlan& plan, const MatmulBlock& block, const float* a, const float* b, float* c,
              void* workspace, const MatmulEpilogue& epilogue) {
  const MatmulShape& s = plan.shape;
  MatmulPlan of_pairs = plan;
  of_pairs.shape = shape_of_pairs(s);
  auto* a_pairs = static_cast<float*>(workspace);
  float* b_pairs = a_pairs + floats_of_a(of_pairs.shape);
  float* rest = b_pairs + round_up(of_pairs.shape.k * s.n, kLanes);
  if (s.transpose_a) {
    round_across(a, s.k, s.m, block.i0, block.i1, a_pairs);
  } else {
    round_along(a, s.k, block.i0, block.i1, a_pairs);
  }
  const bool turns_b = plan.loop == MatmulLoop::kDots && !s.transpose_b;  // all of B, whatever the block
  if (s.transpose_b) {
    round_along(b, s.k, block.j0, block.j1, b_pairs);
  } else {
    round_across(b, s.k, s.n, turns_b ? 0 : block.j0, turns_b ? s.n : block.j1, b_pairs);
  }
  run_loops<MultiplyBf16>(of_pairs, block, a_pairs, b_pairs, c, rest, epilogue);
}

}  // namespace

MatmulPlan plan_matmul_bf16(const MatmulShape& shape) {
  const MatmulShape of_pairs = shape_of_pairs(shape);
  MatmulPlan plan = plan_loops(of_pairs);
  plan.shape = shape;
  plan.run = &run_bf16;
  const std::int64_t floats = floats_of_a(of_pairs) + round_up(of_pairs.k * of_pairs.n, kLanes);
  plan.workspace += static_cast<std::uint64_t>(floats) * sizeof(float);
  // To round an element takes about a quarter of a cycle.
  plan.nanoseconds += 0.1 * static_cast<double>(shape.batch * (shape.m * shape.k + shape.k * shape.n));
  return plan;
}

}  // namespace thrt::cpu::THRT_CPU_LEVEL
