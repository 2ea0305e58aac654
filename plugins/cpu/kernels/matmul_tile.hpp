// The register tile of a product: kRows rows by kVectors vectors of C, one broadcast of A against kVectors vectors
// of B for each row and each k. And the table of all tile sizes.
#pragma once

#include "matmul_vector.hpp"

// `Multiply` is how two lanes are multiplied and added to an f32 sum: two functions
//   static Vector add(Vector sum, float a, Vector b);   one lane of A against a vector of B
//   static Vector add(Vector sum, Vector a, Vector b);
// A lane is a float, or whatever else has 32 bits: what is loaded is handed on untouched.

namespace {

struct TileArguments {
  std::int64_t depth;
  const float* a;
  std::int64_t a_row, a_depth;  // strides
  const float* b;
  std::int64_t b_step;  // between two k
  float* c;
  std::int64_t c_row;
  std::int64_t last_columns;  // of the last vector, 1 to kLanes
  bool accumulate;
};

// Accumulators take 24 of 32 registers, or 12 of 16. A wider tile reads A less often, a higher one B.
#if defined(__AVX512F__)
constexpr int kMaxVectors = 4;
constexpr int kMaxRows[kMaxVectors + 1] = {0, 12, 12, 8, 6};
#else
constexpr int kMaxVectors = 2;
constexpr int kMaxRows[kMaxVectors + 1] = {0, 10, 6};
#endif
constexpr int kTallest = 12;

// Tiles so high, and products so deep, that the lines of C, and of A's next rows, can be asked for ahead.
constexpr int kPrefetchedRows = 4;
constexpr std::int64_t kPrefetchedDepth = 16;

// A fused multiply-add takes four cycles and two may start in each: fewer sums than this wait for one another. Products
// of so few rows have tiles in which k, k + 1, ... have sums of their own, which are added at the end.
constexpr int kSumsInFlight = 4;

constexpr int splits(int rows, int vectors) {
  return rows * vectors == 1 ? kSumsInFlight : rows * vectors < kSumsInFlight ? 2 : 1;
}

// C = sums, or C += sums. With kEdge the last vector of a row has last_columns elements.
template <int kRows, int kVectors, bool kEdge, bool kAdd>
inline void write_sums(const TileArguments& t, const Vector (&sum)[kRows][kVectors]) {
  float* row = t.c;
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      float* to = row + v * kLanes;
      if (kEdge && v == kVectors - 1) {
        store_first(to, kAdd ? load_first(to, t.last_columns) + sum[r][v] : sum[r][v], t.last_columns);
      } else {
        store(to, kAdd ? load(to) + sum[r][v] : sum[r][v]);
      }
    }
    row += t.c_row;
  }
}

// sum += A's column k times B's row k.
// `kFar`: rows of B lie far apart, where the processor does not foresee them: ask for them early.
template <class Multiply, int kRows, int kVectors, bool kEdge, bool kFar>
inline void add_products(const TileArguments& t, std::int64_t k, Vector (&sum)[kRows][kVectors]) {
  const float* a = t.a + k * t.a_depth;
  const float* b = t.b + k * t.b_step;
  if constexpr (kFar) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) __builtin_prefetch(b + 8 * t.b_step + v * kLanes);
  }
  if constexpr (kRows >= kPrefetchedRows) {  // a row of A that the next tile reads
    __builtin_prefetch(a + (k % kRows + kRows) * t.a_row);
  }
  Vector column[kVectors];
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) {
    const bool partial = kEdge && kHasMasks && v == kVectors - 1;  // without masks B is packed and whole
    column[v] = partial ? load_first(b + v * kLanes, t.last_columns) : load(b + v * kLanes);
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    const float scalar = a[r * t.a_row];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) sum[r][v] = Multiply::add(sum[r][v], scalar, column[v]);
  }
}

