// f32 matmul. Register tiles of kRows rows by one or two vectors of columns; columns that are strided, or that do not
// fill a vector, are first packed into panels, zero beyond the edge, in a workspace the caller planned.
//
// Why not oneDNN: dnnl_primitive_execute of 2.6 makes six heap allocations in every call, which a launch may not. On one core
// with AVX-512 (Zen 4) this takes between 0.2 and 1.1 times as long for narrow or short matrices, and 1.0 to 1.2 times as long for large
// ones; slowest against it where B is transposed and M is small (packing shows) and where K is 2 or 4.
//
// This file is compiled with -ffp-contract=fast: a sum's error bound leaves room for fused multiply-adds.
//
// Three shapes of loop, by size alone:
//   narrow, N < kLanes / 2 and M > N (policy and value heads)
//       A stored [M, K] and K >= 2 kLanes: dot products along K
//       A stored [K, M]: rows of A are vectors along M, so C's transpose is computed
//   tiled, everything else
#include "level.hpp"

namespace thrt::cpu::THRT_CPU_LEVEL {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16, kRows = 12;  // 24 accumulators of 32 registers
#elif defined(__AVX2__)
constexpr int kLanes = 8, kRows = 6;  // 12 accumulators of 16 registers
#else
constexpr int kLanes = 4, kRows = 6;
#endif

typedef float Vector __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));

constexpr std::int64_t kDepth =
    256;  // K in one pass: a panel of 2 vectors by 256 stays in the first-level cache's reach
constexpr std::int64_t kColumns = 512;  // N in one pass: 512 x 256 floats are half a megabyte of second-level cache
constexpr int kPanel = 2 * kLanes;
constexpr std::int64_t kUnpackedStride = 512;  // rows of B further apart than this share cache sets and pages badly

inline Vector load(const float* p) {
  return *reinterpret_cast<const Vector*>(p);
}
inline void store(float* p, Vector v) {
  *reinterpret_cast<Vector*>(p) = v;
}

struct Strides {
  std::int64_t row, column;
};

// C[rows x columns] (+)= A * B, B being kVectors vectors wide with `step` between its rows. Columns of C beyond
// `columns` are not touched.
template <int kHeight, int kVectors>
void tile(std::int64_t depth, const float* a, Strides sa, const float* b, std::int64_t step, float* c, Strides sc,
          std::int64_t columns, bool accumulate) {
  Vector sum[kHeight][kVectors] = {};
  for (std::int64_t k = 0; k < depth; ++k) {
    Vector column[kVectors];
    for (int v = 0; v < kVectors; ++v) column[v] = load(b + k * step + v * kLanes);
    for (int r = 0; r < kHeight; ++r) {
      const float scalar = a[r * sa.row + k * sa.column];
      for (int v = 0; v < kVectors; ++v) sum[r][v] += scalar * column[v];
    }
  }
  const bool whole = columns == kVectors * kLanes && sc.column == 1;
  for (int r = 0; r < kHeight; ++r) {
    float* row = c + r * sc.row;
    if (whole) {
      for (int v = 0; v < kVectors; ++v) {
        store(row + v * kLanes, accumulate ? load(row + v * kLanes) + sum[r][v] : sum[r][v]);
      }
      continue;
    }
    float edge[kVectors * kLanes];
    for (int v = 0; v < kVectors; ++v) store(edge + v * kLanes, sum[r][v]);
    for (std::int64_t j = 0; j < columns; ++j) {
      float& element = row[j * sc.column];
      element = accumulate ? element + edge[j] : edge[j];
    }
  }
}

