// The kernels of convolutions on operands rounded to bf16, with f32 sums. Compiled for AVX-512 with BF16 alone, and
// called only where the processor has it.
//
// The instruction multiplies pairs, adds both products to an f32 lane, takes denormals for zero and gives none.
#include "level.hpp"

#include "convolution_tile.hpp"

#include <immintrin.h>

namespace thrt::cpu::THRT_CPU_LEVEL {
namespace {

struct Bf16Pairs {
  static Vector add(Vector sum, float a, Vector b) {
    // Loaded and stored as what may lie anywhere: cast, GCC 12 takes a Vector in memory for aligned.
    const auto spread = reinterpret_cast<__m512bh>(_mm512_set1_ps(a));
    const auto column = reinterpret_cast<__m512bh>(_mm512_loadu_ps(reinterpret_cast<const float*>(&b)));
    const __m512 before = _mm512_loadu_ps(reinterpret_cast<const float*>(&sum));
    Vector after;
    _mm512_storeu_ps(reinterpret_cast<float*>(&after), _mm512_dpbf16_ps(before, spread, column));
    return after;
  }
};

inline __mmask16 first(std::int64_t lanes) {
  return static_cast<__mmask16>(lanes >= 16 ? 0xffffu : (1u << lanes) - 1u);
}

inline __m256i rounded(__mmask16 mask, const float* from) {
  return reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, from)));
}

}  // namespace

void convolution_block_bf16(const ConvolutionBlock& block) {
  run_block<Bf16Pairs>(block);
}

void round_bf16(std::uint16_t* to, const float* from, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += 16) {
    const __mmask16 mask = first(n - i);
    _mm256_mask_storeu_epi16(to + i, mask, rounded(mask, from + i));
  }
}

void pair_bf16(std::uint16_t* to, const float* first_half, const float* second_half, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += 16) {
    const __mmask16 mask = first(n - i);
    __m512i pair = _mm512_maskz_cvtepu16_epi32(mask, rounded(mask, first_half + i));
    if (second_half != nullptr) {
      const __m512i high = _mm512_maskz_cvtepu16_epi32(mask, rounded(mask, second_half + i));
      pair = _mm512_or_si512(pair, _mm512_maskz_slli_epi32(mask, high, 16));
    }
    _mm512_mask_storeu_epi32(to + 2 * i, mask, pair);
  }
}

}  // namespace thrt::cpu::THRT_CPU_LEVEL
