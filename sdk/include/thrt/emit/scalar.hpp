// One element of a pointwise op, as an expression of a dialect, and the functions that such expressions call. Values are
// held as float, i32, u32 (also for u8) and bool; what ops.def says of NaN, integers, shifts and casts holds.
#pragma once

#include <thrt/emit/dialect.hpp>
#include <thrt/ir/ops.hpp>
#include <thrt/sdk/error.hpp>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace thrt::emit {

// Functions that kernels need, by name; function_text prints one.
using Functions = std::set<std::string>;

// What an element is while it is computed with, and how it is stored.
inline std::string register_type(const Dialect& d, ir::DType dtype) {
  switch (dtype) {
    case ir::DType::kF32:
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
  return dtype == ir::DType::kU8 || dtype == ir::DType::kBool ? d.u8 : register_type(d, dtype);
}

// A number of the dtype, exactly; `element` is in host byte order.
inline std::string literal(const Dialect& d, ir::DType dtype, const void* element) {
  const auto* bytes = static_cast<const unsigned char*>(element);
  if (dtype == ir::DType::kBool) return *bytes != 0 ? "true" : "false";
  if (dtype == ir::DType::kU8) return std::to_string(*bytes) + "u";
  std::uint32_t bits;
  std::memcpy(&bits, element, sizeof bits);
  if (dtype == ir::DType::kU32) return std::to_string(bits) + "u";
  if (dtype == ir::DType::kI32) {
    const auto number = static_cast<std::int32_t>(bits);
    if (number == INT32_MIN) return "(-2147483647 - 1)";
    return number < 0 ? "(" + std::to_string(number) + ")" : std::to_string(number);
  }
  const auto number = std::bit_cast<float>(bits);
  if (!std::isnormal(number))
    return number == 0 && bits == 0 ? "0.0f" : d.bits_to_float + "(" + std::to_string(bits) + "u)";
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;  // the shortest that reads back the same
  std::string text(digits, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return number < 0 ? "(" + text + "f)" : text + "f";
}

namespace detail {

inline std::string call(const std::string& name, const std::vector<std::string>& arguments) {
  std::string text = name + "(";
  for (std::size_t i = 0; i < arguments.size(); ++i) text += (i == 0 ? "" : ", ") + arguments[i];
  return text + ")";
}

inline std::string operation(const std::string& name, const char* symbol, const std::string& x, const std::string& y) {
  return name.empty() ? x + " " + symbol + " " + y : call(name, {x, y});
}

inline std::string own_function(Functions& needed, const std::string& name, const std::vector<std::string>& arguments) {
  needed.insert(name);
  return call(name, arguments);
}

// Modulo 2^32 for both signs: as unsigned numbers.
inline std::string wrapped(const Dialect& d, ir::DType dtype, const char* symbol, const std::string& x,
                           const std::string& y) {
  if (dtype == ir::DType::kU32) return x + " " + symbol + " " + y;
  return "(" + d.i32 + ")((" + d.u32 + ")" + x + " " + symbol + " (" + d.u32 + ")" + y + ")";
}

inline std::string scalar_cast(const Dialect& d, ir::DType from, ir::DType to, const std::string& x,
                               Functions& needed) {
  using ir::DType;
  if (from == to) return x;
  const std::string number = "(" + register_type(d, to) + ")" + x;
  if (to == DType::kBool) return x + (from == DType::kF32 ? " != 0.0f" : " != 0");
  if (from == DType::kBool)
    return x + (to == DType::kF32 ? " ? 1.0f : 0.0f" : to == DType::kI32 ? " ? 1 : 0" : " ? 1u : 0u");
  if (to == DType::kF32) return number;
  if (from == DType::kF32) return own_function(needed, std::string("thrt_f32_to_") + ir::dtype_name(to), {x});
  if (to == DType::kU8) return "(" + d.u32 + ")" + x + " & 255u";
  return number;
}

inline std::string scalar_float(const Dialect& d, ir::OpKind kind, std::span<const std::string> x, Functions& needed) {
  using ir::OpKind;
  const auto math = [&](const char* name) {
    return call(name + d.float_suffix, std::vector<std::string>(x.begin(), x.end()));
  };
  switch (kind) {
    case OpKind::NEG:
      return "-" + x[0];
    case OpKind::ABS:
      return math("fabs");
    case OpKind::SIGN:
      return x[0] + " > 0.0f ? 1.0f : " + x[0] + " < 0.0f ? -1.0f : " + x[0];
    case OpKind::FLOOR:
      return math("floor");
    case OpKind::ROUND:
      return math("rint");
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
      return x[0] + " / " + x[1];
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
  const std::string suffix = is_signed ? "_i32" : "_u32";
  switch (kind) {
    case OpKind::NEG:
      return wrapped(d, dtype, "-", is_signed ? "0" : "0u", x[0]);
    case OpKind::ABS:
      return is_signed ? x[0] + " < 0 ? " + wrapped(d, dtype, "-", "0", x[0]) + " : " + x[0] : x[0];
    case OpKind::SIGN:
      return is_signed ? "(" + d.i32 + ")(" + x[0] + " > 0) - (" + d.i32 + ")(" + x[0] + " < 0)"
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
      return wrapped(d, dtype, "<<", x[0], "(" + x[1] + " & 31)");
    case OpKind::SHIFT_RIGHT:  // of a signed number: arithmetic, in OpenCL C and in CUDA C
      return x[0] + " >> (" + x[1] + " & 31)";
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
  if (from == ir::DType::kF32) return detail::scalar_float(d, kind, x, needed);
  if (from == ir::DType::kBool) return detail::scalar_bool(kind, x);
  return detail::scalar_integer(d, kind, from, x, needed);
}

// The text of a function that an expression asked for.
inline std::string function_text(const Dialect& d, const std::string& name) {
  const std::string i32 = d.i32 + " ", u32 = d.u32 + " ";
  const auto function = [&](const std::string& result, const std::string& parameters, const std::string& body) {
    return d.function + " " + result + " " + name + "(" + parameters + ") {\n  " + body + "\n}\n";
  };
  const std::string negative = "(" + d.i32 + ")(0u - (" + d.u32 + ")x)";
  if (name == "thrt_div_i32") {  // x / -1 by hand: the processor's division traps or is undefined for the lowest x
    return function(d.i32, i32 + "x, " + i32 + "y", "return y == 0 ? 0 : y == -1 ? " + negative + " : x / y;");
  }
  if (name == "thrt_rem_i32") {
    return function(d.i32, i32 + "x, " + i32 + "y", "return y == 0 || y == -1 ? 0 : x % y;");
  }
  if (name == "thrt_div_u32") return function(d.u32, u32 + "x, " + u32 + "y", "return y == 0u ? 0u : x / y;");
  if (name == "thrt_rem_u32") return function(d.u32, u32 + "x, " + u32 + "y", "return y == 0u ? 0u : x % y;");
  if (name == "thrt_f32_to_i32") {  // the bounds are those of f32: 2^31 is the least that is too large
    return function(d.i32, "float x",
                    "return x != x ? 0 : x <= -2147483648.0f ? -2147483647 - 1 : x >= 2147483648.0f ? 2147483647 : (" +
                        d.i32 + ")x;");
  }
  if (name == "thrt_f32_to_u32") {
    return function(d.u32, "float x",
                    "return x != x || x <= 0.0f ? 0u : x >= 4294967296.0f ? 4294967295u : (" + d.u32 + ")x;");
  }
  if (name == "thrt_f32_to_u8") {
    return function(d.u32, "float x", "return x != x || x <= 0.0f ? 0u : x >= 255.0f ? 255u : (" + d.u32 + ")x;");
  }
  if (name == "thrt_sigmoid") {  // exp of what is not positive does not overflow
    return function("float", "float x",
                    "const float e = exp" + d.float_suffix + "(-fabs" + d.float_suffix +
                        "(x));\n  return (x < 0.0f ? e : 1.0f) / (1.0f + e);");
  }
  if (name == "thrt_random_word") {  // thrt/philox.h
    const std::string u64 = d.u64;
    return function(d.u32, d.u32 + " k0, " + d.u32 + " k1, " + d.u32 + " c2, " + d.u32 + " c3, " + u64 + " element",
                    "const " + u64 + " block = element / 4u;\n  " + u32 + "c0 = (" + d.u32 + ")block, c1 = (" + d.u32 +
                        ")(block >> 32);\n  for (" + i32 + "round = 0; round < 10; ++round) {\n    const " + u64 +
                        " p0 = (" + u64 + ")0xD2511F53u * c0, p1 = (" + u64 + ")0xCD9E8D57u * c2;\n    c0 = (" + d.u32 +
                        ")(p1 >> 32) ^ c1 ^ k0;\n    c2 = (" + d.u32 + ")(p0 >> 32) ^ c3 ^ k1;\n    c1 = (" + d.u32 +
                        ")p1;\n    c3 = (" + d.u32 +
                        ")p0;\n    k0 += 0x9E3779B9u;\n    k1 += 0xBB67AE85u;\n  }\n  const " + u32 + "lane = (" +
                        d.u32 + ")element & 3u;\n  return lane == 0u ? c0 : lane == 1u ? c1 : lane == 2u ? c2 : c3;");
  }
  throw sdk::Error(THRT_INTERNAL, "no function " + name);
}

}  // namespace thrt::emit
