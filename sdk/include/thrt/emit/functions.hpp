// The functions that expressions of scalar.hpp call, as text.
#pragma once

#include <thrt/emit/dialect.hpp>
#include <thrt/emit/math.hpp>
#include <thrt/sdk/error.hpp>

#include <cctype>
#include <set>
#include <string>

namespace thrt::emit {

// Functions that kernels need, by name.
using Functions = std::set<std::string>;

// Turns of the loops in them: thrt_random_word's, and the most of math.hpp's thrt_fmod.
inline constexpr int kRandomTurns = 10, kMostFmodTurns = 11;

// What a function of f32 that is not exact is called: "exp" and the like, as in C.
inline std::string math_name(const Dialect& d, const std::string& name) {
  return d.own_math ? "thrt_" + name : name + d.float_suffix;
}

namespace detail {

// A function's text, written from its signature and its body; `${i32}` and the like are the dialect's words.
class FunctionPrinter {
 public:
  FunctionPrinter(const Dialect& dialect, const std::string& name) : d_(dialect), name_(name) {}

  std::string operator()(const char* result, const char* parameters, const char* body) const {
    const std::string head = d_.function + (d_.function.empty() ? "" : " ") + result + " " + name_;
    return filled(head + "(" + parameters + ") {\n  " + body + "\n}\n");
  }

 private:
  std::string filled(const std::string& text) const {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '$') {
        result += text[i];
        continue;
      }
      const std::size_t end = text.find('}', i);
      result += word(text.substr(i + 2, end - i - 2));
      i = end;
    }
    return result;
  }
  std::string word(const std::string& name) const {
    if (name == "i32") return d_.i32;
    if (name == "u32") return d_.u32;
    if (name == "u64") return d_.u64;
    if (name == "as_float") return d_.bits_to_float;
    if (name == "as_bits") return d_.float_to_bits;
    if (name == "abs") return d_.abs + d_.float_suffix;
    if (name == "exp") return math_name(d_, "exp");
    if (name == "int")
      return d_.blocks ? d_.i32 : "(" + d_.i32 + ")";  // in front of what is to be converted, in parentheses
    if (name == "uint") return d_.blocks ? d_.u32 : "(" + d_.u32 + ")";
    if (name == "float") return d_.blocks ? "float" : "(float)";
    throw sdk::Error(THRT_INTERNAL, "no word " + name);
  }

  const Dialect& d_;
  const std::string& name_;
};

inline std::string integer_function_text(const FunctionPrinter& function, const std::string& name) {
  // Division by 0 traps or is undefined, and that of the lowest number by -1; the others must not happen on any way here.
  if (name == "thrt_div_i32") {
    return function("${i32}", "${i32} x, ${i32} y",
                    "const ${i32} q = x / (y == 0 || y == -1 ? 1 : y);\n"
                    "  return y == 0 ? 0 : y == -1 ? ${int}(0u - ${uint}(x)) : q;");
  }
  if (name == "thrt_rem_i32") {  // not %, which GLSL leaves undefined for negative numbers
    return function("${i32}", "${i32} x, ${i32} y",
                    "const ${i32} z = y == 0 || y == -1 ? 1 : y;\n  return x - x / z * z;");
  }
  if (name == "thrt_div_u32") {
    return function("${u32}", "${u32} x, ${u32} y",
                    "const ${u32} q = x / (y == 0u ? 1u : y);\n  return y == 0u ? 0u : q;");
  }
  if (name == "thrt_rem_u32") {
    return function("${u32}", "${u32} x, ${u32} y", "return y == 0u ? 0u : x % (y == 0u ? 1u : y);");
  }
  // The bounds are those of f32: 2^31 is the least that is too large.
  if (name == "thrt_f32_to_i32") {
    return function("${i32}", "float x",
                    "return x != x ? 0 : x <= -2147483648.0f ? -2147483647 - 1 : x >= 2147483648.0f ? 2147483647 : "
                    "${int}(x);");
  }
  if (name == "thrt_f32_to_u32") {
    return function("${u32}", "float x",
                    "return x != x || x <= 0.0f ? 0u : x >= 4294967296.0f ? 4294967295u : ${uint}(x);");
  }
  if (name == "thrt_f32_to_u8") {
    return function("${u32}", "float x", "return x != x || x <= 0.0f ? 0u : x >= 255.0f ? 255u : ${uint}(x);");
  }
  return "";
}

