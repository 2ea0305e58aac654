// Builds thrt_programs for the tests by hand, without core. All arrays stay open to be damaged.
#pragma once

#include <thrt/ir/rules.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace thrt::testing {

using ir::DType;
using ir::OpKind;
using ir::Shape;
using ir::Type;

class ProgramBuilder {
 public:
  explicit ProgramBuilder(const std::string& name = "test") : strings(1, '\0') { name_ = string(name); }

  std::uint32_t input(const std::string& name, const Type& type) { return slot(name, type, nullptr); }
  // State: `output_of` is set later.
  void output(const std::string& name, std::uint32_t value) { slots.push_back({string(name), THRT_NONE, value, 0}); }
  void state_output(std::uint32_t slot_index, std::uint32_t value) { slots[slot_index].output_value = value; }

  std::vector<std::uint32_t> ops_with_results(OpKind kind, const std::vector<std::uint32_t>& operand_values,
                                              const std::vector<std::int64_t>& attribute_values,
                                              std::optional<Type> declared, std::uint32_t subprogram) {
    const ir::OpInfo& info = ir::op_info(kind);
    std::vector<Type> operand_types, results, body_in, body_out;
    for (const std::uint32_t value : operand_values) operand_types.push_back(ir::type_of(values[value]));
    ir::OpSignature signature{kind, operand_types, attribute_values, declared ? &*declared : nullptr};
    if (subprogram != THRT_NONE) {
      const ProgramBuilder& body = *bodies[subprogram];
      for (const thrt_slot& s : body.slots) {
        body_in.push_back(ir::type_of(body.values[s.input_value]));
        if (s.output_value != THRT_NONE) body_out.push_back(ir::type_of(body.values[s.output_value]));
      }
      signature.body_inputs = body_in;
      signature.body_outputs = body_out;
    }
    results = ir::infer(signature);
    thrt_op op{};
    op.kind = static_cast<std::uint32_t>(kind);
    op.version = info.version;
    op.first_operand = static_cast<std::uint32_t>(operands.size());
    op.operand_count = static_cast<std::uint32_t>(operand_values.size());
    operands.insert(operands.end(), operand_values.begin(), operand_values.end());
    op.first_result = static_cast<std::uint32_t>(values.size());
    op.result_count = static_cast<std::uint32_t>(results.size());
    op.first_attribute = static_cast<std::uint32_t>(attributes.size());
    op.attribute_count = static_cast<std::uint32_t>(attribute_values.size());
    attributes.insert(attributes.end(), attribute_values.begin(), attribute_values.end());
    op.subprogram = subprogram;
    op.group = THRT_NONE;
    std::vector<std::uint32_t> indices;
    for (const Type& type : results) indices.push_back(value(type));
    ops.push_back(op);
    return indices;
  }

  std::uint32_t op(OpKind kind, const std::vector<std::uint32_t>& operand_values,
                   const std::vector<std::int64_t>& attribute_values = {},
                   std::optional<Type> declared = std::nullopt) {
    return ops_with_results(kind, operand_values, attribute_values, declared, THRT_NONE)[0];
  }

  std::uint32_t constant(const Type& type, const void* data) {
    const std::size_t offset = constants.size();
    const std::size_t bytes = static_cast<std::size_t>(type.bytes());
    constants.resize(offset + (bytes + 63) / 64 * 64);
    if (bytes > 0) std::memcpy(constants.data() + offset, data, bytes);
    return op(OpKind::CONSTANT, {}, {static_cast<std::int64_t>(offset)}, type);
  }

  std::vector<std::uint32_t> repeat(std::shared_ptr<ProgramBuilder> body, std::int64_t trips, std::int64_t carried,
                                    const std::vector<std::uint32_t>& operand_values) {
    bodies.push_back(std::move(body));
    return ops_with_results(OpKind::REPEAT, operand_values, {trips, carried}, std::nullopt,
                            static_cast<std::uint32_t>(bodies.size() - 1));
  }

  // Points at this object's arrays; call it again after changing one.
  const thrt_program& build() {
    aligned_constants.resize(constants.size() + 64);
    std::uint8_t* base =
        aligned_constants.data() + (64 - reinterpret_cast<std::uintptr_t>(aligned_constants.data()) % 64) % 64;
    if (!constants.empty()) std::memcpy(base, constants.data(), constants.size());
    body_pointers.clear();
    for (const auto& body : bodies) body_pointers.push_back(&body->build());
    program = {};
    program.struct_size = sizeof program;
    program.opset = THRT_OPSET;
    program.values = values.data();
    program.ops = ops.data();
    program.slots = slots.data();
    program.operands = operands.data();
    program.attributes = attributes.data();
    program.constants = constants.empty() ? nullptr : base;
    program.strings = strings.data();
    program.groups = groups.data();
    program.subprograms = body_pointers.data();
    program.constant_bytes = constants.size();
    program.string_bytes = strings.size();
    program.value_count = static_cast<std::uint32_t>(values.size());
    program.op_count = static_cast<std::uint32_t>(ops.size());
    program.slot_count = static_cast<std::uint32_t>(slots.size());
    program.operand_count = static_cast<std::uint32_t>(operands.size());
    program.attribute_count = static_cast<std::uint32_t>(attributes.size());
    program.group_count = static_cast<std::uint32_t>(groups.size());
    program.subprogram_count = static_cast<std::uint32_t>(body_pointers.size());
    program.name = name_;
    return program;
  }

  std::uint32_t string(const std::string& text) {
    const auto offset = static_cast<std::uint32_t>(strings.size());
    for (const char letter : text) strings.push_back(letter);
    strings.push_back('\0');
    return offset;
  }
  std::uint32_t value(const Type& type) {
    values.push_back(ir::value_of(type));
    return static_cast<std::uint32_t>(values.size() - 1);
  }

  std::vector<thrt_value> values;
  std::vector<thrt_op> ops;
  std::vector<thrt_slot> slots;
  std::vector<std::uint32_t> operands;
  std::vector<std::int64_t> attributes;
  std::vector<std::uint8_t> constants;
  std::vector<std::uint8_t> aligned_constants;
  std::vector<char> strings;
  std::vector<thrt_group> groups;
  std::vector<std::shared_ptr<ProgramBuilder>> bodies;
  std::vector<const thrt_program*> body_pointers;
  thrt_program program{};

 private:
  std::uint32_t slot(const std::string& name, const Type& type, const std::uint32_t* output) {
    const std::uint32_t index = value(type);
    slots.push_back({string(name), index, output != nullptr ? *output : THRT_NONE, 0});
    return index;
  }

  std::uint32_t name_ = 0;
};

}  // namespace thrt::testing
