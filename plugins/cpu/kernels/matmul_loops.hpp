// The loops of a product, over any way to multiply (see matmul_tile.hpp), and which of them fits a shape. Included once by
// each file that makes kernels of them.
//
// Three loops, by shape alone:
//   kDots     vectors along K: both operands contiguous along it, and few rows or few columns (policy and value heads,
//             gradients by the input for a few rows)
//   kSwapped  vectors along M: C's transpose is computed, tile by tile, and turned when it is stored. For a narrow C
//             with A stored [K, M], and for a big transposed B, which would otherwise be turned whole
//   kTiles    vectors along N: everything else
//
// An element's sum is taken in an order that depends on the shape alone, not on where its tile lies: first over runs of
// kDepth, then over these. The number of threads and the cut into parts change no bit.
#pragma once

#include "matmul_plan.hpp"
#include "matmul_tile.hpp"

namespace {

using thrt::cpu::MatmulBlock;
using thrt::cpu::MatmulEpilogue;
using thrt::cpu::MatmulLoop;
using thrt::cpu::MatmulPlan;
using thrt::cpu::MatmulShape;

// K and N in one pass: what a strip of A needs of B, and the strip, stay in the second-level cache.
constexpr std::int64_t kDepth = 512;
constexpr std::int64_t kColumns = 512;
constexpr std::int64_t kStrip = 48;     // rows of C between two epilogues; a multiple of all tile heights but 10
constexpr std::int64_t kFarRows = 512;  // rows of B this far apart and more share cache sets and pages badly
constexpr std::int64_t kPackedFor = kHasMasks ? 1024 : 96;  // rows of C that make it worth to pack these
// A strip of A stored [K, M] is copied in rows, each of which is a cache line or so for a tile; or turned, if these lines
// would fill the first-level cache.
constexpr std::int64_t kTurnedDepth = 256;
constexpr std::int64_t kPackedRow = kDepth + 16;  // of a strip of A; a power of two would share cache sets
constexpr int kPanel = kMaxVectors * kLanes;

struct Matrix {
  const float* data;
  std::int64_t row, column;  // strides
};

// How C = A * B is walked; for kSwapped everything but `store_turned` speaks of C's transpose.
struct Walk {
  std::int64_t k;
  Matrix a, b;
  float* c;
  std::int64_t c_row;
  bool store_turned;
  bool pack_a, pack_b;
  bool few_rows;  // fewer than kSumsInFlight
  float* workspace;
};

struct Panel {
  const float* rows;
  std::int64_t step, first, columns;
  int vectors;
};

inline std::int64_t smaller(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}
inline std::int64_t round_up(std::int64_t n, std::int64_t to) {
  return (n + to - 1) / to * to;
}

// depth x columns of B into rows of `width`, zero beyond `columns`.
inline void pack(const Matrix& b, std::int64_t depth, std::int64_t columns, std::int64_t width, float* panel) {
  if (b.column != 1) {
    transpose_copy<true>(b.data, b.column, columns, depth, panel, width);
    return;
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    const float* from = b.data + k * b.row;
    float* to = panel + k * width;
    std::int64_t j = 0;
    for (; j + kLanes <= columns; j += kLanes) store(to + j, load(from + j));
    if (j < columns) store(to + j, load_first(from + j, columns - j));
  }
}

// C[j][i] (+)= tile[i][j], the tile's rows being kPanel apart.
inline void store_turned(const float* tile, std::int64_t rows, std::int64_t columns, float* c, std::int64_t c_row,
                         bool accumulate) {
  if (rows < 4) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        float& to = c[j * c_row + i];
        to = accumulate ? to + tile[i * kPanel + j] : tile[i * kPanel + j];
      }
    }
    return;
  }
  for (std::int64_t i = 0; i < rows; i += kLanes) {
    const std::int64_t height = smaller(rows - i, kLanes);
    for (std::int64_t j = 0; j < columns; j += kLanes) {
      const std::int64_t width = smaller(columns - j, kLanes);
      Vector block[kLanes];
      for (int r = 0; r < kLanes; ++r) block[r] = r < height ? load(tile + (i + r) * kPanel + j) : Vector{};
      transpose(block);
      for (int r = 0; r < width; ++r) {
        float* to = c + (j + r) * c_row + i;
        if (height == kLanes) {
          store(to, accumulate ? load(to) + block[r] : block[r]);
        } else {
          store_first(to, accumulate ? load_first(to, height) + block[r] : block[r], height);
        }
      }
    }
  }
}

