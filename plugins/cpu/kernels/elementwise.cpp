// Elementwise ops over arrays (ops.def: one value, two values, compare, select).
#include "level.hpp"
#include "math_f32.hpp"

namespace thrt::cpu::THRT_CPU_LEVEL {
namespace {

using ir::DType;
using ir::OpKind;
using i32 = std::int32_t;
using u32 = std::uint32_t;
using u8 = std::uint8_t;

template <class In, class Out, Out (*kFunction)(In)>
void unary(void* out, const void* a, const void*, const void*, std::int64_t n) {
  auto* to = static_cast<Out*>(out);
  const auto* x = static_cast<const In*>(a);
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) to[i] = kFunction(x[i]);
}

template <Floats (*kFunction)(Floats)>
void by_lanes(void* out, const void* a, const void*, const void*, std::int64_t n) {
  auto* to = static_cast<float*>(out);
  const auto* x = static_cast<const float*>(a);
  std::int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) store(to + i, kFunction(load(x + i)));
  if (i < n) store_part(to + i, kFunction(load_part(x + i, n - i)), n - i);
}

template <class In, class Out, Out (*kFunction)(In, In), ScalarOperand kScalar>
void binary(void* out, const void* a, const void* b, const void*, std::int64_t n) {
  auto* to = static_cast<Out*>(out);
  const auto* x = static_cast<const In*>(a);
  const auto* y = static_cast<const In*>(b);
  if (n == 0) return;
  const In x0 = x[0], y0 = y[0];
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    to[i] = kFunction(kScalar == ScalarOperand::kLeft ? x0 : x[i], kScalar == ScalarOperand::kRight ? y0 : y[i]);
  }
}

template <class T, bool kScalar>
void select(void* out, const void* condition, const void* a, const void* b, std::int64_t n) {
  auto* to = static_cast<T*>(out);
  const auto* chosen = static_cast<const u8*>(condition);
  const auto* x = static_cast<const T*>(a);
  const auto* y = static_cast<const T*>(b);
  if (n == 0) return;
  const T y0 = y[0];
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) to[i] = chosen[i] != 0 ? x[i] : kScalar ? y0 : y[i];
}

void add_tanh(void* out, const void* a, const void* b, const void*, std::int64_t n) {
  auto* to = static_cast<float*>(out);
  const auto* x = static_cast<const float*>(a);
  const auto* y = static_cast<const float*>(b);
  std::int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) store(to + i, tanh_f32(load(x + i) + load(y + i)));
  if (i < n) store_part(to + i, tanh_f32(load_part(x + i, n - i) + load_part(y + i, n - i)), n - i);
}

void tanh_gradient(void* out, const void* a, const void* b, const void* c, std::int64_t n) {
  auto* to = static_cast<float*>(out);
  const auto* x = static_cast<const float*>(a);
  const auto* y = static_cast<const float*>(b);
  const float one = *static_cast<const float*>(c);
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) to[i] = x[i] * (one - y[i] * y[i]);
}

// ------------------------------------------------------------------------------------------------------ one value
inline float neg(float x) {
  return from_bits(to_bits(x) ^ 0x80000000u);
}
inline u32 neg_int(u32 x) {
  return 0u - x;
}
inline i32 abs_i32(i32 x) {
  const u32 bits = static_cast<u32>(x);
  return static_cast<i32>(x < 0 ? 0u - bits : bits);
}
inline u32 same(u32 x) {
  return x;
}
inline float sign_f32(float x) {
  const float positive = x > 0.0f ? 1.0f : x;
  return x < 0.0f ? -1.0f : positive;
}
inline i32 sign_i32(i32 x) {
  return (x > 0) - (x < 0);
}
inline u32 sign_u32(u32 x) {
  return x != 0 ? 1u : 0u;
}
inline float sqrt_f32(float x) {
  return __builtin_sqrtf(x);
}
inline u32 not_bits(u32 x) {
  return ~x;
}
inline u8 not_bool(u8 x) {
  return static_cast<u8>(x ^ 1u);
}

