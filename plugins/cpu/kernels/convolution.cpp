// The kernels of convolutions in f32. See convolution_block.hpp for what they compute, and convolution_step.cpp for how
// the three convolutions are made of them.
//
// Why not oneDNN: dnnl_primitive_execute of 2.6 allocates in every call, and it brings threads of its own. On the shapes of
// Mnih et al. 2015 these take 0.9 to 1.1 times as long (Zen 4, AVX-512): 102 to 117 GFLOP/s of 118 that a core can do.
//
// This file is compiled with -ffp-contract=fast: a sum's error bound leaves room for fused multiply-adds.
#include "level.hpp"

#include "convolution_tile.hpp"

#include <cstring>

namespace thrt::cpu::THRT_CPU_LEVEL {

#if defined(__AVX512F__)
// convolution_bf16.cpp
void convolution_block_bf16(const ConvolutionBlock& block);
void round_bf16(std::uint16_t* to, const float* from, std::int64_t n);
void pair_bf16(std::uint16_t* to, const float* first, const float* second, std::int64_t n);
#endif

namespace {

struct F32 {
  static Vector add(Vector sum, float a, Vector b) { return sum + a * b; }
};

// Four elements of each of four rows at a time.
typedef float Quad __attribute__((vector_size(16), aligned(4), may_alias));

inline Quad load_quad(const float* p) {
  return *reinterpret_cast<const Quad*>(p);
}

void transpose_one_by_one(float* to, std::int64_t to_row, const float* from, std::int64_t from_row, std::int64_t rows,
                          std::int64_t columns) {
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t i = 0; i < rows; ++i) to[j * to_row + i] = from[i * from_row + j];
  }
}

// Four by four at `from`, to `out`.
inline void transpose_quads(float* out, std::int64_t to_row, const float* at, std::int64_t from_row) {
  const Quad a = load_quad(at), b = load_quad(at + from_row), c = load_quad(at + 2 * from_row),
             d = load_quad(at + 3 * from_row);
  const Quad ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Quad cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  *reinterpret_cast<Quad*>(out) = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
  *reinterpret_cast<Quad*>(out + to_row) = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
  *reinterpret_cast<Quad*>(out + 2 * to_row) = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
  *reinterpret_cast<Quad*>(out + 3 * to_row) = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}

void transpose(float* to, std::int64_t to_row, const float* from, std::int64_t from_row, std::int64_t rows,
               std::int64_t columns) {
  const std::int64_t whole_rows = rows - rows % 4, whole_columns = columns - columns % 4;
  // Sixteen rows at a time: a line of the result is written whole before the next, for many rows of a filter lie in one
  // set of the cache.
  constexpr std::int64_t kLine = 16;
  for (std::int64_t first = 0; first < whole_rows; first += kLine) {
    const std::int64_t last = first + kLine < whole_rows ? first + kLine : whole_rows;
    for (std::int64_t j = 0; j < whole_columns; j += 4) {
      for (std::int64_t i = first; i < last; i += 4) {
        transpose_quads(to + j * to_row + i, to_row, from + i * from_row + j, from_row);
      }
    }
  }
  if (whole_columns < columns) {
    transpose_one_by_one(to + whole_columns * to_row, to_row, from + whole_columns, from_row, whole_rows,
                         columns - whole_columns);
  }
  if (whole_rows < rows) {
    transpose_one_by_one(to + whole_rows, to_row, from + whole_rows * from_row, from_row, rows - whole_rows, columns);
  }
}

void keep_positive(float* x, const float* condition, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = condition[i] > 0.0f ? x[i] : 0.0f;
}

void add_pixels(float* sum, const float* x, std::int64_t row, std::int64_t rows, std::int64_t columns) {
  std::int64_t j = 0;
  for (; j + kLanes <= columns; j += kLanes) {
    // Four sums: one alone would wait for each addition.
    Vector total[4] = {};
    std::int64_t i = 0;
    for (; i + 4 <= rows; i += 4) {
      THRT_UNROLL for (int t = 0; t < 4; ++t) total[t] += load(x + (i + t) * row + j);
    }
    for (; i < rows; ++i) total[0] += load(x + i * row + j);
    store(sum + j, load(sum + j) + ((total[0] + total[1]) + (total[2] + total[3])));
  }
  for (; j < columns; ++j) {
    float total = 0.0f;
    for (std::int64_t i = 0; i < rows; ++i) total += x[i * row + j];
    sum[j] += total;
  }
}

void scale_u8(float* to, const std::uint8_t* from, float scale, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]) * scale;
}

#if defined(__AVX512F__)
bool has_bf16() {
  return __builtin_cpu_supports("avx512bf16") != 0;
}
#endif

}  // namespace

const ConvolutionKernels& convolution_kernels() {
  static const ConvolutionKernels kernels = [] {
    ConvolutionKernels all = {&run_block<F32>, nullptr,   &transpose, &keep_positive,
                              &add_pixels,     &scale_u8, nullptr,    nullptr};
#if defined(__AVX512F__)
    if (has_bf16()) {
      all.block_bf16 = &convolution_block_bf16;
      all.round_bf16 = &round_bf16;
      all.pair_bf16 = &pair_bf16;
    }
#endif
    return all;
  }();
  return kernels;
}

}  // namespace thrt::cpu::THRT_CPU_LEVEL
