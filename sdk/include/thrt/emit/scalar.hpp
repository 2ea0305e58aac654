// One element of a pointwise op, as an expression of a dialect. Values are held as float (also for f16 and bf16, whose
// numbers it has all), i32, u32 (also for u8) and bool; what ops.def says of NaN, integers, shifts and casts holds. Nothing
// relies on conversions that a language does by itself: GLSL does few.
#pragma once

#include <thrt/emit/dialect.hpp>
#include <thrt/emit/functions.hpp>
#include <thrt/ir/float16.hpp>
#include <thrt/ir/ops.hpp>
#include <thrt/sdk/error.hpp>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace thrt::emit {

inline bool is_half(ir::DType dtype) {
  return dtype == ir::DType::kF16 || dtype == ir::DType::kBF16;
}

// What an element is while it is computed with, and how it is stored.
inline std::string register_type(const Dialect& d, ir::DType dtype) {
  switch (dtype) {
    case ir::DType::kF32:
    case ir::DType::kF16:
    case ir::DType::kBF16:
      return "float";
    case ir::DType::kI32:
      return d.i32;
    case ir::DType::kU32:
    case ir::DType::kU8:
      return d.u32;
    case ir::DType::kBool:
      return "bool";
    default:
      throw sdk::Error(THRT_UNSUPPORTED, std::string("kernels of dtype ") + ir::dtype_name(dtype) + " are not printed");
  }
}
inline std::string stored_type(const Dialect& d, ir::DType dtype) {
  if (dtype == ir::DType::kU8 || dtype == ir::DType::kBool) return d.u8;
  return is_half(dtype) ? d.u16 : register_type(d, dtype);
}
// The type of a variable that holds an element. What is computed goes through variables of this type: only so is nothing
// contracted.
inline std::string variable_type(const Dialect& d, ir::DType dtype) {
  return (ir::is_float(dtype) ? d.precise : "") + register_type(d, dtype);
}