template <class Multiply, int kRows, int kVectors, bool kEdge, int kSplits, bool kFar>
void tile(const TileArguments& t) {
  if (kRows >= kPrefetchedRows && t.depth >= kPrefetchedDepth) {
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) __builtin_prefetch(t.c + r * t.c_row + v * kLanes, 1);
    }
  }
  Vector sum[kRows][kVectors] = {};
  std::int64_t k = 0;
  if constexpr (kSplits > 1) {
    Vector more[kSplits - 1][kRows][kVectors] = {};
    for (; k + kSplits <= t.depth; k += kSplits) {
      add_products<Multiply, kRows, kVectors, kEdge, kFar>(t, k, sum);
#pragma GCC unroll 4
      for (int s = 1; s < kSplits; ++s) add_products<Multiply, kRows, kVectors, kEdge, kFar>(t, k + s, more[s - 1]);
    }
#pragma GCC unroll 4
    for (int s = 1; s < kSplits; ++s) {
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) sum[r][v] += more[s - 1][r][v];
      }
    }
  }
  for (; k < t.depth; ++k) add_products<Multiply, kRows, kVectors, kEdge, kFar>(t, k, sum);
  if (t.accumulate) {
    write_sums<kRows, kVectors, kEdge, true>(t, sum);
  } else {
    write_sums<kRows, kVectors, kEdge, false>(t, sum);
  }
}

using TileFn = void (*)(const TileArguments&);

template <class Multiply, int kVectors, bool kEdge, int kRows, bool kFar>
constexpr TileFn tile_or_null() {
  if constexpr (kRows <= kMaxRows[kVectors]) {
    return &tile<Multiply, kRows, kVectors, kEdge, 1, kFar>;
  } else {
    return nullptr;
  }
}

struct TileRow {
  TileFn rows[kTallest + 1];  // by height
};
template <class Multiply, int kVectors, bool kEdge, bool kFar = false>
constexpr TileRow tile_row() {
  return {{nullptr, tile_or_null<Multiply, kVectors, kEdge, 1, kFar>(),
           tile_or_null<Multiply, kVectors, kEdge, 2, kFar>(), tile_or_null<Multiply, kVectors, kEdge, 3, kFar>(),
           tile_or_null<Multiply, kVectors, kEdge, 4, kFar>(), tile_or_null<Multiply, kVectors, kEdge, 5, kFar>(),
           tile_or_null<Multiply, kVectors, kEdge, 6, kFar>(), tile_or_null<Multiply, kVectors, kEdge, 7, kFar>(),
           tile_or_null<Multiply, kVectors, kEdge, 8, kFar>(), tile_or_null<Multiply, kVectors, kEdge, 9, kFar>(),
           tile_or_null<Multiply, kVectors, kEdge, 10, kFar>(), tile_or_null<Multiply, kVectors, kEdge, 11, kFar>(),
           tile_or_null<Multiply, kVectors, kEdge, 12, kFar>()}};
}

template <class Multiply, int kVectors, bool kEdge>
constexpr TileRow few_row() {
  return {{nullptr, &tile<Multiply, 1, kVectors, kEdge, splits(1, kVectors), false>,
           &tile<Multiply, 2, kVectors, kEdge, splits(2, kVectors), false>,
           &tile<Multiply, 3, kVectors, kEdge, splits(3, kVectors), false>}};
}

// By [whole or with an edge][vectors - 1].
template <class Multiply>
struct Tiles {
#if defined(__AVX512F__)
  static constexpr TileRow kAll[2][kMaxVectors] = {{tile_row<Multiply, 1, false>(), tile_row<Multiply, 2, false>(),
                                                    tile_row<Multiply, 3, false>(), tile_row<Multiply, 4, false>()},
                                                   {tile_row<Multiply, 1, true>(), tile_row<Multiply, 2, true>(),
                                                    tile_row<Multiply, 3, true>(), tile_row<Multiply, 4, true>()}};
  // For products of fewer rows than kSumsInFlight.
  static constexpr TileRow kFewRows[2][kMaxVectors] = {{few_row<Multiply, 1, false>(), few_row<Multiply, 2, false>(),
                                                        few_row<Multiply, 3, false>(), few_row<Multiply, 4, false>()},
                                                       {few_row<Multiply, 1, true>(), few_row<Multiply, 2, true>(),
                                                        few_row<Multiply, 3, true>(), few_row<Multiply, 4, true>()}};
#else
  static constexpr TileRow kAll[2][kMaxVectors] = {{tile_row<Multiply, 1, false>(), tile_row<Multiply, 2, false>()},
                                                   {tile_row<Multiply, 1, true>(), tile_row<Multiply, 2, true>()}};
  static constexpr TileRow kFewRows[2][kMaxVectors] = {{few_row<Multiply, 1, false>(), few_row<Multiply, 2, false>()},
                                                       {few_row<Multiply, 1, true>(), few_row<Multiply, 2, true>()}};
#endif
  // For whole panels of the greatest width whose rows lie far apart.
  static constexpr TileRow kFar = tile_row<Multiply, kMaxVectors, false, true>();
};

}  // namespace
