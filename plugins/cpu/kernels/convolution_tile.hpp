// The register tile that all convolutions come down to, over floats and over pairs of bf16. Included once by each file
// that is compiled for an instruction-set level; see level.hpp for why everything is in an unnamed namespace.
//
// On Zen 4 a tile of 16 accumulators or more is bound by its multiply-adds alone, one of 512 bits a cycle, whatever the
// addressing: so the left side is read where it lies, one element spread over a vector, and nothing is copied.
#pragma once

#include "convolution_block.hpp"

namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16, kVectors = 4;
constexpr int kRows[] = {0, 12, 12, 8, 6};  // by vectors: at most 24 accumulators of 32 registers
#elif defined(__AVX2__)
constexpr int kLanes = 8, kVectors = 2;
constexpr int kRows[] = {0, 6, 6};  // 12 accumulators of 16 registers
#else
constexpr int kLanes = 4, kVectors = 2;
constexpr int kRows[] = {0, 6, 6};
#endif
constexpr int kMostRows = kRows[1];

typedef float Vector __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));

inline Vector load(const float* p) {
  return *reinterpret_cast<const Vector*>(p);
}
inline void store(float* p, Vector v) {
  *reinterpret_cast<Vector*>(p) = v;
}

using thrt::cpu::ConvolutionBlock;

// Early, so that the accumulators are never an array in memory.
#define THRT_UNROLL _Pragma("GCC unroll 16")

// Which of the left side's two steps is 1. Knowing it leaves few registers for addresses.
enum class Unit { kRow, kDepth };

// One tile of C, kHeight rows by kWidth vectors, from column `first` on.
template <class Product, int kHeight, int kWidth, Unit kUnit>
void tile(const ConvolutionBlock& block, const float* a, float* c, std::int64_t first) {
  Vector sum[kHeight][kWidth] = {};
  const std::int64_t row = kUnit == Unit::kRow ? 1 : block.a_row, step = kUnit == Unit::kRow ? block.a_depth : 1;
  const std::int64_t b_row = block.b_row;
  const float* b = block.b + first;
  for (std::int64_t i = 0; i < block.chunks; ++i) {
    const float* at = a + block.chunk[i];
    // Three rows a pointer: base, base + row, base + 2 row are one addressing mode each.
    constexpr int kPointers = (kHeight + 2) / 3;
    const float* from[kPointers];
    THRT_UNROLL for (int p = 0; p < kPointers; ++p) from[p] = at + 3 * p * row;
#pragma GCC unroll 4
    for (std::int64_t k = 0; k < block.depth; ++k) {
      Vector column[kWidth];
      THRT_UNROLL for (int v = 0; v < kWidth; ++v) column[v] = load(b + v * kLanes);
      b += b_row;
      THRT_UNROLL for (int r = 0; r < kHeight; ++r) {
        const float scalar = from[r / 3][r % 3 * row + k * step];
        THRT_UNROLL for (int v = 0; v < kWidth; ++v) sum[r][v] = Product::add(sum[r][v], scalar, column[v]);
      }
    }
  }
  if (block.accumulate) {
    THRT_UNROLL for (int r = 0; r < kHeight; ++r) {
      THRT_UNROLL for (int v = 0; v < kWidth; ++v) sum[r][v] += load(c + r * block.c_row + v * kLanes);
    }
  }
  if (block.bias != nullptr) {
    Vector bias[kWidth];
    THRT_UNROLL for (int v = 0; v < kWidth; ++v) bias[v] = load(block.bias + first + v * kLanes);
    THRT_UNROLL for (int r = 0; r < kHeight; ++r) {
      THRT_UNROLL for (int v = 0; v < kWidth; ++v) sum[r][v] += bias[v];
    }
  }
  if (block.relu) {
    const Vector zero = {};
    THRT_UNROLL for (int r = 0; r < kHeight; ++r) {
      THRT_UNROLL for (int v = 0; v < kWidth; ++v) sum[r][v] = sum[r][v] > zero ? sum[r][v] : zero;
    }
  }
  THRT_UNROLL for (int r = 0; r < kHeight; ++r) {
    THRT_UNROLL for (int v = 0; v < kWidth; ++v) store(c + r * block.c_row + v * kLanes, sum[r][v]);
  }
}

using Tile = void (*)(const ConvolutionBlock&, const float*, float*, std::int64_t);

// The tile of kHeight + less rows: all heights from 1 to kRows[kWidth].
template <class Product, int kWidth, Unit kUnit, int kHeight = kRows[kWidth]>
Tile tile_of(int rows) {
  if (rows == kHeight) return &tile<Product, kHeight, kWidth, kUnit>;
  if constexpr (kHeight > 1) {
    return tile_of<Product, kWidth, kUnit, kHeight - 1>(rows);
  } else {
    return nullptr;
  }
}

template <class Product, int kWidth, Unit kUnit>
void panel(const ConvolutionBlock& block, std::int64_t first) {
  // Tiles of almost equal height: two even ones instead of a full one and a sliver.
  const std::int64_t tiles = (block.rows + kRows[kWidth] - 1) / kRows[kWidth];
  const int low = static_cast<int>(block.rows / tiles);
  const std::int64_t tall = block.rows % tiles;  // of these, one row more
  const Tile run_low = tile_of<Product, kWidth, kUnit>(low), run_tall = tile_of<Product, kWidth, kUnit>(low + 1);
  for (std::int64_t o = 0; o < block.outer; ++o) {
    const float* a = block.a + o * block.a_outer;
    float* c = block.c + o * block.c_outer + first;
    for (std::int64_t t = 0; t < tiles; ++t) {
      const int height = low + (t < tall ? 1 : 0);
      (t < tall ? run_tall : run_low)(block, a, c, first);
      a += height * block.a_row;
      c += height * block.c_row;
    }
  }
}

template <class Product, Unit kUnit, int kWidth = kVectors>
void panels(const ConvolutionBlock& block, std::int64_t first) {
  for (; block.columns - first >= kWidth * kLanes; first += kWidth * kLanes) {
    panel<Product, kWidth, kUnit>(block, first);
  }
  if constexpr (kWidth > 1) panels<Product, kUnit, kWidth - 1>(block, first);
}

template <class Product>
void run_block(const ConvolutionBlock& block) {
  if (block.rows == 0 || block.outer == 0) return;
  if (block.a_depth == 1) {
    panels<Product, Unit::kDepth>(block, 0);
  } else {
    panels<Product, Unit::kRow>(block, 0);
  }
}

}  // namespace
