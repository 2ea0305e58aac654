// cast (ops.def) between all stored dtypes. f16 and bf16 can be stored and converted, though not computed with.
#include "level.hpp"
#include "math_f32.hpp"

namespace thrt::cpu::THRT_CPU_LEVEL {
namespace {

using ir::DType;
using i32 = std::int32_t;
using u32 = std::uint32_t;
using u8 = std::uint8_t;

struct Half {
  std::uint16_t bits;
};
struct Bfloat {
  std::uint16_t bits;
};
struct Bool {
  u8 value;
};

// IEEE binary16. A half's exponent and mantissa, moved up to a float's, are worth 2^-112 of what they mean, denormals
// included.
inline float widen(Half x) {
  const u32 magnitude = (x.bits & 0x7fffu) << 13;
  const float finite = from_bits(magnitude) * 0x1p112f;
  const float special = from_bits(magnitude | 0x7f800000u);
  const float result = (x.bits & 0x7c00u) == 0x7c00u ? special : finite;
  return from_bits(to_bits(result) | ((x.bits & 0x8000u) << 16));
}
inline float widen(Bfloat x) {
  return from_bits(static_cast<u32>(x.bits) << 16);
}

// To nearest even. Results below 2^-14 are denormal halves: adding 0.5 makes the adder round at bit 2^-24.
inline Half to_half(float x) {
  const u32 sign = (to_bits(x) >> 16) & 0x8000u;
  const u32 magnitude = to_bits(x) & 0x7fffffffu;
  const u32 denormal = to_bits(from_bits(magnitude) + 0.5f) - 0x3f000000u;
  const u32 normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
  u32 bits = magnitude < 0x38800000u ? denormal : normal;
  bits = magnitude >= 0x477ff000u ? 0x7c00u : bits;  // 65520 and above round to infinity
  bits = magnitude > 0x7f800000u ? 0x7e00u : bits;
  return Half{static_cast<std::uint16_t>(sign | bits)};
}
inline Bfloat to_bfloat(float x) {
  const u32 bits = to_bits(x);
  const u32 rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const u32 quiet = (bits >> 16) | 0x40u;
  return Bfloat{static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded)};
}

// Towards zero, clamped, NaN to 0. The conversion itself only meets values that fit.
inline i32 clamp_i32(float x) {
  const float low = x > -2147483648.0f ? x : -2147483648.0f;
  const float inside = low < 2147483520.0f ? low : 2147483520.0f;
  i32 result = static_cast<i32>(inside);
  result = x >= 2147483648.0f ? 0x7fffffff : result;
  return x != x ? 0 : result;
}
inline u32 clamp_u32(float x) {
  const float low = x > 0.0f ? x : 0.0f;  // NaN too
  const float inside = low < 4294967040.0f ? low : 4294967040.0f;
  const u32 result = static_cast<u32>(inside);
  return x >= 4294967296.0f ? 0xffffffffu : result;
}
inline u8 clamp_u8(float x) {
  const float low = x > 0.0f ? x : 0.0f;
  const float inside = low < 255.0f ? low : 255.0f;
  return static_cast<u8>(static_cast<i32>(inside));
}

// A value on its way from one dtype to another is a float, or 32 bits of which integers take the low ones.
inline float load(float x) {
  return x;
}
inline float load(Half x) {
  return widen(x);
}
inline float load(Bfloat x) {
  return widen(x);
}
inline i32 load(i32 x) {
  return x;
}
inline u32 load(u32 x) {
  return x;
}
inline u32 load(u8 x) {
  return x;
}
inline u32 load(Bool x) {
  return x.value;
}

template <class To>
struct Store;
template <>
struct Store<float> {
  static float from(float x) { return x; }
  static float from(i32 x) { return static_cast<float>(x); }
  static float from(u32 x) { return static_cast<float>(x); }
};
template <>
struct Store<i32> {
  static i32 from(float x) { return clamp_i32(x); }
  static i32 from(i32 x) { return x; }
  static i32 from(u32 x) { return static_cast<i32>(x); }
};
template <>
struct Store<u32> {
  static u32 from(float x) { return clamp_u32(x); }
  static u32 from(i32 x) { return static_cast<u32>(x); }
  static u32 from(u32 x) { return x; }
};
template <>
struct Store<u8> {
  static u8 from(float x) { return clamp_u8(x); }
  static u8 from(i32 x) { return static_cast<u8>(x); }
  static u8 from(u32 x) { return static_cast<u8>(x); }
};
template <>
struct Store<Bool> {
  template <class From>
  static Bool from(From x) {
    return Bool{static_cast<u8>(x != 0)};
  }
};

// A 32-bit integer that rounds to float first would be rounded twice: above 2^24 the float's last bit is made sticky
// instead. Halves have 11 and bfloats 8 bits, so a sticky bit 24 places down decides every tie as the integer itself
// would.
inline float sticky(u32 magnitude) {
  const bool wide = magnitude > 0xffffffu;
  const u32 kept = wide ? ((magnitude >> 8) | ((magnitude & 0xffu) != 0 ? 1u : 0u)) : magnitude;
  const float x = static_cast<float>(kept);
  return wide ? x * 256.0f : x;
}
inline float sticky(i32 x) {
  const float magnitude = sticky(static_cast<u32>(x < 0 ? 0u - static_cast<u32>(x) : static_cast<u32>(x)));
  return x < 0 ? -magnitude : magnitude;
}
inline float sticky(float x) {
  return x;
}
template <>
struct Store<Half> {
  template <class From>
  static Half from(From x) {
    return to_half(sticky(x));
  }
};
template <>
struct Store<Bfloat> {
  template <class From>
  static Bfloat from(From x) {
    return to_bfloat(sticky(x));
  }
};

template <class From, class To>
void cast(void* out, const void* a, const void*, const void*, std::int64_t n) {
  auto* to = static_cast<To*>(out);
  const auto* x = static_cast<const From*>(a);
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) to[i] = Store<To>::from(load(x[i]));
}

template <class From>
ElementwiseFn cast_to(DType to) {
  switch (to) {
    case DType::kF32:
      return &cast<From, float>;
    case DType::kF16:
      return &cast<From, Half>;
    case DType::kBF16:
      return &cast<From, Bfloat>;
    case DType::kI32:
      return &cast<From, i32>;
    case DType::kU32:
      return &cast<From, u32>;
    case DType::kU8:
      return &cast<From, u8>;
    case DType::kBool:
      return &cast<From, Bool>;
    case DType::kF64:
      return nullptr;
  }
  return nullptr;
}

}  // namespace

ElementwiseFn find_cast(DType from, DType to) {
  switch (from) {
    case DType::kF32:
      return cast_to<float>(to);
    case DType::kF16:
      return cast_to<Half>(to);
    case DType::kBF16:
      return cast_to<Bfloat>(to);
    case DType::kI32:
      return cast_to<i32>(to);
    case DType::kU32:
      return cast_to<u32>(to);
    case DType::kU8:
      return cast_to<u8>(to);
    case DType::kBool:
      return cast_to<Bool>(to);
    case DType::kF64:
      return nullptr;
  }
  return nullptr;
}

}  // namespace thrt::cpu::THRT_CPU_LEVEL
