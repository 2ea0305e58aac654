// What a kernel of the reference backend gets and how it reads and writes elements of each dtype.
#pragma once

#include <thrt/ir/float16.hpp>
#include <thrt/ir/ops.hpp>
#include <thrt/ir/type.hpp>
#include <thrt/sdk/interpreter.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace thrt::reference {

using ir::DType;
using ir::OpKind;
using ir::Shape;
using ir::Type;

using sdk::AxisView;
using sdk::Call;
using sdk::copy_element;
using sdk::copy_elements;
using sdk::elements;
using sdk::for_each_index;
using sdk::Kernel;
using sdk::Tensor;

// One specialisation per op of ops.def but those that the interpreter does without a kernel. A missing one does not link.
template <OpKind kind>
void kernel(const Call& call);
#define THRT_OP(ID, ...) \
  template <>            \
  void kernel<OpKind::ID>(const Call& call);
#include <thrt/ops.def>
#undef THRT_OP

// How elements are stored. f16, bf16 and bool need types of their own; the rest are C++'s.
struct F16 {
  std::uint16_t bits;
};
struct BF16 {
  std::uint16_t bits;
};
struct Bool {
  std::uint8_t value;
};

// What they are computed in: floats in double, so that a result is rounded once; the others as they are.
inline double widen(float x) {
  return x;
}
inline double widen(double x) {
  return x;
}
inline double widen(F16 x) {
  return ir::f16_to_f32(x.bits);
}
inline double widen(BF16 x) {
  return ir::bf16_to_f32(x.bits);
}
inline std::int32_t widen(std::int32_t x) {
  return x;
}
inline std::uint32_t widen(std::uint32_t x) {
  return x;
}
inline std::uint8_t widen(std::uint8_t x) {
  return x;
}
inline bool widen(Bool x) {
  return x.value != 0;
}

template <typename Stored>
using Wide = decltype(widen(Stored{}));
template <typename Stored>
inline constexpr bool kIsFloat = std::is_same_v<Wide<Stored>, double>;

template <typename Stored>
Stored narrow(Wide<Stored> x) {
  if constexpr (std::is_same_v<Stored, F16>) {
    return {ir::f64_to_f16(x)};
  } else if constexpr (std::is_same_v<Stored, BF16>) {
    return {ir::f64_to_bf16(x)};
  } else if constexpr (std::is_same_v<Stored, Bool>) {
    return {static_cast<std::uint8_t>(x ? 1 : 0)};
  } else {
    return static_cast<Stored>(x);
  }
}

// Calls f with an element of the type that stores `dtype`: f's parameter tells it the type.
template <typename Function>
void with_dtype(DType dtype, Function&& f) {
  switch (dtype) {
    case DType::kF32:
      return f(float{});
    case DType::kF16:
      return f(F16{});
    case DType::kBF16:
      return f(BF16{});
    case DType::kF64:
      return f(double{});
    case DType::kI32:
      return f(std::int32_t{});
    case DType::kU32:
      return f(std::uint32_t{});
    case DType::kU8:
      return f(std::uint8_t{});
    case DType::kBool:
      return f(Bool{});
  }
  throw sdk::Error(THRT_INTERNAL, "a dtype that was not verified");
}

// The same for the dtype classes of ops.def. The verifier has refused the others.
template <typename Function>
void with_number(DType dtype, Function&& f) {
  with_dtype(dtype, [&](auto type) {
    using Stored = decltype(type);
    if constexpr (!std::is_same_v<Stored, Bool> && !std::is_same_v<Stored, std::uint8_t>) f(type);
  });
}
template <typename Function>
void with_float(DType dtype, Function&& f) {
  with_dtype(dtype, [&](auto type) {
    if constexpr (kIsFloat<decltype(type)>) f(type);
  });
}
template <typename Function>
void with_bits(DType dtype, Function&& f) {
  with_dtype(dtype, [&](auto type) {
    using Stored = decltype(type);
    if constexpr (!kIsFloat<Stored> && !std::is_same_v<Stored, std::uint8_t>) f(type);
  });
}

}  // namespace thrt::reference
