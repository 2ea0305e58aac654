#include <thrt/graph/program.hpp>

#include <thrt/error.hpp>
#include <thrt/ir/fingerprint.hpp>
#include <thrt/ir/opset.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "aligned_bytes.hpp"

namespace thrt {
namespace {

// Collects what the C arrays will hold.
struct Tables {
  std::vector<thrt_value> values;
  std::vector<thrt_op> ops;
  std::vector<thrt_slot> slots;
  std::vector<std::uint32_t> operands;
  std::vector<std::int64_t> attributes;
  std::vector<std::byte> constants;
  std::string strings = std::string(1, '\0');
  std::vector<thrt_group> groups;
  std::map<std::string, std::uint32_t, std::less<>> string_offsets = {{"", 0}};
  std::map<std::string, std::int64_t, std::less<>> constant_offsets;  // by their bytes

  std::uint32_t string(const std::string& text) {
    const auto [entry, is_new] = string_offsets.emplace(text, static_cast<std::uint32_t>(strings.size()));
    if (is_new) strings.append(text).push_back('\0');
    return entry->second;
  }

  std::int64_t constant(const std::vector<std::byte>& bytes) {
    const auto [entry, is_new] =
        constant_offsets.emplace(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                                 static_cast<std::int64_t>(constants.size()));
    if (is_new) {
      constants.insert(constants.end(), bytes.begin(), bytes.end());
      constants.resize((constants.size() + kConstantAlignment - 1) / kConstantAlignment * kConstantAlignment);
    }
    return entry->second;
  }
};

}  // namespace

struct Program::Data {
  explicit Data(Tables&& collected) : tables(std::move(collected)), constants(tables.constants) {}