// The panels of B's columns [n0, n1) for k in [k0, k0 + depth); packs those that cannot be read where they are.
inline int make_panels(const Walk& walk, std::int64_t k0, std::int64_t depth, std::int64_t n0, std::int64_t n1,
                       Panel* panels, float* free) {
  int count = 0;
  for (std::int64_t j = n0; j < n1; j += kPanel) {
    const std::int64_t columns = smaller(n1 - j, kPanel);
    const auto vectors = static_cast<int>((columns + kLanes - 1) / kLanes);
    const std::int64_t width = vectors * kLanes;
    const Matrix from = {walk.b.data + k0 * walk.b.row + j * walk.b.column, walk.b.row, walk.b.column};
    if (!walk.pack_b && (kHasMasks || columns == width)) {
      panels[count++] = Panel{from.data, from.row, j, columns, vectors};
    } else {
      pack(from, depth, columns, width, free);
      panels[count++] = Panel{free, width, j, columns, vectors};
      free += depth * width;
    }
  }
  return count;
}

// One panel against rows [i0, i1), in tiles of as even a height as can be.
template <class Multiply>
void run_panel(const Walk& walk, const Matrix& a, std::int64_t depth, const Panel& panel, std::int64_t i0,
               std::int64_t i1, bool accumulate) {
  const std::int64_t last = panel.columns - (panel.vectors - 1) * kLanes;
  const int edge = last == kLanes ? 0 : 1;
  const bool far = panel.step >= kFarRows && panel.vectors == kMaxVectors && edge == 0;
  const TileRow& tiles = walk.few_rows ? Tiles<Multiply>::kFewRows[edge][panel.vectors - 1]
                         : far         ? Tiles<Multiply>::kFar
                                       : Tiles<Multiply>::kAll[edge][panel.vectors - 1];
  alignas(64) float turned[kTallest * kPanel];
  TileArguments t{depth,
                  a.data,
                  a.row,
                  a.column,
                  panel.rows,
                  panel.step,
                  walk.store_turned ? turned : walk.c + i0 * walk.c_row + panel.first,
                  walk.store_turned ? kPanel : walk.c_row,
                  last,
                  accumulate && !walk.store_turned};
  const std::int64_t rows = i1 - i0;
  const std::int64_t count = (rows + kMaxRows[panel.vectors] - 1) / kMaxRows[panel.vectors];
  const std::int64_t height = rows / count, higher = rows % count;
  std::int64_t i = i0;
  for (std::int64_t each = 0; each < count; ++each) {
    const std::int64_t h = each < higher ? height + 1 : height;
    tiles.rows[h](t);
    t.a += h * a.row;
    if (walk.store_turned) {
      store_turned(turned, h, panel.columns, walk.c + panel.first * walk.c_row + i, walk.c_row, accumulate);
    } else {
      t.c += h * walk.c_row;
    }
    i += h;
  }
}

template <class Multiply>
void tiles(const Walk& walk, const MatmulBlock& block, const MatmulEpilogue& epilogue) {
  Panel panels[kColumns / kPanel + 1];
  for (std::int64_t n0 = block.j0; n0 < block.j1; n0 += kColumns) {
    const std::int64_t n1 = smaller(n0 + kColumns, block.j1);
    for (std::int64_t k0 = 0; k0 < walk.k; k0 += kDepth) {
      const std::int64_t depth = smaller(walk.k - k0, kDepth);
      float* packed_a = walk.workspace;
      const int count =
          make_panels(walk, k0, depth, n0, n1, panels, walk.workspace + (walk.pack_a ? kStrip * kPackedRow : 0));
      for (std::int64_t i0 = block.i0; i0 < block.i1; i0 += kStrip) {
        const std::int64_t i1 = smaller(i0 + kStrip, block.i1);
        Matrix a = {walk.a.data + i0 * walk.a.row + k0 * walk.a.column, walk.a.row, walk.a.column};
        if (walk.pack_a) {
          if (depth > kTurnedDepth) {
            transpose_copy<false>(a.data, a.column, depth, i1 - i0, packed_a, kPackedRow);
            a = {packed_a, kPackedRow, 1};
          } else {
            pack(Matrix{a.data, a.column, a.row}, depth, i1 - i0, kStrip, packed_a);
            a = {packed_a, 1, kStrip};
          }
        }
        for (int p = 0; p < count; ++p) run_panel<Multiply>(walk, a, depth, panels[p], i0, i1, k0 > 0);
        if (epilogue.run != nullptr && k0 + depth == walk.k) {
          epilogue.run(epilogue.self, walk.store_turned ? MatmulBlock{n0, n1, i0, i1} : MatmulBlock{i0, i1, n0, n1});
        }
      }
    }
  }
}

