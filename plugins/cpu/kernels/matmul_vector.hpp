// Vectors of one instruction-set level for the matmul kernels: loads and stores that stop at an edge, transposes and
// sums in registers. Everything is in an unnamed namespace; see level.hpp for why.
#pragma once

#include <cstdint>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
constexpr bool kHasMasks = true;  // a load or store of a part of a vector costs what a whole one does
#elif defined(__AVX2__)
constexpr int kLanes = 8;
constexpr bool kHasMasks = false;
#else
constexpr int kLanes = 4;
constexpr bool kHasMasks = false;
#endif

typedef float Vector __attribute__((vector_size(4 * kLanes)));
typedef float VectorInMemory __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));

inline Vector load(const float* p) {
  return *reinterpret_cast<const VectorInMemory*>(p);
}
inline void store(float* p, Vector v) {
  *reinterpret_cast<VectorInMemory*>(p) = v;
}

// The first `count` lanes; the others are zero, and their memory is not touched. 0 <= count <= kLanes.
inline Vector load_first(const float* p, std::int64_t count) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vector>(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1u), p));
#else
  float lanes[kLanes] = {};
  for (std::int64_t i = 0; i < count; ++i) lanes[i] = p[i];
  return load(lanes);
#endif
}
inline void store_first(float* p, Vector v, std::int64_t count) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << count) - 1u), reinterpret_cast<__m512>(v));
#else
  if (count == kLanes) {
    store(p, v);
    return;
  }
  float lanes[kLanes];
  store(lanes, v);
  for (std::int64_t i = 0; i < count; ++i) p[i] = lanes[i];
#endif
}

// Exchanges the off-diagonal blocks of kBlock lanes of two vectors kBlock rows apart: one stage of a transpose.
template <int kBlock>
inline void exchange(Vector& low, Vector& high) {
  const Vector a = low, b = high;
#if defined(__AVX512F__)
  if constexpr (kBlock == 8) {
    low = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
    high = __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  } else if constexpr (kBlock == 4) {
    low = __builtin_shufflevector(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27);
    high = __builtin_shufflevector(a, b, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31);
  } else if constexpr (kBlock == 2) {
    low = __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
    high = __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
  } else {
    low = __builtin_shufflevector(a, b, 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30);
    high = __builtin_shufflevector(a, b, 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31);
  }
#elif defined(__AVX2__)
  if constexpr (kBlock == 4) {
    low = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
    high = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
  } else if constexpr (kBlock == 2) {
    low = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
    high = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
  } else {
    low = __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14);
    high = __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
  }
#else
  if constexpr (kBlock == 2) {
    low = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    high = __builtin_shufflevector(a, b, 2, 3, 6, 7);
  } else {
    low = __builtin_shufflevector(a, b, 0, 4, 2, 6);
    high = __builtin_shufflevector(a, b, 1, 5, 3, 7);
  }
#endif
}

template <int kBlock>
inline void transpose_from(Vector (&rows)[kLanes]) {
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    if ((i & kBlock) == 0) exchange<kBlock>(rows[i], rows[i + kBlock]);
  }
  if constexpr (kBlock > 1) transpose_from<kBlock / 2>(rows);
}

// kLanes x kLanes.
inline void transpose(Vector (&rows)[kLanes]) {
  transpose_from<kLanes / 2>(rows);
}

// Lane i becomes the sum of rows[i]'s lanes, all in the same order. The rows are used up.
template <int kBlock>
inline Vector sums_from(Vector* rows) {
#pragma GCC unroll 16
  for (int i = 0; i < kBlock; ++i) {
    exchange<kBlock>(rows[i], rows[i + kBlock]);
    rows[i] += rows[i + kBlock];
  }
  if constexpr (kBlock == 1) {
    return rows[0];
  } else {
    return sums_from<kBlock / 2>(rows);
  }
}
inline Vector sums_of(Vector (&rows)[kLanes]) {
  return sums_from<kLanes / 2>(rows);
}

// to[c * to_step + r] = from[r * from_step + c] for r < rows, c < columns. With `pad`, whole vectors are written: zeros
// up to the next multiple of kLanes of r.
template <bool kPad>
inline void transpose_copy(const float* from, std::int64_t from_step, std::int64_t rows, std::int64_t columns,
                           float* to, std::int64_t to_step) {
  for (std::int64_t r = 0; r < rows; r += kLanes) {
    const std::int64_t height = rows - r < kLanes ? rows - r : kLanes;
    for (std::int64_t c = 0; c < columns; c += kLanes) {
      const std::int64_t width = columns - c < kLanes ? columns - c : kLanes;
      Vector block[kLanes];
      const float* corner = from + r * from_step + c;
      if (height == kLanes && width == kLanes) {
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) block[i] = load(corner + i * from_step);
      } else {
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) {
          block[i] = i < height ? load_first(corner + i * from_step, width) : Vector{};
        }
      }
      transpose(block);
      float* out = to + c * to_step + r;
      if (height == kLanes || kPad) {
        if (width == kLanes) {
#pragma GCC unroll 16
          for (int i = 0; i < kLanes; ++i) store(out + i * to_step, block[i]);
        } else {
          for (int i = 0; i < width; ++i) store(out + i * to_step, block[i]);
        }
      } else {
        for (int i = 0; i < width; ++i) store_first(out + i * to_step, block[i], height);
      }
    }
  }
}

}  // namespace