// f16 and bf16 as bits of a u32 and as f32, as thrt/ir/float16.hpp has it.
inline std::string half_function_text(const FunctionPrinter& function, const std::string& name) {
  if (name == "thrt_from_bf16") return function("float", "${u32} x", "return ${as_float}(x << 16);");
  if (name == "thrt_to_bf16") {
    return function("${u32}", "float x",
                    "const ${u32} u = ${as_bits}(x);\n"
                    "  const ${u32} nearest = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;\n"
                    "  return (u & 0x7fffffffu) > 0x7f800000u ? (u >> 16) | 0x40u : nearest;");
  }
  // A number that bf16 holds.
  if (name == "thrt_bits_bf16") return function("${u32}", "float x", "return ${as_bits}(x) >> 16;");
  if (name == "thrt_round_bf16") {
    return function("float", "float x", "return thrt_from_bf16(thrt_to_bf16(x));");
  }
  // Of 25 bits and more the upper 24, the last of them set when any below is: rounded once, not twice.
  if (name == "thrt_u32_to_bf16") {
    return function("float", "${u32} x",
                    "const ${u32} odd = (x & 0xffffff00u) | ((x & 0xffu) != 0u ? 0x100u : 0u);\n"
                    "  return thrt_round_bf16(${float}(x < 0x1000000u ? x : odd));");
  }
  if (name == "thrt_i32_to_bf16") {
    return function("float", "${i32} x",
                    "const float y = thrt_u32_to_bf16(x < 0 ? 0u - ${uint}(x) : ${uint}(x));\n"
                    "  return x < 0 ? -y : y;");
  }
  if (name == "thrt_from_f16") {
    return function(
        "float", "${u32} x",
        "const ${u32} sign_bit = (x & 0x8000u) << 16, exponent = (x >> 10) & 31u, fraction = x & 0x3ffu;\n"
        "  const ${u32} small = ${as_bits}(${float}(fraction) * 5.9604644775390625e-8f);\n"
        "  const ${u32} large = (exponent == 31u ? 0x7f800000u : (exponent + 112u) << 23) | fraction << 13;\n"
        "  return ${as_float}(sign_bit | (exponent == 0u ? small : large));");
  }
  if (name == "thrt_to_f16") {
    // What is kept of the mantissa and what is dropped: 13 bits, more for subnormals of f16.
    return function(
        "${u32}", "float x",
        "const ${u32} u = ${as_bits}(x), sign_bit = (u >> 16) & 0x8000u, magnitude = u & 0x7fffffffu;\n"
        "  const ${u32} exponent = magnitude >> 23;\n"
        "  const ${u32} shift = exponent >= 113u ? 13u : exponent < 101u ? 25u : 126u - exponent;\n"
        "  const ${u32} whole = exponent >= 113u ? magnitude - 0x38000000u : (magnitude & 0x7fffffu) | "
        "0x800000u;\n"
        "  const ${u32} kept = whole >> shift;\n"
        "  const ${u32} dropped = whole & ((1u << shift) - 1u), half_unit = 1u << (shift - 1u);\n"
        "  const ${u32} up = dropped > half_unit || (dropped == half_unit && (kept & 1u) != 0u) ? 1u : 0u;\n"
        "  const ${u32} nearest = magnitude >= 0x477ff000u ? 0x7c00u : kept + up;\n"
        "  const ${u32} nan = 0x7e00u | ((magnitude >> 13) & 0x3ffu);\n"
        "  return sign_bit | (magnitude > 0x7f800000u ? nan : nearest);");
  }
  if (name == "thrt_round_f16") {
    return function("float", "float x", "return thrt_from_f16(thrt_to_f16(x));");
  }
  return "";
}