// ------------------------------------------------------------------------------------------------------ two values
inline float add(float x, float y) {
  return x + y;
}
inline float sub(float x, float y) {
  return x - y;
}
inline float mul(float x, float y) {
  return x * y;
}
inline float div(float x, float y) {
  return x / y;
}
inline u32 add_int(u32 x, u32 y) {
  return x + y;
}
inline u32 sub_int(u32 x, u32 y) {
  return x - y;
}
inline u32 mul_int(u32 x, u32 y) {
  return x * y;
}
inline i32 div_i32(i32 x, i32 y) {
  if (y == 0) return 0;
  if (y == -1) return static_cast<i32>(0u - static_cast<u32>(x));  // the most negative one stays itself
  return x / y;
}
inline u32 div_u32(u32 x, u32 y) {
  return y == 0 ? 0u : x / y;
}
inline float rem_f32(float x, float y) {
  return __builtin_fmodf(x, y);
}
inline i32 rem_i32(i32 x, i32 y) {
  return y == 0 || y == -1 ? 0 : x % y;
}
inline u32 rem_u32(u32 x, u32 y) {
  return y == 0 ? 0u : x % y;
}
inline float pow_f32(float x, float y) {
  return __builtin_powf(x, y);
}
// A NaN on either side is what comes out.
inline float max_f32(float x, float y) {
  return ((x > y) | (x != x)) ? x : y;
}
inline float min_f32(float x, float y) {
  return ((x < y) | (x != x)) ? x : y;
}
template <class T>
inline T max_int(T x, T y) {
  return x > y ? x : y;
}
template <class T>
inline T min_int(T x, T y) {
  return x < y ? x : y;
}
template <class T>
inline T and_bits(T x, T y) {
  return static_cast<T>(x & y);
}
template <class T>
inline T or_bits(T x, T y) {
  return static_cast<T>(x | y);
}
template <class T>
inline T xor_bits(T x, T y) {
  return static_cast<T>(x ^ y);
}
inline u32 shift_left(u32 x, u32 y) {
  return x << (y & 31u);
}
inline u32 shift_right_u32(u32 x, u32 y) {
  return x >> (y & 31u);
}
inline i32 shift_right_i32(i32 x, i32 y) {
  return x >> (y & 31);
}
template <class T>
inline u8 equal(T x, T y) {
  return x == y;
}
template <class T>
inline u8 less(T x, T y) {
  return x < y;
}
template <class T>
inline u8 less_equal(T x, T y) {
  return x <= y;
}

// ---------------------------------------------------------------------------------------------------------- lookup
template <class In, class Out, Out (*kFunction)(In, In)>
ElementwiseFn form(ScalarOperand scalar) {
  switch (scalar) {
    case ScalarOperand::kNone:
      return &binary<In, Out, kFunction, ScalarOperand::kNone>;
    case ScalarOperand::kLeft:
      return &binary<In, Out, kFunction, ScalarOperand::kLeft>;
    case ScalarOperand::kRight:
      return &binary<In, Out, kFunction, ScalarOperand::kRight>;
  }
  return nullptr;
}

// Of the ops whose i32 form works on the same bits as the u32 form.
template <float (*kFloat)(float, float), u32 (*kBits)(u32, u32)>
ElementwiseFn modular(DType dtype, ScalarOperand scalar) {
  if (dtype == DType::kF32) return form<float, float, kFloat>(scalar);
  if (dtype == DType::kI32 || dtype == DType::kU32) return form<u32, u32, kBits>(scalar);
  return nullptr;
}

template <float (*kFloat)(float, float), i32 (*kSigned)(i32, i32), u32 (*kUnsigned)(u32, u32)>
ElementwiseFn typed(DType dtype, ScalarOperand scalar) {
  if (dtype == DType::kF32) return form<float, float, kFloat>(scalar);
  if (dtype == DType::kI32) return form<i32, i32, kSigned>(scalar);
  if (dtype == DType::kU32) return form<u32, u32, kUnsigned>(scalar);
  return nullptr;
}

