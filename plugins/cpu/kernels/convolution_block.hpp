// What convolutions are made of: many small matrix products whose left side is read where it lies, and the few passes
// over an image that go before and after them. An image here is [pixels, channels], channels last.
#pragma once

#include <cstdint>

namespace thrt::cpu {

// For each o in [0, outer), with A = a + o * a_outer and C = c + o * c_outer, all in elements:
//
//   C[i * c_row + j] = sum over chunks t, depths k of A[chunk[t] + i * a_row + k * a_depth] * B[(t * depth + k) * b_row + j]
//
// for i in [0, rows), j in [0, columns). One of a_row and a_depth is 1. columns is a multiple of the level's lanes. C
// overlaps nothing that is read.
struct ConvolutionBlock {
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
  std::int64_t rows = 0, columns = 0, depth = 0, chunks = 1, outer = 1;
  std::int64_t a_row = 1, a_depth = 1, a_outer = 0;
  std::int64_t b_row = 0;
  std::int64_t c_row = 0, c_outer = 0;
  const std::int64_t* chunk = nullptr;
  bool accumulate = false;      // what lies in C is a term of the sum
  const float* bias = nullptr;  // [columns]: another term, or null
  bool relu = false;            // at last, what is not above 0, NaN too, becomes 0
};

struct ConvolutionKernels {
  void (*block)(const ConvolutionBlock& block);
  // The same of pairs of bf16 in place of floats, each product being the sum of two, in f32. Null where the processor
  // has no instruction for it.
  void (*block_bf16)(const ConvolutionBlock& block);

  // to[j * to_row + i] = from[i * from_row + j] for i in [0, rows), j in [0, columns); elements of four bytes.
  void (*transpose)(float* to, std::int64_t to_row, const float* from, std::int64_t from_row, std::int64_t rows,
                    std::int64_t columns);
  // x[i] = condition[i] > 0 ? x[i] : 0
  void (*keep_positive)(float* x, const float* condition, std::int64_t n);
  // sum[j] += x[i * row + j], for i in [0, rows), j in [0, columns)
  void (*add_pixels)(float* sum, const float* x, std::int64_t row, std::int64_t rows, std::int64_t columns);
  // to[i] = from[i] * scale
  void (*scale_u8)(float* to, const std::uint8_t* from, float scale, std::int64_t n);

  // Null together with block_bf16. Rounded to nearest even.
  void (*round_bf16)(std::uint16_t* to, const float* from, std::int64_t n);
  // to[2 i] = first[i], to[2 i + 1] = second[i], or 0 where second is null
  void (*pair_bf16)(std::uint16_t* to, const float* first, const float* second, std::int64_t n);
};

}  // namespace thrt::cpu
