#include <thrt/graph/repeat.hpp>

#include <thrt/error.hpp>
#include <thrt/graph/tensor_ops.hpp>

#include <fmt/format.h>

namespace thrt {
namespace {

constexpr const char* kIteration = "iteration";

Type stacked(const Type& type, std::int64_t trips) {
  Type result{type.dtype, {trips}};
  for (const std::int64_t dim : type.shape) result.shape.push_back(dim);
  return result;
}

bool is_carried(const Graph::Slot& slot) {
  return slot.kind == Graph::SlotKind::kState && slot.output != kNone;
}

// `body` with its slots in the order that ops.def asks of a repeat's sub-program, and its outputs written into rings.
Graph arranged(const Graph& body, std::int64_t trips) {
  Graph to(body.name());
  NamedTensors values;
  const Tensor iteration = to.input(kIteration, {DType::kI32, {}});
  values[kIteration] = iteration;
  for (const Graph::Slot& slot : body.slots()) {
    if (is_carried(slot)) values[slot.name] = to.state(slot.name, slot.type, slot.init);
  }
  for (const Graph::Slot& slot : body.slots()) {
    if (slot.kind == Graph::SlotKind::kOutput) to.state(slot.name, stacked(slot.type, trips), Init::zeros());
  }
  for (const Graph::Slot& slot : body.slots()) {
    if (slot.kind == Graph::SlotKind::kOutput || is_carried(slot) || slot.name == kIteration) continue;
    values[slot.name] = to.input(slot.name, slot.type);
  }
  const NamedTensors results = splice(to, body, values);
  for (const Graph::Slot& slot : body.slots()) {
    if (is_carried(slot)) to.update(slot.name, results.at(slot.name));
    if (slot.kind != Graph::SlotKind::kOutput) continue;
    const Tensor ring = to.current(slot.name);
    const Tensor row = reshape(results.at(slot.name), stacked(slot.type, 1).shape);
    to.update(slot.name, dynamic_update_slice(ring, row, starts_along(ring, 0, iteration)));
  }
  return to;
}

}  // namespace

NamedTensors splice(Graph& dst, const Graph& src, const NamedTensors& inputs) {
  std::vector<Tensor> mapped(src.values().size());
  for (const Graph::Slot& slot : src.slots()) {
    if (slot.input == kNone) continue;
    const auto found = inputs.find(slot.name);
    if (found == inputs.end()) {
      throw Error(fmt::format("graph '{}': '{}' of '{}' is given no value", dst.name(), slot.name, src.name()));
    }
    if (!(found->second.type() == slot.type)) {
      throw Error(fmt::format("graph '{}': '{}' of '{}' is {}, but gets {}", dst.name(), slot.name, src.name(),
                              slot.type.str(), found->second.type().str()));
    }
    mapped[slot.input] = found->second;
  }
  Graph::GroupMap groups;
  for (const Graph::Op& op : src.ops()) {
    std::vector<Tensor> operands;
    for (const ValueId operand : op.operands) operands.push_back(mapped[operand]);
    const std::vector<Tensor> results = dst.append_copy(src, op, operands, groups);
    for (std::size_t i = 0; i < results.size(); ++i) mapped[op.first_result + i] = results[i];
  }
  NamedTensors outputs;
  for (const Graph::Slot& slot : src.slots()) {
    if (slot.output != kNone) outputs[slot.name] = mapped[slot.output];
  }
  return outputs;
}

// What repeat gives without a single iteration. (The body could not be arranged: its rows do not fit into rings of no
// rows.)
static NamedTensors repeat_never(Graph& graph, const Graph& body) {
  NamedTensors outputs;
  for (const Graph::Slot& slot : body.slots()) {
    if (slot.kind == Graph::SlotKind::kState) graph.state(slot.name, slot.type, slot.init);
    if (slot.kind == Graph::SlotKind::kOutput) outputs[slot.name] = full(graph, stacked(slot.type, 0), 0.0);
  }
  return outputs;
}

NamedTensors repeat(Graph& graph, std::int64_t trips, const Graph& body, const NamedTensors& inputs) {
  if (trips == 0) return repeat_never(graph, body);
  auto loop = std::make_shared<Graph>(arranged(body, trips));
  std::vector<Tensor> carried, invariants;
  for (const Graph::Slot& slot : loop->slots()) {
    if (slot.name == kIteration) continue;
    const Graph::Slot* own = body.find_slot(slot.name);
    if (own->kind == Graph::SlotKind::kOutput) {
      carried.push_back(full(graph, slot.type, 0.0));
    } else if (own->kind == Graph::SlotKind::kState) {
      graph.state(slot.name, own->type, own->init);
      (is_carried(*own) ? carried : invariants).push_back(graph.current(slot.name));
    } else {
      const auto found = inputs.find(slot.name);
      if (found == inputs.end()) {
        throw Error(fmt::format("graph '{}': input '{}' of the repeat of '{}' is given no value", graph.name(),
                                slot.name, body.name()));
      }
      invariants.push_back(found->second);
    }
  }
  if (carried.empty()) {
    throw Error(fmt::format("graph '{}': the repeat of '{}' has no state and no output", graph.name(), body.name()));
  }
  const std::vector<Tensor> results = graph.append_repeat(trips, carried, invariants, loop);
  NamedTensors outputs;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Graph::Slot& slot = loop->slots()[i + 1];
    if (body.find_slot(slot.name)->kind == Graph::SlotKind::kOutput) {
      outputs[slot.name] = results[i];
    } else {
      graph.update(slot.name, results[i]);
    }
  }
  return outputs;
}

}  // namespace thrt