// kRows rows of A by kColumnsAtOnce rows of B (that is, columns of the product), all contiguous along K. Rows past the
// edge repeat the last one; their sums are dropped.
template <class Multiply, int kRows, int kColumnsAtOnce>
void dot_tile(const float* const* a, const float* const* b, std::int64_t depth, float* sums) {
  static_assert(kRows * kColumnsAtOnce <= kLanes);
  Vector sum[kLanes] = {};
  std::int64_t k = 0;
  const auto step = [&](const auto& read) {
    Vector column[kColumnsAtOnce];
#pragma GCC unroll 16
    for (int j = 0; j < kColumnsAtOnce; ++j) column[j] = read(b[j] + k);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const Vector row = read(a[i] + k);
#pragma GCC unroll 16
      for (int j = 0; j < kColumnsAtOnce; ++j)
        sum[i * kColumnsAtOnce + j] = Multiply::add(sum[i * kColumnsAtOnce + j], row, column[j]);
    }
  };
  for (; k + kLanes <= depth; k += kLanes) step([](const float* p) { return load(p); });
  if (k < depth) step([left = depth - k](const float* p) { return load_first(p, left); });
  store(sums, sums_of(sum));
}

using DotFn = void (*)(const float* const* a, const float* const* b, std::int64_t depth, float* sums);
struct DotTile {
  int rows, columns;
  DotFn run;
};
#define THRT_DOT(R, C) \
  { R, C, &dot_tile<Multiply, R, C> }
template <class Multiply>
constexpr DotTile kDotTiles[] = {
#if defined(__AVX512F__)
    THRT_DOT(16, 1), THRT_DOT(8, 2), THRT_DOT(5, 3), THRT_DOT(4, 4), THRT_DOT(3, 5), THRT_DOT(2, 8), THRT_DOT(1, 16),
#elif defined(__AVX2__)
    THRT_DOT(8, 1), THRT_DOT(4, 2), THRT_DOT(2, 3), THRT_DOT(2, 4), THRT_DOT(1, 8),
#else
    THRT_DOT(4, 1),
    THRT_DOT(2, 2),
    THRT_DOT(1, 4),
#endif
};
#undef THRT_DOT

inline std::int64_t tiles_needed(const DotTile& tile, std::int64_t m, std::int64_t n) {
  return (m + tile.rows - 1) / tile.rows * ((n + tile.columns - 1) / tile.columns);
}

// The one that needs the fewest.
template <class Multiply>
const DotTile& dot_tile_for(std::int64_t m, std::int64_t n) {
  const DotTile* best = &kDotTiles<Multiply>[0];
  for (const DotTile& tile : kDotTiles<Multiply>) {
    const std::int64_t needed = tiles_needed(tile, m, n), least = tiles_needed(*best, m, n);
    if (needed < least || (needed == least && tile.rows + tile.columns < best->rows + best->columns)) best = &tile;
  }
  return *best;
}

// `b` holds N rows of K.
template <class Multiply>
void dots(const MatmulShape& shape, const MatmulBlock& block, const float* a, const float* b, float* c,
          const MatmulEpilogue& epilogue) {
  const DotTile& tile = dot_tile_for<Multiply>(block.i1 - block.i0, block.j1 - block.j0);
  std::int64_t done = block.i0;
  for (std::int64_t i = block.i0; i < block.i1; i += tile.rows) {
    const std::int64_t rows = smaller(tile.rows, block.i1 - i);
    const float* a_rows[kLanes];
    for (int r = 0; r < tile.rows; ++r) a_rows[r] = a + (i + smaller(r, rows - 1)) * shape.k;
    for (std::int64_t j = block.j0; j < block.j1; j += tile.columns) {
      const std::int64_t columns = smaller(tile.columns, block.j1 - j);
      const float* b_rows[kLanes];
      for (int s = 0; s < tile.columns; ++s) b_rows[s] = b + (j + smaller(s, columns - 1)) * shape.k;
      alignas(64) float sums[kLanes];
      tile.run(a_rows, b_rows, shape.k, sums);
      float* corner = c + i * shape.n + j;
      if (columns == tile.columns && (rows == 1 || columns == shape.n)) {
        store_first(corner, load(sums), rows * columns);
        continue;
      }
      for (std::int64_t r = 0; r < rows; ++r)
        store_first(corner + r * shape.n, load_first(sums + r * tile.columns, columns), columns);
    }
    const std::int64_t end = i + rows;
    if (epilogue.run != nullptr && (end == block.i1 || end - done >= kStrip)) {
      epilogue.run(epilogue.self, MatmulBlock{done, end, block.j0, block.j1});
      done = end;
    }
  }
}

inline bool takes_dots(const MatmulShape& s) {
  if (s.transpose_a || s.k < (s.n == 1 && kHasMasks ? 4 : 2 * kLanes)) return false;
  if (s.n < kLanes / 2 && s.m > s.n) return true;
  return s.transpose_b && s.m <= kLanes / 2;
}

