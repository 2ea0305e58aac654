// Builds a thrt_program op by op, for tests. Result types come from the shape rules; a rule that is broken throws
// ir::RuleError.
#pragma once

#include <thrt/abi.h>
#include <thrt/ir/rules.hpp>

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace thrt::testing {

class ProgramBuilder {
 public:
  explicit ProgramBuilder(const std::string& name = "test") : strings_(1, '\0') { name_ = text(name); }

  // A read slot. output() of the same name makes it a state slot.
  std::uint32_t input(const std::string& name, const ir::Type& type) {
    const std::uint32_t value = add_value(type);
    slot_names_.push_back(name);
    slots_.push_back({text(name), value, THRT_NONE, 0});
    return value;
  }

  void output(const std::string& name, std::uint32_t value) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slot_names_[i] == name) {
        slots_[i].output_value = value;
        return;
      }
    }
    slot_names_.push_back(name);
    slots_.push_back({text(name), THRT_NONE, value, 0});
  }

  template <class T>
  std::uint32_t constant(const ir::Type& type, const std::vector<T>& elements) {
    const auto offset = static_cast<std::int64_t>(constants_.size() * sizeof(Chunk));
    const std::size_t bytes = elements.size() * sizeof(T);
    const std::size_t first = constants_.size();
    constants_.resize(first + (bytes + sizeof(Chunk) - 1) / sizeof(Chunk));
    if (bytes > 0) std::memcpy(constants_[first].bytes, elements.data(), bytes);
    return op(ir::OpKind::CONSTANT, {}, {offset}, type);
  }

  // `declared` for the ops whose result type the program states.
  std::uint32_t op(ir::OpKind kind, const std::vector<std::uint32_t>& operands,
                   const std::vector<std::int64_t>& attributes = {}, const std::optional<ir::Type>& declared = {}) {
    std::vector<ir::Type> types;
    for (const std::uint32_t operand : operands) types.push_back(type(operand));
    ir::OpSignature signature{kind, types, attributes, declared.has_value() ? &*declared : nullptr, {}, {}};
    return add_op(kind, operands, attributes, ir::infer(signature), THRT_NONE);
  }

  // `body`: slot 0 the iteration, then the carried values (input and output), then the invariant ones. Returns the
  // first result.
  std::uint32_t repeat(std::int64_t trips, const std::vector<std::uint32_t>& carried,
                       const std::vector<std::uint32_t>& invariant, std::shared_ptr<ProgramBuilder> body) {
    std::vector<std::uint32_t> operands = carried;
    operands.insert(operands.end(), invariant.begin(), invariant.end());
    std::vector<ir::Type> types, inputs, outputs;
    for (const std::uint32_t operand : operands) types.push_back(type(operand));
    for (const thrt_slot& slot : body->slots_) {
      inputs.push_back(body->type(slot.input_value));
      if (slot.output_value != THRT_NONE) outputs.push_back(body->type(slot.output_value));
    }
    const std::vector<std::int64_t> attributes = {trips, static_cast<std::int64_t>(carried.size())};
    const ir::OpSignature signature{ir::OpKind::REPEAT, types, attributes, nullptr, inputs, outputs};
    const std::vector<ir::Type> results = ir::infer(signature);
    bodies_.push_back(std::move(body));
    return add_op(ir::OpKind::REPEAT, operands, attributes, results, static_cast<std::uint32_t>(bodies_.size() - 1));
  }

  ir::Type type(std::uint32_t value) const { return ir::type_of(values_[value]); }
  std::uint32_t slot_count() const { return static_cast<std::uint32_t>(slots_.size()); }
  std::uint32_t slot_index(const std::string& name) const {
    for (std::uint32_t i = 0; i < slot_count(); ++i) {
      if (slot_names_[i] == name) return i;
    }
    throw std::out_of_range("no slot " + name);
  }

  // Lives until the builder changes or ends.
  const thrt_program& program() {
    subprograms_.clear();
    for (const auto& body : bodies_) subprograms_.push_back(&body->program());
    program_ = thrt_program{};
    program_.struct_size = sizeof(thrt_program);
    program_.opset = THRT_OPSET;
    program_.values = values_.data();
    program_.ops = ops_.data();
    program_.slots = slots_.data();
    program_.operands = operands_.data();
    program_.attributes = attributes_.data();
    program_.constants = reinterpret_cast<const std::uint8_t*>(constants_.data());
    program_.strings = strings_.data();
    program_.subprograms = subprograms_.data();
    program_.constant_bytes = constants_.size() * sizeof(Chunk);
    program_.string_bytes = strings_.size();
    program_.value_count = static_cast<std::uint32_t>(values_.size());
    program_.op_count = static_cast<std::uint32_t>(ops_.size());
    program_.slot_count = slot_count();
    program_.operand_count = static_cast<std::uint32_t>(operands_.size());
    program_.attribute_count = static_cast<std::uint32_t>(attributes_.size());
    program_.subprogram_count = static_cast<std::uint32_t>(subprograms_.size());
    program_.name = name_;
    return program_;
  }

 private:
  struct alignas(64) Chunk {
    std::uint8_t bytes[64] = {};
  };

  std::uint32_t text(const std::string& words) {
    const auto offset = static_cast<std::uint32_t>(strings_.size());
    strings_ += words;
    strings_ += '\0';
    return offset;
  }
  std::uint32_t add_value(const ir::Type& type) {
    values_.push_back(ir::value_of(type));
    return static_cast<std::uint32_t>(values_.size() - 1);
  }
  std::uint32_t add_op(ir::OpKind kind, const std::vector<std::uint32_t>& operands,
                       const std::vector<std::int64_t>& attributes, const std::vector<ir::Type>& results,
                       std::uint32_t subprogram) {
    thrt_op raw{};
    raw.kind = static_cast<std::uint32_t>(kind);
    raw.version = ir::op_info(kind).version;
    raw.first_operand = static_cast<std::uint32_t>(operands_.size());
    raw.operand_count = static_cast<std::uint32_t>(operands.size());
    raw.first_attribute = static_cast<std::uint32_t>(attributes_.size());
    raw.attribute_count = static_cast<std::uint32_t>(attributes.size());
    raw.first_result = static_cast<std::uint32_t>(values_.size());
    raw.result_count = static_cast<std::uint32_t>(results.size());
    raw.subprogram = subprogram;
    raw.group = THRT_NONE;
    operands_.insert(operands_.end(), operands.begin(), operands.end());
    attributes_.insert(attributes_.end(), attributes.begin(), attributes.end());
    for (const ir::Type& result : results) add_value(result);
    ops_.push_back(raw);
    return raw.first_result;
  }

  std::uint32_t name_ = 0;
  std::string strings_;
  std::vector<thrt_value> values_;
  std::vector<thrt_op> ops_;
  std::vector<thrt_slot> slots_;
  std::vector<std::string> slot_names_;
  std::vector<std::uint32_t> operands_;
  std::vector<std::int64_t> attributes_;
  std::vector<Chunk> constants_;
  std::vector<std::shared_ptr<ProgramBuilder>> bodies_;
  std::vector<const thrt_program*> subprograms_;
  thrt_program program_{};
};

}  // namespace thrt::testing