  std::string name;
  std::vector<Slot> slots;
  std::vector<Program> subprograms;
  std::vector<const thrt_program*> subprogram_pointers;
  Tables tables;
  AlignedBytes constants;
  thrt_program abi{};
};

const thrt_program* Program::abi() const {
  return &data_->abi;
}
const std::vector<Program::Slot>& Program::slots() const {
  return data_->slots;
}
const std::string& Program::name() const {
  return data_->name;
}

std::size_t Program::op_count() const {
  std::size_t count = data_->tables.ops.size();
  for (const thrt_op& op : data_->tables.ops) {
    if (op.subprogram != kNone) count += data_->subprograms[op.subprogram].op_count();
  }
  return count;
}

std::string Program::describe_op(std::uint32_t index) const {
  std::uint32_t seen = 0;
  for (const thrt_op& op : data_->tables.ops) {
    if (seen == index) {
      const char* location = data_->tables.strings.c_str() + op.location;
      return fmt::format("op {} {}{}", index, ir::op_info(static_cast<OpKind>(op.kind)).name,
                         *location == '\0' ? std::string() : fmt::format(" ({})", location));
    }
    ++seen;
    if (op.subprogram == kNone) continue;
    const auto inner = static_cast<std::uint32_t>(data_->subprograms[op.subprogram].op_count());
    if (index < seen + inner) {
      return fmt::format("op {}, in {}: {}", index, data_->subprograms[op.subprogram].name(),
                         data_->subprograms[op.subprogram].describe_op(index - seen));
    }
    seen += inner;
  }
  return fmt::format("op {}", index);
}

namespace {

thrt_op lower_op(Tables& tables, const Graph::Op& op) {
  thrt_op lowered{};
  lowered.kind = static_cast<std::uint32_t>(op.kind);
  lowered.version = ir::op_info(op.kind).version;
  lowered.first_operand = static_cast<std::uint32_t>(tables.operands.size());
  lowered.operand_count = static_cast<std::uint32_t>(op.operands.size());
  tables.operands.insert(tables.operands.end(), op.operands.begin(), op.operands.end());
  lowered.first_result = op.first_result;
  lowered.result_count = op.result_count;
  lowered.first_attribute = static_cast<std::uint32_t>(tables.attributes.size());
  if (op.kind == OpKind::CONSTANT) {
    tables.attributes.push_back(tables.constant(*op.constant));
  } else {
    tables.attributes.insert(tables.attributes.end(), op.attributes.begin(), op.attributes.end());
  }
  lowered.attribute_count = static_cast<std::uint32_t>(tables.attributes.size()) - lowered.first_attribute;
  lowered.subprogram = kNone;
  lowered.group = op.group;
  lowered.location = tables.string(op.location);
  return lowered;
}

std::vector<Program::Slot> lower_slots(Tables& tables, const Graph& graph) {
  std::vector<Program::Slot> slots;
  for (const Graph::Slot& slot : graph.slots()) {
    if (slot.input == kNone && slot.output == kNone) {
      throw Error(fmt::format("graph '{}': output '{}' has no value", graph.name(), slot.name));
    }
    tables.slots.push_back({tables.string(slot.name), slot.input, slot.output, 0});
    slots.push_back(
        {slot.name, slot.kind, slot.type, slot.kind == Graph::SlotKind::kState && slot.output != kNone, slot.init});
  }
  return slots;
}

Tables tables_of(const thrt_program& program) {
  Tables tables;
  tables.values.assign(program.values, program.values + program.value_count);
  tables.ops.assign(program.ops, program.ops + program.op_count);
  tables.slots.assign(program.slots, program.slots + program.slot_count);
  tables.operands.assign(program.operands, program.operands + program.operand_count);
  tables.attributes.assign(program.attributes, program.attributes + program.attribute_count);
  const auto* constants = reinterpret_cast<const std::byte*>(program.constants);
  tables.constants.assign(constants, constants + program.constant_bytes);
  tables.strings.assign(program.strings, program.string_bytes);
  tables.groups.assign(program.groups, program.groups + program.group_count);
  return tables;
}

std::vector<Program::Slot> slots_of(const thrt_program& program) {
  std::vector<Program::Slot> slots;
  for (std::uint32_t i = 0; i < program.slot_count; ++i) {
    const thrt_slot& slot = program.slots[i];
    const bool read = slot.input_value != THRT_NONE;
    const bool written = slot.output_value != THRT_NONE;
    const auto kind = !read ? Graph::SlotKind::kOutput : written ? Graph::SlotKind::kState : Graph::SlotKind::kInput;
    const thrt_value& value = program.values[read ? slot.input_value : slot.output_value];
    slots.push_back({program.strings + slot.name, kind, ir::type_of(value), read && written, Init::zeros()});
  }
  return slots;
}

// The lowest one that has all the ops, those of sub-programs included.
std::uint32_t opset_of(const Graph& graph) {
  std::uint32_t opset = ir::kOldestOpset;
  for (const Graph::Op& op : graph.ops()) {
    opset = std::max({opset, ir::op_since(op.kind), op.body ? opset_of(*op.body) : opset});
  }
  return opset;
}

void point_at_tables(thrt_program& abi, const Tables& t) {
  abi.struct_size = sizeof(thrt_program);
  abi.values = t.values.data();
  abi.ops = t.ops.data();
  abi.slots = t.slots.data();
  abi.operands = t.operands.data();
  abi.attributes = t.attributes.data();
  abi.strings = t.strings.data();
  abi.groups = t.groups.data();
  abi.constant_bytes = t.constants.size();
  abi.string_bytes = t.strings.size();
  abi.value_count = static_cast<std::uint32_t>(t.values.size());
  abi.op_count = static_cast<std::uint32_t>(t.ops.size());
  abi.slot_count = static_cast<std::uint32_t>(t.slots.size());
  abi.operand_count = static_cast<std::uint32_t>(t.operands.size());
  abi.attribute_count = static_cast<std::uint32_t>(t.attributes.size());
  abi.group_count = static_cast<std::uint32_t>(t.groups.size());
}

}  // namespace

Program lower(const Graph& graph) {
  Tables tables;
  std::vector<Program> subprograms;
  std::map<const Graph*, std::uint32_t> known_bodies;
  for (const Graph::Value& value : graph.values()) tables.values.push_back(ir::value_of(value.type));
  for (const Graph::Op& op : graph.ops()) {
    thrt_op lowered = lower_op(tables, op);
    if (op.body) {
      const auto [entry, is_new] = known_bodies.emplace(op.body.get(), static_cast<std::uint32_t>(subprograms.size()));
      if (is_new) subprograms.push_back(lower(*op.body));
      lowered.subprogram = entry->second;
    }
    tables.ops.push_back(lowered);
  }
  std::vector<Program::Slot> slots = lower_slots(tables, graph);
  for (const Graph::Group& group : graph.groups()) tables.groups.push_back({tables.string(group.name), group.parent});
  const std::uint32_t name = tables.string(graph.name());

  auto data = std::make_shared<Program::Data>(std::move(tables));
  data->name = graph.name();
  data->slots = std::move(slots);
  data->subprograms = std::move(subprograms);
  for (const Program& subprogram : data->subprograms) data->subprogram_pointers.push_back(subprogram.abi());
  point_at_tables(data->abi, data->tables);
  data->abi.opset = opset_of(graph);
  data->abi.constants = reinterpret_cast<const std::uint8_t*>(data->constants.data());
  data->abi.subprograms = data->subprogram_pointers.data();
  data->abi.subprogram_count = static_cast<std::uint32_t>(data->subprogram_pointers.size());
  data->abi.name = name;
  const auto fingerprint = ir::fingerprint(data->abi);
  data->abi.fingerprint[0] = fingerprint[0];
  data->abi.fingerprint[1] = fingerprint[1];
  Program program;
  program.data_ = std::move(data);
  return program;
}

Program copy_of(const thrt_program& original) {
  auto data = std::make_shared<Program::Data>(tables_of(original));
  data->name = original.strings + original.name;
  data->slots = slots_of(original);
  for (std::uint32_t i = 0; i < original.subprogram_count; ++i) {
    data->subprograms.push_back(copy_of(*original.subprograms[i]));
  }
  for (const Program& subprogram : data->subprograms) data->subprogram_pointers.push_back(subprogram.abi());
  data->abi = original;
  point_at_tables(data->abi, data->tables);
  data->abi.constants = reinterpret_cast<const std::uint8_t*>(data->constants.data());
  data->abi.subprograms = data->subprogram_pointers.data();
  Program program;
  program.data_ = std::move(data);
  return program;
}

}  // namespace thrt