template <int kVectors>
void tile_rows(int rows, std::int64_t depth, const float* a, Strides sa, const float* b, std::int64_t step, float* c,
               Strides sc, std::int64_t columns, bool accumulate) {
  switch (rows) {
#define THRT_ROWS(R)                                                      \
  case R:                                                                 \
    tile<R, kVectors>(depth, a, sa, b, step, c, sc, columns, accumulate); \
    return;
    THRT_ROWS(1)
    THRT_ROWS(2)
    THRT_ROWS(3)
    THRT_ROWS(4)
    THRT_ROWS(5)
    THRT_ROWS(6)
#if defined(__AVX512F__)
    THRT_ROWS(7)
    THRT_ROWS(8)
    THRT_ROWS(9)
    THRT_ROWS(10)
    THRT_ROWS(11)
    THRT_ROWS(12)
#endif
#undef THRT_ROWS
    default:
      return;
  }
}

// depth x columns of B into a panel whose rows are `width` long, zero beyond `columns`.
void pack(const float* b, Strides sb, std::int64_t depth, std::int64_t columns, int width, float* panel) {
  if (sb.column == 1) {
    for (std::int64_t k = 0; k < depth; ++k) {
      const float* from = b + k * sb.row;
      float* to = panel + k * width;
      for (std::int64_t j = 0; j < columns; ++j) to[j] = from[j];
      for (std::int64_t j = columns; j < width; ++j) to[j] = 0.0f;
    }
    return;
  }
  for (std::int64_t j = 0; j < columns; ++j) {
    const float* from = b + j * sb.column;
    for (std::int64_t k = 0; k < depth; ++k) panel[k * width + j] = from[k * sb.row];
  }
  for (std::int64_t j = columns; j < width; ++j) {
    for (std::int64_t k = 0; k < depth; ++k) panel[k * width + j] = 0.0f;
  }
}

inline bool reads_in_place(Strides sb, std::int64_t columns, int width) {
  return sb.column == 1 && columns == width && sb.row <= kUnpackedStride;
}

void tiled(std::int64_t m, std::int64_t depth_all, std::int64_t n, const float* a, Strides sa, const float* b,
           Strides sb, float* c, Strides sc, float* workspace) {
  struct Panel {
    const float* rows;
    std::int64_t step, first, columns;
    int vectors;
  };
  Panel panels[kColumns / kPanel + 1];
  for (std::int64_t n0 = 0; n0 < n; n0 += kColumns) {
    const std::int64_t n1 = n0 + kColumns < n ? n0 + kColumns : n;
    for (std::int64_t k0 = 0; k0 < depth_all; k0 += kDepth) {
      const std::int64_t depth = k0 + kDepth < depth_all ? kDepth : depth_all - k0;
      int count = 0;
      float* free = workspace;
      for (std::int64_t j = n0; j < n1; j += kPanel) {
        const std::int64_t columns = j + kPanel < n1 ? kPanel : n1 - j;
        const int vectors = columns > kLanes ? 2 : 1;
        const int width = vectors * kLanes;
        const float* from = b + k0 * sb.row + j * sb.column;
        if (reads_in_place(sb, columns, width)) {
          panels[count++] = Panel{from, sb.row, j, columns, vectors};
        } else {
          pack(from, sb, depth, columns, width, free);
          panels[count++] = Panel{free, width, j, columns, vectors};
          free += depth * width;
        }
      }
      for (std::int64_t i = 0; i < m;) {
        const std::int64_t left = m - i;
        // Two even tiles instead of a full one and a sliver.
        const int rows = static_cast<int>(left >= 2 * kRows || left == kRows ? kRows
                                          : left > kRows                     ? (left + 1) / 2
                                                                             : left);
        for (int p = 0; p < count; ++p) {
          const Panel& panel = panels[p];
          const float* a_tile = a + i * sa.row + k0 * sa.column;
          float* c_tile = c + i * sc.row + panel.first * sc.column;
          const auto run = panel.vectors == 2 ? &tile_rows<2> : &tile_rows<1>;
          run(rows, depth, a_tile, sa, panel.rows, panel.step, c_tile, sc, panel.columns, k0 > 0);
        }
        i += rows;
      }
    }
  }
}

inline float sum_of(Vector v) {
  float lanes[kLanes];
  store(lanes, v);
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}

