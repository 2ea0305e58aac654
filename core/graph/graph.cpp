#include <thrt/graph/graph.hpp>

#include <thrt/error.hpp>

#include <fmt/format.h>

namespace thrt {

Tensor Graph::input(const std::string& name, const Type& type) {
  Slot& slot = new_slot(name, SlotKind::kInput, type);
  slot.input = new_value(type, kNone, static_cast<std::uint32_t>(slots_.size() - 1));
  return {this, slot.input};
}

Tensor Graph::state(const std::string& name, const Type& type, const Init& init) {
  if (const Slot* slot = find_slot(name)) {
    if (slot->kind != SlotKind::kState || !(slot->type == type) || !(slot->init == init)) {
      throw Error(fmt::format("graph '{}': slot '{}' is declared twice, differently", name_, name),
                  fmt::format("first {}, now state {}", slot->type.str(), type.str()),
                  "give the two things two names, or ask for the same type and initialisation");
    }
    return {this, slot->input};
  }
  Slot& slot = new_slot(name, SlotKind::kState, type);
  slot.init = init;
  slot.input = new_value(type, kNone, static_cast<std::uint32_t>(slots_.size() - 1));
  return {this, slot.input};
}

void Graph::update(const std::string& name, Tensor value) {
  require_mine(value);
  const std::uint32_t index = find_slot_index(name);
  if (index == kNone || slots_[index].kind != SlotKind::kState) {
    throw Error(fmt::format("graph '{}' has no state '{}' to update", name_, name));
  }
  if (!(slots_[index].type == value.type())) {
    throw Error(fmt::format("graph '{}': state '{}' is {} and cannot become {}", name_, name, slots_[index].type.str(),
                            value.type().str()));
  }
  slots_[index].output = value.id();
}

Tensor Graph::current(const std::string& name) {
  const Slot* slot = find_slot(name);
  if (slot == nullptr || slot->kind != SlotKind::kState) {
    throw Error(fmt::format("graph '{}' has no state '{}'", name_, name));
  }
  return {this, slot->output != kNone ? slot->output : slot->input};
}

void Graph::output(const std::string& name, Tensor value) {
  require_mine(value);
  new_slot(name, SlotKind::kOutput, value.type()).output = value.id();
}

const Graph::Slot* Graph::find_slot(std::string_view name) const {
  const std::uint32_t index = find_slot_index(name);
  return index == kNone ? nullptr : &slots_[index];
}

Tensor Graph::append(OpKind kind, const std::vector<Tensor>& operands, std::vector<std::int64_t> attributes,
                     std::optional<Type> declared) {
  std::vector<Type> types;
  Op op{.kind = kind, .attributes = std::move(attributes)};
  for (const Tensor operand : operands) {
    require_mine(operand);
    types.push_back(operand.type());
    op.operands.push_back(operand.id());
  }
  const std::vector<Type> results = ir::infer(
      {.kind = kind, .operands = types, .attributes = op.attributes, .declared = declared ? &*declared : nullptr});
  return push(std::move(op), results)[0];
}

Tensor Graph::constant(const Type& type, std::vector<std::byte> bytes) {
  if (bytes.size() != type.bytes()) {
    throw Error(fmt::format("graph '{}': a constant {} got {} bytes", name_, type.str(), bytes.size()));
  }
  Op op{.kind = OpKind::CONSTANT};
  op.constant = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return push(std::move(op), {&type, 1})[0];
}

Tensor Graph::stop_gradient(Tensor x) {
  require_mine(x);
  Op op{.kind = OpKind::RESHAPE, .operands = {x.id()}};
  op.stops_gradient = true;
  const Type type = x.type();
  return push(std::move(op), {&type, 1})[0];
}

std::vector<Tensor> Graph::append_repeat(std::int64_t trips, std::span<const Tensor> carried,
                                         std::span<const Tensor> invariants, std::shared_ptr<const Graph> body) {
  Op op{.kind = OpKind::REPEAT, .attributes = {trips, static_cast<std::int64_t>(carried.size())}};
  std::vector<Type> types, body_inputs, body_outputs;
  for (const auto& list : {carried, invariants}) {
    for (const Tensor operand : list) {
      require_mine(operand);
      types.push_back(operand.type());
      op.operands.push_back(operand.id());
    }
  }
  for (const Slot& slot : body->slots()) {
    body_inputs.push_back(slot.type);
    if (slot.output != kNone) body_outputs.push_back(slot.type);
  }
  const std::vector<Type> results = ir::infer({.kind = OpKind::REPEAT,
                                               .operands = types,
                                               .attributes = op.attributes,
                                               .declared = nullptr,
                                               .body_inputs = body_inputs,
                                               .body_outputs = body_outputs});
  op.body = std::move(body);
  return push(std::move(op), results);
}

std::vector<Tensor> Graph::append_copy(const Graph& from, const Op& op, std::span<const Tensor> operands,
                                       GroupMap& groups) {
  Op copy = op;
  copy.operands.clear();
  for (const Tensor operand : operands) {
    require_mine(operand);
    copy.operands.push_back(operand.id());
  }
  std::vector<Type> results;
  for (std::uint32_t i = 0; i < op.result_count; ++i) results.push_back(from.type(op.first_result + i));
  std::vector<Tensor> tensors = push(std::move(copy), results);
  ops_.back().group = copy_group(from, op.group, groups);
  ops_.back().location = op.location;
  return tensors;
}

Tensor Graph::declare_slot(const Slot& slot) {
  switch (slot.kind) {
    case SlotKind::kInput:
      return input(slot.name, slot.type);
    case SlotKind::kState:
      return state(slot.name, slot.type, slot.init);
    case SlotKind::kOutput:
      new_slot(slot.name, SlotKind::kOutput, slot.type);
      break;
  }
  return {};
}

void Graph::set_output(const std::string& name, Tensor value) {
  require_mine(value);
  slots_[find_slot_index(name)].output = value.id();
}

Graph::Mark::Mark(Graph& graph, const Graph& from, const Op& op, GroupMap& groups)
    : graph_(graph), outer_group_(graph.group_), outer_location_(graph.location_) {
  graph.group_ = graph.copy_group(from, op.group, groups);
  graph.location_ = op.location;
}

Graph::Mark::Mark(Graph& graph, std::string group, std::string location)
    : graph_(graph), outer_group_(graph.group_), outer_location_(graph.location_) {
  if (!group.empty()) {
    graph.groups_.push_back({std::move(group), outer_group_});
    graph.group_ = static_cast<std::uint32_t>(graph.groups_.size() - 1);
  }
  if (!location.empty()) {
    graph.location_ = outer_location_.empty() ? std::move(location) : outer_location_ + "/" + location;
  }
}

Graph::Mark::~Mark() {
  graph_.group_ = outer_group_;
  graph_.location_ = std::move(outer_location_);
}

std::uint32_t Graph::find_slot_index(std::string_view name) const {
  const auto found = slot_names_.find(name);
  return found == slot_names_.end() ? kNone : found->second;
}

Graph::Slot& Graph::new_slot(const std::string& name, SlotKind kind, const Type& type) {
  if (!slot_names_.emplace(name, static_cast<std::uint32_t>(slots_.size())).second) {
    throw Error(fmt::format("graph '{}': slot '{}' is declared twice", name_, name), {}, "give each slot its own name");
  }
  slots_.push_back({.name = name, .kind = kind, .type = type, .input = kNone, .output = kNone, .init = {}});
  return slots_.back();
}

ValueId Graph::new_value(const Type& type, std::uint32_t op, std::uint32_t slot) {
  values_.push_back({type, op, slot});
  return static_cast<ValueId>(values_.size() - 1);
}

std::vector<Tensor> Graph::push(Op op, std::span<const Type> results) {
  op.group = group_;
  op.location = location_;
  op.first_result = static_cast<ValueId>(values_.size());
  op.result_count = static_cast<std::uint32_t>(results.size());
  const auto index = static_cast<std::uint32_t>(ops_.size());
  std::vector<Tensor> tensors;
  for (const Type& type : results) tensors.emplace_back(this, new_value(type, index, kNone));
  ops_.push_back(std::move(op));
  return tensors;
}

std::uint32_t Graph::copy_group(const Graph& from, std::uint32_t group, GroupMap& groups) {
  if (group == kNone) return group_;
  if (const auto known = groups.find(group); known != groups.end()) return known->second;
  const std::uint32_t parent = copy_group(from, from.groups_[group].parent, groups);
  groups_.push_back({from.groups_[group].name, parent});
  return groups[group] = static_cast<std::uint32_t>(groups_.size() - 1);
}

void Graph::require_mine(Tensor value) const {
  if (!value || &value.graph() != this) {
    throw Error(fmt::format("graph '{}': a value of another graph was used", name_), {},
                "pass it in as an input, or build both parts in one graph");
  }
}

}  // namespace thrt