// thrt/philox.h. Without integers of 64 bits no element is so far that the upper word of its block is not 0.
inline std::string random_function_text(const FunctionPrinter& function, bool has_u64) {
  return function("${u32}",
                  has_u64 ? "${u32} k0, ${u32} k1, ${u32} c2, ${u32} c3, ${u64} element"
                          : "${u32} k0, ${u32} k1, ${u32} c2, ${u32} c3, ${u32} element",
                  has_u64 ? "const ${u64} block = element / 4u;\n"
                            "  ${u32} c0 = (${u32})block, c1 = (${u32})(block >> 32);\n"
                            "  for (${i32} round = 0; round < 10; ++round) {\n"
                            "    const ${u64} p0 = (${u64})0xD2511F53u * c0, p1 = (${u64})0xCD9E8D57u * c2;\n"
                            "    c0 = (${u32})(p1 >> 32) ^ c1 ^ k0;\n"
                            "    c2 = (${u32})(p0 >> 32) ^ c3 ^ k1;\n"
                            "    c1 = (${u32})p1;\n"
                            "    c3 = (${u32})p0;\n"
                            "    k0 += 0x9E3779B9u;\n"
                            "    k1 += 0xBB67AE85u;\n"
                            "  }\n"
                            "  const ${u32} lane = (${u32})element & 3u;\n"
                            "  return lane == 0u ? c0 : lane == 1u ? c1 : lane == 2u ? c2 : c3;"
                          : "${u32} c0 = element / 4u, c1 = 0u;\n"
                            "  for (${i32} round = 0; round < 10; ++round) {\n"
                            "    ${u32} low0, low1, high0, high1;\n"
                            "    umulExtended(0xD2511F53u, c0, high0, low0);\n"
                            "    umulExtended(0xCD9E8D57u, c2, high1, low1);\n"
                            "    c0 = high1 ^ c1 ^ k0;\n"
                            "    c2 = high0 ^ c3 ^ k1;\n"
                            "    c1 = low1;\n"
                            "    c3 = low0;\n"
                            "    k0 += 0x9E3779B9u;\n"
                            "    k1 += 0xBB67AE85u;\n"
                            "  }\n"
                            "  const ${u32} lane = element & 3u;\n"
                            "  return lane == 0u ? c0 : lane == 1u ? c1 : lane == 2u ? c2 : c3;");
}

// Empty if there is no such function.
inline std::string known_function_text(const Dialect& d, const std::string& name) {
  if (d.own_math) {
    const std::string math = math_text(name);
    if (!math.empty()) return math;
  }
  const FunctionPrinter function(d, name);
  if (name == "thrt_random_word") return random_function_text(function, !d.u64.empty());
  if (name == "thrt_sigmoid") {  // exp of what is not positive does not overflow
    return function("float", "float x",
                    "const float e = ${exp}(-${abs}(x));\n  return (x < 0.0f ? e : 1.0f) / (1.0f + e);");
  }
  const std::string text = integer_function_text(function, name);
  return text.empty() ? half_function_text(function, name) : text;
}

inline void add_function(const Dialect& d, const std::string& name, Functions& printed, std::string& texts) {
  if (!printed.insert(name).second) return;
  const std::string text = known_function_text(d, name);
  for (std::size_t at = text.find("thrt_"); at != std::string::npos; at = text.find("thrt_", at + 1)) {
    std::size_t end = at;
    while (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_') ++end;
    if (text[end] == '(') add_function(d, text.substr(at, end - at), printed, texts);
  }
  texts += text;
}

}  // namespace detail

// The texts of functions that expressions asked for, and before them those that these call.
inline std::string functions_text(const Dialect& d, const Functions& functions) {
  std::string texts;
  Functions printed;
  for (const std::string& name : functions) {
    if (detail::known_function_text(d, name).empty()) throw sdk::Error(THRT_INTERNAL, "no function " + name);
    detail::add_function(d, name, printed, texts);
  }
  return texts;
}

}  // namespace thrt::emit
