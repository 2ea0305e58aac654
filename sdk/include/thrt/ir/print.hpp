// A program as text, one line an op, from the op table:
//
//     program "train"
//     slot 0 "w" = %0 -> %4 : f32[64, 64]
//     %4 = matmul(%0, %1) transpose_a=0, transpose_b=1 : f32[64, 64]  # fc1
//
// The lines of a sub-program follow its repeat, indented. Names are as in C: \xNN for what is not printable ASCII.
#pragma once

#include <thrt/abi.h>
#include <thrt/ir/ops.hpp>
#include <thrt/ir/type.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace thrt::ir {

namespace detail {

inline std::string value_text(std::uint32_t value) {
  return "%" + std::to_string(value);
}

inline std::string numbers_text(std::span<const std::int64_t> numbers) {
  std::string text = "[";
  for (std::size_t i = 0; i < numbers.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(numbers[i]);
  return text + "]";
}

// " transpose_a=0, transpose_b=1", or lists for names that take a value per dimension ("start...").
inline std::string attributes_text(std::string_view names, std::span<const std::int64_t> values) {
  std::vector<std::string_view> split;
  while (!names.empty()) {
    const std::size_t comma = names.find(',');
    split.push_back(names.substr(0, comma));
    names = comma == std::string_view::npos ? std::string_view() : names.substr(comma + 1);
  }
  std::string text;
  std::size_t at = 0;
  for (const std::string_view name : split) {
    const bool is_list = name.ends_with("...");
    const std::size_t count = is_list ? values.size() / split.size() : 1;
    if (at + count > values.size()) break;
    text += (text.empty() ? " " : ", ") + std::string(is_list ? name.substr(0, name.size() - 3) : name) + "=";
    text += is_list ? numbers_text(values.subspan(at, count)) : std::to_string(values[at]);
    at += count;
  }
  return text;
}

// What is not printable ASCII as \xNN: a name may come from a stranger's file, and the text may go to a terminal.
inline std::string escaped(const char* name) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (; *name != '\0'; ++name) {
    const auto letter = static_cast<unsigned char>(*name);
    if (letter < 0x20 || letter > 0x7E) {
      text += {'\\', 'x', kDigits[letter >> 4], kDigits[letter & 15]};
    } else {
      if (letter == '"' || letter == '\\') text += '\\';
      text += *name;
    }
  }
  return text;
}

inline std::string quoted(const thrt_program& program, std::uint32_t name) {
  return "\"" + (program.strings != nullptr ? escaped(program.strings + name) : "") + "\"";
}

inline std::string slot_text(const thrt_program& program, std::uint32_t index) {
  const thrt_slot& slot = program.slots[index];
  std::string text = "slot " + std::to_string(index) + " " + quoted(program, slot.name);
  if (slot.input_value != THRT_NONE) text += " = " + value_text(slot.input_value);
  if (slot.output_value != THRT_NONE) text += " -> " + value_text(slot.output_value);
  const std::uint32_t value = slot.input_value != THRT_NONE ? slot.input_value : slot.output_value;
  return text + " : " + type_of(program.values[value]).str();
}

inline std::string op_text(const thrt_program& program, const thrt_op& op) {
  const OpInfo* info = find_op(op.kind);
  std::string text, types;
  for (std::uint32_t i = 0; i < op.result_count; ++i) {
    text += (i > 0 ? ", " : "") + value_text(op.first_result + i);
    types += (i > 0 ? ", " : "") + type_of(program.values[op.first_result + i]).str();
  }
  text += " = " + (info != nullptr ? std::string(info->name) : "op_" + std::to_string(op.kind)) + "(";
  for (std::uint32_t i = 0; i < op.operand_count; ++i) {
    text += (i > 0 ? ", " : "") + value_text(program.operands[op.first_operand + i]);
  }
  text += ")";
  if (info != nullptr && op.attribute_count > 0) {
    text += attributes_text(info->attributes, {program.attributes + op.first_attribute, op.attribute_count});
  }
  text += " : " + types;
  if (op.location != 0) text += "  # " + escaped(program.strings + op.location);
  return text;
}

inline void print_into(const thrt_program& program, const std::string& indent, std::string& text) {
  text += indent + "program " + quoted(program, program.name) + "\n";
  for (std::uint32_t s = 0; s < program.slot_count; ++s) text += indent + slot_text(program, s) + "\n";
  for (std::uint32_t i = 0; i < program.op_count; ++i) {
    const thrt_op& op = program.ops[i];
    text += indent + op_text(program, op) + "\n";
    if (op.subprogram != THRT_NONE) print_into(*program.subprograms[op.subprogram], indent + "  ", text);
  }
}

}  // namespace detail

// Of a well-formed program.
inline std::string print(const thrt_program& program) {
  std::string text;
  detail::print_into(program, "", text);
  return text;
}

}  // namespace thrt::ir
