// A typed, read-only view of a thrt_program. Of a verified program (verify.hpp) every call is in range; a view points
// into the program and must not outlive the call that the program came with.
#pragma once

#include <thrt/abi.h>
#include <thrt/ir/ops.hpp>
#include <thrt/ir/type.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace thrt::sdk {

class ProgramView;

// One op of a program or sub-program. A small value: copy it freely.
class OpView {
 public:
  OpView(const thrt_program& program, std::uint32_t index, std::uint32_t flat_index)
      : program_(&program), index_(index), flat_index_(flat_index) {}

  std::uint32_t index() const { return index_; }            // within its (sub-)program
  std::uint32_t flat_index() const { return flat_index_; }  // in abi.h's numbering, for errors and verdicts

  ir::OpKind kind() const { return static_cast<ir::OpKind>(raw().kind); }
  const ir::OpInfo& info() const { return ir::op_info(kind()); }
  std::string_view name() const { return info().name; }

  // Value indices of the operands.
  std::span<const std::uint32_t> operands() const {
    return {program_->operands + raw().first_operand, raw().operand_count};
  }
  std::uint32_t operand(std::size_t i) const { return operands()[i]; }
  ir::Type operand_type(std::size_t i) const { return ir::type_of(program_->values[operand(i)]); }

  std::uint32_t result_count() const { return raw().result_count; }
  std::uint32_t result(std::size_t i = 0) const { return raw().first_result + static_cast<std::uint32_t>(i); }
  ir::Type result_type(std::size_t i = 0) const { return ir::type_of(program_->values[result(i)]); }

  std::span<const std::int64_t> attributes() const {
    return {program_->attributes + raw().first_attribute, raw().attribute_count};
  }
  std::int64_t attribute(std::size_t i) const { return attributes()[i]; }

  // The bytes of a `constant` op.
  std::span<const std::byte> constant() const {
    return {reinterpret_cast<const std::byte*>(program_->constants) + attribute(0),
            static_cast<std::size_t>(result_type().bytes())};
  }

  // Of a `repeat` op.
  inline ProgramView body() const;

  std::uint32_t group() const { return raw().group; }  // or THRT_NONE; ProgramView::group_name
  std::string_view location() const { return program_->strings + raw().location; }
  const thrt_op& raw() const { return program_->ops[index_]; }

 private:
  const thrt_program* program_;
  std::uint32_t index_;
  std::uint32_t flat_index_;
};

struct SlotView {
  std::string_view name;
  std::uint32_t input_value;   // or THRT_NONE
  std::uint32_t output_value;  // or THRT_NONE
  ir::Type type;

  bool read() const { return input_value != THRT_NONE; }
  bool written() const { return output_value != THRT_NONE; }
};

class ProgramView {
 public:
  // `first_flat_index` is the number of the first op in the whole program's numbering.
  explicit ProgramView(const thrt_program& program, std::uint32_t first_flat_index = 0) : program_(&program) {
    ops_.reserve(program.op_count);
    std::uint32_t flat = first_flat_index;
    for (std::uint32_t i = 0; i < program.op_count; ++i) {
      ops_.emplace_back(program, i, flat++);
      if (program.ops[i].subprogram != THRT_NONE) {
        flat += ProgramView(*program.subprograms[program.ops[i].subprogram]).flat_op_count();
      }
    }
    flat_op_count_ = flat - first_flat_index;
  }

  std::string_view name() const { return string(program_->name); }
  const std::vector<OpView>& ops() const { return ops_; }
  std::uint32_t flat_op_count() const { return flat_op_count_; }  // sub-programs included

  std::uint32_t value_count() const { return program_->value_count; }
  ir::Type type(std::uint32_t value) const { return ir::type_of(program_->values[value]); }

  std::uint32_t slot_count() const { return program_->slot_count; }
  SlotView slot(std::uint32_t i) const {
    const thrt_slot& raw = program_->slots[i];
    const std::uint32_t value = raw.input_value != THRT_NONE ? raw.input_value : raw.output_value;
    return {string(raw.name), raw.input_value, raw.output_value, type(value)};
  }

  // All constants of this (sub-)program; `constant` ops say where theirs begin.
  std::span<const std::byte> constants() const {
    return {reinterpret_cast<const std::byte*>(program_->constants),
            static_cast<std::size_t>(program_->constant_bytes)};
  }

  std::string_view group_name(std::uint32_t group) const { return string(program_->groups[group].name); }
  std::uint32_t group_parent(std::uint32_t group) const { return program_->groups[group].parent; }

  const thrt_program& raw() const { return *program_; }

 private:
  std::string_view string(std::uint32_t offset) const { return program_->strings + offset; }

  const thrt_program* program_;
  std::vector<OpView> ops_;
  std::uint32_t flat_op_count_ = 0;
};

inline ProgramView OpView::body() const {
  return ProgramView(*program_->subprograms[raw().subprogram], flat_index_ + 1);
}

}  // namespace thrt::sdk
