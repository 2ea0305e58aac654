// What a matmul becomes before it runs: which of the loops fits its shape, and how much workspace that takes. Made once
// at compile time, so that a launch decides nothing.
#pragma once

#include <cstdint>

namespace thrt::cpu {

// Row-major C [M, N] = A [M, K] * B [K, N] over `batch` matrices, each following the last one without a gap.
struct MatmulShape {
  std::int64_t batch, m, k, n;
  bool transpose_a;  // A is stored [K, M]
  bool transpose_b;  // B is stored [N, K]
};

// Rows [i0, i1) and columns [j0, j1) of C.
struct MatmulBlock {
  std::int64_t i0, i1, j0, j1;
};

// Called for parts of C as they become final, while they are still in the cache: each element once. `run` may be null.
struct MatmulEpilogue {
  void (*run)(const void* self, const MatmulBlock& block) = nullptr;
  const void* self = nullptr;
};

enum class MatmulLoop {
  kTiles,    // broadcast elements of A times vectors of B
  kSwapped,  // the same for C's transpose: vectors lie along M
  kDots,     // vectors lie along K, which is contiguous in both operands
};

struct MatmulPlan;

// One part of a plan's product, of the batch's first matrices. K may not be zero.
using MatmulFn = void (*)(const MatmulPlan& plan, const MatmulBlock& block, const float* a, const float* b, float* c,
                          void* workspace, const MatmulEpilogue& epilogue);

struct MatmulPlan {
  MatmulShape shape;
  MatmulFn run;
  MatmulLoop loop;
  // How C may be cut into parts that run at once: best along columns, else along rows; in multiples of so many. Neither
  // the cut nor the number of parts changes a bit of the result.
  bool cut_columns;
  std::int64_t row_multiple, column_multiple;
  double nanoseconds;       // on one thread, about
  std::uint64_t workspace;  // bytes, for one part; a multiple of 64
};

}  // namespace thrt::cpu