namespace detail {

inline std::string call(const std::string& name, const std::vector<std::string>& arguments) {
  std::string text = name + "(";
  for (std::size_t i = 0; i < arguments.size(); ++i) text += (i == 0 ? "" : ", ") + arguments[i];
  return text + ")";
}

inline std::string own_function(Functions& needed, const std::string& name, const std::vector<std::string>& arguments) {
  needed.insert(name);
  return call(name, arguments);
}

inline std::string float_literal(const Dialect& d, float number) {
  const auto bits = std::bit_cast<std::uint32_t>(number);
  const std::string from_bits = d.bits_to_float + "(" + std::to_string(bits) + "u)";
  if (!std::isnormal(number)) return bits == 0 ? "0.0f" : from_bits;
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;  // the shortest that reads back the same
  double read = 0;  // as a compiler may read it: rounded to f64 first
  std::from_chars(digits, end, read);
  if (static_cast<float>(read) != number) return from_bits;
  std::string text(digits, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return number < 0 ? "(" + text + "f)" : text + "f";
}

}  // namespace detail

// The element that an expression reads from an array, and what is to be written there for an element.
inline std::string from_memory(const Dialect& d, ir::DType dtype, const std::string& stored, Functions& needed) {
  if (is_half(dtype))
    return detail::own_function(needed, std::string("thrt_from_") + ir::dtype_name(dtype), {cast(d, d.u32, stored)});
  if (dtype == ir::DType::kU8) return cast(d, d.u32, stored);
  return dtype == ir::DType::kBool ? cast(d, d.u32, stored) + " != 0u" : stored;
}
inline std::string to_memory(const Dialect& d, ir::DType dtype, const std::string& element, Functions& needed) {
  if (dtype == ir::DType::kF16) return cast(d, d.u16, detail::own_function(needed, "thrt_to_f16", {element}));
  if (dtype == ir::DType::kBF16) return cast(d, d.u16, detail::own_function(needed, "thrt_bits_bf16", {element}));
  if (dtype == ir::DType::kU8) return cast(d, d.u8, element);
  return dtype == ir::DType::kBool ? cast(d, d.u8, element + " ? 1u : 0u") : element;
}

// An f32 rounded to a dtype of floats.
inline std::string rounded(ir::DType dtype, const std::string& x, Functions& needed) {
  if (!is_half(dtype)) return x;
  return detail::own_function(needed, std::string("thrt_round_") + ir::dtype_name(dtype), {x});
}

// A number of the dtype, exactly; `element` is in host byte order.
inline std::string literal(const Dialect& d, ir::DType dtype, const void* element) {
  const auto* bytes = static_cast<const unsigned char*>(element);
  if (dtype == ir::DType::kBool) return *bytes != 0 ? "true" : "false";
  if (dtype == ir::DType::kU8) return std::to_string(*bytes) + "u";
  if (is_half(dtype)) {
    std::uint16_t half;
    std::memcpy(&half, element, sizeof half);
    return detail::float_literal(d, dtype == ir::DType::kF16 ? ir::f16_to_f32(half) : ir::bf16_to_f32(half));
  }
  std::uint32_t bits;
  std::memcpy(&bits, element, sizeof bits);
  if (dtype == ir::DType::kU32) return std::to_string(bits) + "u";
  if (dtype == ir::DType::kI32) {
    const auto number = static_cast<std::int32_t>(bits);
    if (number == INT32_MIN) return "(-2147483647 - 1)";
    return number < 0 ? "(" + std::to_string(number) + ")" : std::to_string(number);
  }
  return detail::float_literal(d, std::bit_cast<float>(bits));
}

namespace detail {

inline std::string operation(const std::string& name, const char* symbol, const std::string& x, const std::string& y) {
  return name.empty() ? x + " " + symbol + " " + y : call(name, {x, y});
}

// Modulo 2^32 for both signs: as unsigned numbers.
inline std::string wrapped(const Dialect& d, ir::DType dtype, const char* symbol, const std::string& x,
                           const std::string& y) {
  if (dtype == ir::DType::kU32) return x + " " + symbol + " " + y;
  return cast(d, d.i32, cast(d, d.u32, x) + " " + symbol + " " + cast(d, d.u32, y));
}

inline std::string scalar_cast(const Dialect& d, ir::DType from, ir::DType to, const std::string& x,
                               Functions& needed) {
  using ir::DType;
  if (from == to) return x;
  const bool from_float = ir::is_float(from), to_float = ir::is_float(to);
  if (from_float && to_float) return rounded(to, x, needed);
  if (to == DType::kBool) return x + (from_float ? " != 0.0f" : from == DType::kI32 ? " != 0" : " != 0u");
  if (from == DType::kBool) return x + (to_float ? " ? 1.0f : 0.0f" : to == DType::kI32 ? " ? 1 : 0" : " ? 1u : 0u");
  if (from_float) return own_function(needed, std::string("thrt_f32_to_") + ir::dtype_name(to), {x});
  if (to == DType::kBF16 && from != DType::kU8)
    return own_function(needed, std::string("thrt_") + ir::dtype_name(from) + "_to_bf16", {x});
  const std::string number = cast(d, register_type(d, to), x);
  // By f32 to f16: what f32 does not hold is infinite in f16.
  if (to_float) return rounded(to, number, needed);
  return to == DType::kU8 ? number + " & 255u" : number;
}

// Is the result a number of the operands' dtype before it is rounded to it?
inline bool keeps_format(ir::OpKind kind) {
  using ir::OpKind;
  return kind == OpKind::NEG || kind == OpKind::ABS || kind == OpKind::SIGN || kind == OpKind::FLOOR ||
         kind == OpKind::ROUND || kind == OpKind::REM || kind == OpKind::MAX || kind == OpKind::MIN;
}

inline std::string scalar_float(const Dialect& d, ir::OpKind kind, std::span<const std::string> x, Functions& needed) {
  using ir::OpKind;
  const auto exact = [&](const std::string& name) { return call(name + d.float_suffix, {x[0]}); };
  const auto math = [&](const char* name) {
    if (d.own_math) needed.insert(math_name(d, name));
    return call(math_name(d, name), std::vector<std::string>(x.begin(), x.end()));
  };
  switch (kind) {
    case OpKind::NEG:
      return "-" + x[0];
    case OpKind::ABS:
      return exact(d.abs);
    case OpKind::SIGN:
      return x[0] + " > 0.0f ? 1.0f : " + x[0] + " < 0.0f ? -1.0f : " + x[0];
    case OpKind::FLOOR:
      return d.own_math ? math("floor") : exact("floor");
    case OpKind::ROUND:
      return d.own_math ? math("round") : exact("rint");
    case OpKind::SQRT:
      return math("sqrt");
    case OpKind::EXP:
      return math("exp");
    case OpKind::LOG:
      return math("log");
    case OpKind::LOG1P:
      return math("log1p");
    case OpKind::SIN:
      return math("sin");
    case OpKind::COS:
      return math("cos");
    case OpKind::TANH:
      return math("tanh");
    case OpKind::ERF:
      return math("erf");
    case OpKind::POW:
      return math("pow");
    case OpKind::REM:
      return math("fmod");
    case OpKind::SIGMOID:
      return own_function(needed, "thrt_sigmoid", {x[0]});
    case OpKind::ADD:
      return operation(d.add, "+", x[0], x[1]);
    case OpKind::SUB:
      return operation(d.sub, "-", x[0], x[1]);
    case OpKind::MUL:
      return operation(d.mul, "*", x[0], x[1]);
    case OpKind::DIV:
      return d.own_math ? math("div") : x[0] + " / " + x[1];
    case OpKind::MAX:  // a NaN comes through from either side
      return x[0] + " != " + x[0] + " || " + x[0] + " > " + x[1] + " ? " + x[0] + " : " + x[1];
    case OpKind::MIN:
      return x[0] + " != " + x[0] + " || " + x[0] + " < " + x[1] + " ? " + x[0] + " : " + x[1];
    default:
      throw sdk::Error(THRT_INTERNAL, std::string(ir::op_info(kind).name) + " of f32 is no pointwise op");
  }
}

inline std::string scalar_integer(const Dialect& d, ir::OpKind kind, ir::DType dtype, std::span<const std::string> x,
                                  Functions& needed) {
  using ir::OpKind;
  const bool is_signed = dtype == ir::DType::kI32;
  const std::string suffix = is_signed ? "_i32" : "_u32", places = is_signed ? " & 31)" : " & 31u)";
  switch (kind) {
    case OpKind::NEG:
      return wrapped(d, dtype, "-", is_signed ? "0" : "0u", x[0]);
    case OpKind::ABS:
      return is_signed ? x[0] + " < 0 ? " + wrapped(d, dtype, "-", "0", x[0]) + " : " + x[0] : x[0];
    case OpKind::SIGN:
      return is_signed ? cast(d, d.i32, x[0] + " > 0") + " - " + cast(d, d.i32, x[0] + " < 0")
                       : x[0] + " != 0u ? 1u : 0u";
    case OpKind::NOT:
      return "~" + x[0];
    case OpKind::ADD:
      return wrapped(d, dtype, "+", x[0], x[1]);
    case OpKind::SUB:
      return wrapped(d, dtype, "-", x[0], x[1]);
    case OpKind::MUL:
      return wrapped(d, dtype, "*", x[0], x[1]);
    case OpKind::DIV:
      return own_function(needed, "thrt_div" + suffix, {x[0], x[1]});
    case OpKind::REM:
      return own_function(needed, "thrt_rem" + suffix, {x[0], x[1]});
    case OpKind::MAX:
      return x[0] + " > " + x[1] + " ? " + x[0] + " : " + x[1];
    case OpKind::MIN:
      return x[0] + " < " + x[1] + " ? " + x[0] + " : " + x[1];
    case OpKind::AND:
      return x[0] + " & " + x[1];
    case OpKind::OR:
      return x[0] + " | " + x[1];
    case OpKind::XOR:
      return x[0] + " ^ " + x[1];
    case OpKind::SHIFT_LEFT:
      return wrapped(d, dtype, "<<", x[0], "(" + x[1] + places);
    case OpKind::SHIFT_RIGHT:  // of a signed number: arithmetic, in all of these languages
      return x[0] + " >> (" + x[1] + places;
    default:
      throw sdk::Error(THRT_INTERNAL, std::string(ir::op_info(kind).name) + " of integers is no pointwise op");
  }
}

inline std::string scalar_bool(ir::OpKind kind, std::span<const std::string> x) {
  using ir::OpKind;
  switch (kind) {
    case OpKind::NOT:
      return "!" + x[0];
    case OpKind::AND:
      return x[0] + " && " + x[1];
    case OpKind::OR:
      return x[0] + " || " + x[1];
    case OpKind::XOR:
      return x[0] + " != " + x[1];
    default:
      throw sdk::Error(THRT_INTERNAL, std::string(ir::op_info(kind).name) + " of bool is no pointwise op");
  }
}

}  // namespace detail

// Is one element of the result a function of the operands' elements of the same index?
inline bool is_pointwise(ir::OpKind kind) {
  switch (ir::op_info(kind).rule) {
    case ir::Rule::kUnary:
    case ir::Rule::kCast:
    case ir::Rule::kBinary:
    case ir::Rule::kCompare:
    case ir::Rule::kSelect:
      return true;
    default:
      return false;
  }
}

// The element of a pointwise op; `x` are names or literals. `from` is the dtype of the first operand (of select: of the
// second), `to` that of the result. The expression has no parentheses around it.
inline std::string scalar(const Dialect& d, ir::OpKind kind, ir::DType from, ir::DType to,
                          std::span<const std::string> x, Functions& needed) {
  switch (kind) {
    case ir::OpKind::CAST:
      return detail::scalar_cast(d, from, to, x[0], needed);
    case ir::OpKind::EQ:
      return x[0] + " == " + x[1];
    case ir::OpKind::LT:
      return x[0] + " < " + x[1];
    case ir::OpKind::LE:
      return x[0] + " <= " + x[1];
    case ir::OpKind::SELECT:
      return x[0] + " ? " + x[1] + " : " + x[2];
    default:
      break;
  }
  if (ir::is_float(from)) {
    const std::string number = detail::scalar_float(d, kind, x, needed);
    return detail::keeps_format(kind) ? number : rounded(to, number, needed);
  }
  if (from == ir::DType::kBool) return detail::scalar_bool(kind, x);
  return detail::scalar_integer(d, kind, from, x, needed);
}

}  // namespace thrt::emit