inline bool takes_swapped(const MatmulShape& s) {
  if (s.transpose_a && s.n < kLanes / 2 && s.m > s.n) return true;
  if (s.transpose_a || !s.transpose_b || s.m % kLanes != 0 || s.k < 2 * kLanes) return false;
  // Turning B costs a part in M of the product; turning A and C, a part in N and one in K.
  return 4.0 / static_cast<double>(s.n) + 5.0 / static_cast<double>(s.k) < 4.0 / static_cast<double>(s.m);
}

inline Walk walk_of(const MatmulPlan& plan, const float* a, const float* b, float* c, float* workspace) {
  const MatmulShape& s = plan.shape;
  Walk walk{};
  walk.k = s.k;
  walk.a = s.transpose_a ? Matrix{a, 1, s.m} : Matrix{a, s.k, 1};
  walk.b = s.transpose_b ? Matrix{b, 1, s.k} : Matrix{b, s.n, 1};
  walk.c = c;
  walk.c_row = s.n;
  walk.workspace = workspace;
  std::int64_t rows = s.m, columns = s.n;
  if (plan.loop == MatmulLoop::kSwapped) {
    const Matrix left = {b, walk.b.column, walk.b.row};
    walk.b = {a, walk.a.column, walk.a.row};
    walk.a = left;
    walk.store_turned = true;
    rows = s.n;
    columns = s.m;
  }
  walk.few_rows = rows < kSumsInFlight;
  walk.pack_a = walk.a.column != 1 && walk.a.column > 64 && columns >= 2 * kPanel;
  walk.pack_b = walk.b.column != 1 || (walk.b.row >= kFarRows && rows >= kPackedFor);
  return walk;
}

// All but `run`.
inline MatmulPlan plan_loops(const MatmulShape& shape) {
  MatmulPlan plan{};
  plan.shape = shape;
  plan.loop = takes_dots(shape) ? MatmulLoop::kDots : takes_swapped(shape) ? MatmulLoop::kSwapped : MatmulLoop::kTiles;
  std::int64_t floats = 0;
  const Walk walk = walk_of(plan, nullptr, nullptr, nullptr, nullptr);
  if (plan.loop == MatmulLoop::kDots) {
    floats = shape.transpose_b || shape.n == 1 ? 0 : shape.k * shape.n;
    plan.cut_columns = shape.n > shape.m && shape.transpose_b;
    plan.row_multiple = plan.column_multiple = kLanes;
  } else {
    const bool swapped = plan.loop == MatmulLoop::kSwapped;
    const std::int64_t columns = smaller(swapped ? shape.m : shape.n, kColumns);
    const std::int64_t panels = !kHasMasks || walk.pack_b ? smaller(shape.k, kDepth) * round_up(columns, kLanes) : 0;
    floats = panels + (walk.pack_a ? kStrip * kPackedRow : 0);
    // A part packs its own share of what has to be packed, and reads the rest where it is.
    plan.cut_columns = swapped ? shape.n >= 2 * kStrip : walk.pack_b || shape.m < 2 * kStrip;
    // The panels of a product of few rows must stay what they are without the cut: how they sum depends on their width.
    plan.row_multiple = swapped && shape.n < kSumsInFlight ? kPanel : 2 * kLanes;
    plan.column_multiple = !swapped && shape.m < kSumsInFlight ? kPanel : 2 * kLanes;
  }
  plan.workspace = static_cast<std::uint64_t>(round_up(floats, 16)) * sizeof(float);
  const double products = static_cast<double>(shape.batch) * static_cast<double>(shape.m) *
                          static_cast<double>(shape.k) * static_cast<double>(shape.n);
  plan.nanoseconds = 50.0 + products / (kLanes * 3.0);
  return plan;
}

template <class Multiply>
void run_loops(const MatmulPlan& plan, const MatmulBlock& block, const float* a, const float* b, float* c,
               void* workspace, const MatmulEpilogue& epilogue) {
  const MatmulShape& s = plan.shape;
  auto* floats = static_cast<float*>(workspace);
  if (plan.loop == MatmulLoop::kDots) {
    if (!s.transpose_b && s.n > 1) {
      transpose_copy<false>(b, s.n, s.k, s.n, floats, s.k);
      b = floats;
    }
    dots<Multiply>(s, block, a, b, c, epilogue);
    return;
  }
  const Walk walk = walk_of(plan, a, b, c, floats);
  if (plan.loop == MatmulLoop::kSwapped) {
    tiles<Multiply>(walk, MatmulBlock{block.j0, block.j1, block.i0, block.i1}, epilogue);
  } else {
    tiles<Multiply>(walk, block, epilogue);
  }
}

}  // namespace
