// As many f32 as one vector register of this instruction-set level holds, with the few operations that compilers do not
// find by themselves in plain loops. Arithmetic, comparisons and ?: are those of the compilers' vector types; all of it
// is correctly rounded, so that an element's bits depend neither on the level nor on its lane.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

#if defined(__AVX512F__)
constexpr int kWidth = 16;
constexpr __mmask16 kAll = 0xffff;  // GCC 12 calls what the forms without a mask start from uninitialised
#elif defined(__AVX2__)
constexpr int kWidth = 8;
#else
constexpr int kWidth = 4;
#endif

typedef float Floats __attribute__((vector_size(4 * kWidth)));
typedef std::uint32_t Words __attribute__((vector_size(4 * kWidth)));
typedef std::int32_t Ints __attribute__((vector_size(4 * kWidth)));

inline Floats load(const float* from) {
  Floats x;
  std::memcpy(&x, from, sizeof x);
  return x;
}
inline void store(float* to, Floats x) {
  std::memcpy(to, &x, sizeof x);
}

// The first n < kWidth lanes; the others are zero, and not stored.
inline Floats load_part(const float* from, std::int64_t n) {
#if defined(__AVX512F__)
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1u), from);
#else
  Floats x = {};
  std::memcpy(&x, from, static_cast<std::size_t>(n) * sizeof(float));
  return x;
#endif
}
inline void store_part(float* to, Floats x, std::int64_t n) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1u << n) - 1u), x);
#else
  std::memcpy(to, &x, static_cast<std::size_t>(n) * sizeof(float));
#endif
}

// a < b ? a : b: b where either is NaN.
inline float smaller(float a, float b) {
  return a < b ? a : b;
}
inline Floats smaller(Floats a, Floats b) {
#if defined(__AVX512F__)
  return _mm512_maskz_min_ps(kAll, a, b);
#elif defined(__AVX2__)
  return _mm256_min_ps(a, b);
#elif defined(__x86_64__)
  return _mm_min_ps(a, b);
#else
  return a < b ? a : b;
#endif
}
// a > b ? a : b: b where either is NaN.
inline float larger(float a, float b) {
  return a > b ? a : b;
}
inline Floats larger(Floats a, Floats b) {
#if defined(__AVX512F__)
  return _mm512_maskz_max_ps(kAll, a, b);
#elif defined(__AVX2__)
  return _mm256_max_ps(a, b);
#elif defined(__x86_64__)
  return _mm_max_ps(a, b);
#else
  return a > b ? a : b;
#endif
}

inline float root(float x) {
  return __builtin_sqrtf(x);
}
inline Floats root(Floats x) {
#if defined(__AVX512F__)
  return _mm512_maskz_sqrt_ps(kAll, x);
#elif defined(__AVX2__)
  return _mm256_sqrt_ps(x);
#elif defined(__x86_64__)
  return _mm_sqrt_ps(x);
#else
  for (int lane = 0; lane < kWidth; ++lane) x[lane] = __builtin_sqrtf(x[lane]);
  return x;
#endif
}

// All lanes the same; a float stays itself.
template <class V>
inline V spread(float x);
template <>
inline float spread<float>(float x) {
  return x;
}
template <>
inline Floats spread<Floats>(float x) {
  return x - Floats{};
}

inline float from_bits(std::uint32_t bits) {
  return __builtin_bit_cast(float, bits);
}
inline std::uint32_t to_bits(float x) {
  return __builtin_bit_cast(std::uint32_t, x);
}
inline Floats from_bits(Words bits) {
  return reinterpret_cast<Floats>(bits);
}
inline Words to_bits(Floats x) {
  return reinterpret_cast<Words>(x);
}

// p * 2^n, rounded once, for p in [1/2, 2) and an integer n in [-152, 130] that is given twice: as a float and as bits.
inline std::uint32_t half_down(std::uint32_t n) {
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(n) >> 1);
}
#if !defined(__AVX512F__)
inline Words half_down(Words n) {
  return reinterpret_cast<Words>(reinterpret_cast<Ints>(n) >> 1);
}
#endif
template <class V, class Bits>
inline V scaled(V p, V, Bits n) {
  const Bits half = half_down(n);  // two factors: n reaches beyond what one exponent holds
  return (p * from_bits((half + 127u) << 23)) * from_bits((n - half + 127u) << 23);
}
#if defined(__AVX512F__)
inline Floats scaled(Floats p, Floats n_float, Words) {
  return _mm512_maskz_scalef_ps(kAll, p, n_float);
}
#endif

}  // namespace