template <u32 (*kBits)(u32, u32), u8 (*kBool)(u8, u8)>
ElementwiseFn bits(DType dtype, ScalarOperand scalar) {
  if (dtype == DType::kI32 || dtype == DType::kU32) return form<u32, u32, kBits>(scalar);
  if (dtype == DType::kBool) return form<u8, u8, kBool>(scalar);
  return nullptr;
}

template <u8 (*kFloat)(float, float), u8 (*kSigned)(i32, i32), u8 (*kUnsigned)(u32, u32)>
ElementwiseFn ordered(DType dtype, ScalarOperand scalar) {
  if (dtype == DType::kF32) return form<float, u8, kFloat>(scalar);
  if (dtype == DType::kI32) return form<i32, u8, kSigned>(scalar);
  if (dtype == DType::kU32) return form<u32, u8, kUnsigned>(scalar);
  return nullptr;
}

template <float (*kFunction)(float)>
ElementwiseFn of_f32(DType dtype) {
  return dtype == DType::kF32 ? &unary<float, float, kFunction> : nullptr;
}

ElementwiseFn find_unary(OpKind kind, DType dtype) {
  const bool is_i32 = dtype == DType::kI32, is_u32 = dtype == DType::kU32;
  switch (kind) {
    case OpKind::NEG:
      return is_i32 || is_u32 ? &unary<u32, u32, neg_int> : of_f32<neg>(dtype);
    case OpKind::ABS:
      return is_i32 ? &unary<i32, i32, abs_i32> : is_u32 ? &unary<u32, u32, same> : of_f32<absolute>(dtype);
    case OpKind::SIGN:
      return is_i32 ? &unary<i32, i32, sign_i32> : is_u32 ? &unary<u32, u32, sign_u32> : of_f32<sign_f32>(dtype);
    case OpKind::FLOOR:
      return of_f32<floor_f32>(dtype);
    case OpKind::ROUND:
      return of_f32<round_f32>(dtype);
    case OpKind::SQRT:
      return of_f32<sqrt_f32>(dtype);
    case OpKind::EXP:
      return dtype == DType::kF32 ? &by_lanes<exp_f32<Floats>> : nullptr;
    case OpKind::LOG:
      return of_f32<log_f32>(dtype);
    case OpKind::LOG1P:
      return of_f32<log1p_f32>(dtype);
    case OpKind::SIN:
      return of_f32<sincos_f32<false>>(dtype);
    case OpKind::COS:
      return of_f32<sincos_f32<true>>(dtype);
    case OpKind::TANH:
      return dtype == DType::kF32 ? &by_lanes<tanh_f32<Floats>> : nullptr;
    case OpKind::SIGMOID:
      return dtype == DType::kF32 ? &by_lanes<sigmoid_f32<Floats>> : nullptr;
    case OpKind::ERF:
      return of_f32<erf_f32>(dtype);
    case OpKind::NOT:
      return is_i32 || is_u32 ? &unary<u32, u32, not_bits> : dtype == DType::kBool ? &unary<u8, u8, not_bool> : nullptr;
    default:
      return nullptr;
  }
}

