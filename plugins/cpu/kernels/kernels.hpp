// The vectorised kernels. Each is compiled several times, for the instruction-set levels that x86-64 processors come
// in, and one set is chosen when a context opens. All levels give the same bits but for products and convolutions, where
// some fuse multiply and add.
#pragma once

#include "adam.hpp"
#include "convolution_block.hpp"
#include "matmul_plan.hpp"

#include <thrt/ir/ops.hpp>

#include <cstdint>

namespace thrt::cpu {

// out[i] = f(a[i], b[i], c[i]) for i in [0, n); pointers an op does not take are ignored. `out` may be one of the
// operands (the very same address), but may not overlap one otherwise.
using ElementwiseFn = void (*)(void* out, const void* a, const void* b, const void* c, std::int64_t n);

// Which operand of a two-operand op is one element, read again for every i. kRight also for the last operand of select.
enum class ScalarOperand { kNone, kLeft, kRight };

// Two or three f32 ops at once, with the bits of one after another.
enum class FusedOps {
  kAddTanh,       // tanh(a + b)
  kTanhGradient,  // a * (c[0] - b * b): what tanh's gradient is, given c[0] = 1
};

// Of `count` rows of `n` f32: each row's elements, or each column's with rows `stride` apart. Over nothing: 0 or -infinity.
using ReduceRowsFn = void (*)(float* out, const float* x, std::int64_t count, std::int64_t n);
using ReduceColumnsFn = void (*)(float* out, const float* x, std::int64_t count, std::int64_t n, std::int64_t stride);

// A longer run of f32 is cut into chunks of so many elements, whose results are joined in order, so that threads may
// share it without a change of its bits.
inline constexpr std::int64_t kReduceChunk = 4096;

struct Kernels {
  const char* level;    // "x86-64", "x86-64 avx2", "x86-64 avx512"
  std::uint32_t lanes;  // f32 lanes of a vector register

  // Null when there is no such kernel: a dtype the op does not take, or no scalar form of it. For select the first
  // dtype is that of the values. `to` counts for casts alone.
  ElementwiseFn (*elementwise)(ir::OpKind kind, ir::DType from, ir::DType to, ScalarOperand scalar);

  ElementwiseFn (*fused)(FusedOps ops);

  // accumulator = accumulator + sum of x[0, n), in an order that depends on n alone.
  void (*sum_run)(ir::DType dtype, void* accumulator, const void* x, std::int64_t n);
  void (*max_run)(ir::DType dtype, void* accumulator, const void* x, std::int64_t n);
  float (*sum_squares)(const float* x, std::int64_t n);  // the same bits as sum_run of the products
  ReduceRowsFn sum_rows, max_rows;                       // the same bits as sum_run and max_run of each row
  ReduceColumnsFn sum_columns, max_columns;

  // Elements [first, last) of the tensor.
  void (*adam)(const AdamTensor& tensor, std::int64_t first, std::int64_t last);

  MatmulPlan (*plan_matmul)(const MatmulShape& shape);
  // Of operands rounded to bf16, with f32 sums. Null on levels without; ask has_bf16 whether the processor runs it.
  MatmulPlan (*plan_matmul_bf16)(const MatmulShape& shape);
  // sum[j] += x[0][j] + ... + x[rows - 1][j], one row after another, rows of x being `stride` apart; `first` takes sum as
  // zero.
  void (*add_rows)(float* sum, const float* x, std::int64_t stride, std::int64_t rows, std::int64_t columns,
                   bool first);

  const ConvolutionKernels& (*convolution)();

  // The first n words of the stream, as philox.h defines them.
  void (*random_words)(const std::uint32_t state[4], std::uint32_t* out, std::int64_t n);
};

// Whether these kernels have those of bf16 and this processor the instructions they are made of.
bool has_bf16(const Kernels& kernels);

// The best level this processor has.
const Kernels& best_kernels();

// Every level this processor has, the simplest first. For tests.
struct KernelLevels {
  const Kernels* levels[3];
  int count;
};
KernelLevels usable_kernels();

}  // namespace thrt::cpu