// Rows of A and columns of B (given as `b`, N rows of K) are both contiguous along K: one dot product each, four rows
// of A together so that their sums overlap.
void dots(std::int64_t m, std::int64_t depth, std::int64_t n, const float* a, const float* b, float* c) {
  const std::int64_t whole = depth - depth % kLanes;
  for (std::int64_t i = 0; i < m; i += 4) {
    const int rows = static_cast<int>(m - i < 4 ? m - i : 4);
    const float* row[4];
    for (int r = 0; r < 4; ++r) row[r] = a + (i + (r < rows ? r : 0)) * depth;
    for (std::int64_t j = 0; j < n; ++j) {
      const float* other = b + j * depth;
      Vector s0 = {}, s1 = {}, s2 = {}, s3 = {};
      for (std::int64_t k = 0; k < whole; k += kLanes) {
        const Vector y = load(other + k);
        s0 += load(row[0] + k) * y;
        s1 += load(row[1] + k) * y;
        s2 += load(row[2] + k) * y;
        s3 += load(row[3] + k) * y;
      }
      float sums[4] = {sum_of(s0), sum_of(s1), sum_of(s2), sum_of(s3)};
      for (std::int64_t k = whole; k < depth; ++k) {
        for (int r = 0; r < 4; ++r) sums[r] += row[r][k] * other[k];
      }
      for (int r = 0; r < rows; ++r) c[(i + r) * n + j] = sums[r];
    }
  }
}

inline bool is_narrow(const MatmulShape& shape) {
  return shape.n < kLanes / 2 && shape.m > shape.n;
}
inline bool uses_dots(const MatmulShape& shape) {
  return is_narrow(shape) && !shape.transpose_a && shape.k >= 2 * kLanes;
}
inline bool computes_transpose(const MatmulShape& shape) {
  return is_narrow(shape) && shape.transpose_a;
}

inline std::int64_t panel_floats(std::int64_t k, std::int64_t n) {
  const std::int64_t depth = k < kDepth ? k : kDepth;
  const std::int64_t columns = n < kColumns ? n : kColumns;
  return depth * ((columns + kPanel - 1) / kPanel * kPanel);
}

void one(const MatmulShape& shape, const float* a, const float* b, float* c, float* workspace) {
  const Strides sa = shape.transpose_a ? Strides{1, shape.m} : Strides{shape.k, 1};
  const Strides sb = shape.transpose_b ? Strides{1, shape.k} : Strides{shape.n, 1};
  if (uses_dots(shape)) {
    const float* rows = b;
    if (!shape.transpose_b) {
      for (std::int64_t j = 0; j < shape.n; ++j) {
        for (std::int64_t k = 0; k < shape.k; ++k) workspace[j * shape.k + k] = b[k * shape.n + j];
      }
      rows = workspace;
    }
    dots(shape.m, shape.k, shape.n, a, rows, c);
  } else if (computes_transpose(shape)) {
    tiled(shape.n, shape.k, shape.m, b, Strides{sb.column, sb.row}, a, Strides{sa.column, sa.row}, c,
          Strides{1, shape.n}, workspace);
  } else {
    tiled(shape.m, shape.k, shape.n, a, sa, b, sb, c, Strides{shape.n, 1}, workspace);
  }
}

}  // namespace

std::uint64_t matmul_workspace(const MatmulShape& shape) {
  std::int64_t floats = panel_floats(shape.k, computes_transpose(shape) ? shape.m : shape.n);
  if (uses_dots(shape)) floats = shape.transpose_b ? 0 : shape.k * shape.n;
  return (static_cast<std::uint64_t>(floats) * sizeof(float) + 63) / 64 * 64;
}

void matmul(const MatmulShape& shape, const float* a, const float* b, float* c, void* workspace) {
  for (std::int64_t i = 0; i < shape.batch; ++i) {
    one(shape, a + i * shape.m * shape.k, b + i * shape.k * shape.n, c + i * shape.m * shape.n,
        static_cast<float*>(workspace));
  }
}

}  // namespace thrt::cpu::THRT_CPU_LEVEL