ElementwiseFn find_binary(OpKind kind, DType dtype, ScalarOperand scalar) {
  switch (kind) {
    case OpKind::ADD:
      return modular<add, add_int>(dtype, scalar);
    case OpKind::SUB:
      return modular<sub, sub_int>(dtype, scalar);
    case OpKind::MUL:
      return modular<mul, mul_int>(dtype, scalar);
    case OpKind::DIV:
      return typed<div, div_i32, div_u32>(dtype, scalar);
    case OpKind::REM:
      return typed<rem_f32, rem_i32, rem_u32>(dtype, scalar);
    case OpKind::POW:
      return dtype == DType::kF32 ? form<float, float, pow_f32>(scalar) : nullptr;
    case OpKind::MAX:
      return typed<max_f32, max_int<i32>, max_int<u32>>(dtype, scalar);
    case OpKind::MIN:
      return typed<min_f32, min_int<i32>, min_int<u32>>(dtype, scalar);
    case OpKind::AND:
      return bits<and_bits<u32>, and_bits<u8>>(dtype, scalar);
    case OpKind::OR:
      return bits<or_bits<u32>, or_bits<u8>>(dtype, scalar);
    case OpKind::XOR:
      return bits<xor_bits<u32>, xor_bits<u8>>(dtype, scalar);
    case OpKind::SHIFT_LEFT:
      return dtype == DType::kI32 || dtype == DType::kU32 ? form<u32, u32, shift_left>(scalar) : nullptr;
    case OpKind::SHIFT_RIGHT:
      return dtype == DType::kI32   ? form<i32, i32, shift_right_i32>(scalar)
             : dtype == DType::kU32 ? form<u32, u32, shift_right_u32>(scalar)
                                    : nullptr;
    case OpKind::LT:
      return ordered<less<float>, less<i32>, less<u32>>(dtype, scalar);
    case OpKind::LE:
      return ordered<less_equal<float>, less_equal<i32>, less_equal<u32>>(dtype, scalar);
    case OpKind::EQ:
      if (dtype == DType::kU8 || dtype == DType::kBool) return form<u8, u8, equal<u8>>(scalar);
      return ordered<equal<float>, equal<i32>, equal<u32>>(dtype, scalar);
    default:
      return nullptr;
  }
}

template <bool kScalar>
ElementwiseFn find_select(DType dtype) {
  switch (ir::dtype_size(dtype)) {
    case 1:
      return &select<u8, kScalar>;
    case 2:
      return &select<std::uint16_t, kScalar>;
    case 4:
      return &select<u32, kScalar>;
    default:
      return nullptr;
  }
}

}  // namespace

ElementwiseFn find_fused(FusedOps ops) {
  return ops == FusedOps::kAddTanh ? &add_tanh : &tanh_gradient;
}

ElementwiseFn find_elementwise(OpKind kind, DType from, DType to, ScalarOperand scalar) {
  if (ElementwiseFn found = find_binary(kind, from, scalar)) return found;
  if (kind == OpKind::SELECT && scalar == ScalarOperand::kRight) return find_select<true>(from);
  if (scalar != ScalarOperand::kNone) return nullptr;
  if (kind == OpKind::CAST) return find_cast(from, to);
  if (kind == OpKind::SELECT) return find_select<false>(from);
  return find_unary(kind, from);
}

const Kernels& kernels() {
#if defined(__AVX512F__)
  static constexpr auto kPlanMatmulBf16 = &plan_matmul_bf16;
#else
  static constexpr MatmulPlan (*kPlanMatmulBf16)(const MatmulShape&) = nullptr;
#endif
#if defined(__AVX512F__)
  static constexpr const char* kName = "x86-64 avx512";
  static constexpr std::uint32_t kLanes = 16;
#elif defined(__AVX2__)
  static constexpr const char* kName = "x86-64 avx2";
  static constexpr std::uint32_t kLanes = 8;
#elif defined(__x86_64__)
  static constexpr const char* kName = "x86-64";
  static constexpr std::uint32_t kLanes = 4;
#else
  static constexpr const char* kName = "generic";
  static constexpr std::uint32_t kLanes = 4;
#endif
  static constexpr Kernels kTable = {.level = kName,
                                     .lanes = kLanes,
                                     .elementwise = &find_elementwise,
                                     .fused = &find_fused,
                                     .sum_run = &sum_run,
                                     .max_run = &max_run,
                                     .sum_squares = &sum_squares,
                                     .sum_rows = &sum_rows,
                                     .max_rows = &max_rows,
                                     .sum_columns = &sum_columns,
                                     .max_columns = &max_columns,
                                     .adam = &adam,
                                     .plan_matmul = &plan_matmul,
                                     .plan_matmul_bf16 = kPlanMatmulBf16,
                                     .add_rows = &add_rows,
                                     .convolution = &convolution_kernels,
                                     .random_words = &random_words};
  return kTable;
}

}  // namespace thrt::cpu::THRT_CPU_LEVEL
