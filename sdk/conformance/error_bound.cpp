#include "error_bound.hpp"

#include "error_rules.hpp"

#include <memory>
#include <utility>

namespace thrt::conformance {
namespace {

// A program's values in the graph that is being made.
using Values = std::vector<Approximate>;

Values bounded_repeat(Graph& to, const Graph::Op& op, const Values& operands, const ErrorModel& model);

void append_bounded(Graph& to, const Graph& from, Values& values, const ErrorModel& model) {
  for (const Graph::Op& op : from.ops()) {
    Values operands;
    for (const ValueId operand : op.operands) operands.push_back(values[operand]);
    const Graph::Mark location(to, "", op.location);
    if (op.kind == OpKind::REPEAT) {
      const Values results = bounded_repeat(to, op, operands, model);
      for (std::size_t i = 0; i < results.size(); ++i) values[op.first_result + i] = results[i];
    } else {
      values[op.first_result] = apply_rule({to, from, op, std::move(operands), model});
    }
  }
}

// The body carries each value with its doubt, so the doubts grow as the iterations go.
Values bounded_repeat(Graph& to, const Graph::Op& op, const Values& operands, const ErrorModel& model) {
  const Graph& body = *op.body;
  const std::size_t carried = op.result_count;
  auto loop = std::make_shared<Graph>(body.name());
  Values inside(body.values().size());
  std::vector<Tensor> carried_operands, invariants;
  for (std::size_t s = 0; s < body.slots().size(); ++s) {
    const Graph::Slot& slot = body.slots()[s];
    if (s == 0) {
      inside[slot.input] = {loop->input(slot.name, slot.type), {}};
    } else if (s <= carried) {
      inside[slot.input] = {loop->state(slot.name, wide(slot.type), {}),
                            loop->state(doubt_name(slot.name), doubt_type(slot.type), {})};
      carried_operands.push_back(operands[s - 1].value);
      carried_operands.push_back(doubt_or_none(operands[s - 1]));
    }
  }
  for (std::size_t s = carried + 1; s < body.slots().size(); ++s) {
    const Graph::Slot& slot = body.slots()[s];
    inside[slot.input].value = loop->input(slot.name, wide(slot.type));
    invariants.push_back(operands[s - 1].value);
    if (!operands[s - 1].doubt) continue;
    inside[slot.input].doubt = loop->input(doubt_name(slot.name), doubt_type(slot.type));
    invariants.push_back(operands[s - 1].doubt);
  }
  append_bounded(*loop, body, inside, model);
  for (std::size_t s = 1; s <= carried; ++s) {
    const Graph::Slot& slot = body.slots()[s];
    loop->update(slot.name, inside[slot.output].value);
    loop->update(doubt_name(slot.name), doubt_or_none(inside[slot.output]));
  }
  const std::vector<Tensor> results = to.append_repeat(op.attributes[0], carried_operands, invariants, loop);
  Values values;
  for (std::size_t i = 0; i < carried; ++i) values.push_back({results[2 * i], results[2 * i + 1]});
  return values;
}

}  // namespace

std::string value_name(const std::string& slot) {
  return slot + "#value";
}

std::string doubt_name(const std::string& slot) {
  return slot + "#doubt";
}

std::string doubt_input_name(const std::string& slot) {
  return slot + "#doubt before";
}

Graph bounded(const Graph& graph, const ErrorModel& model) {
  Graph to(graph.name() + "#bounded");
  Values values(graph.values().size());
  for (const Graph::Slot& slot : graph.slots()) {
    if (slot.input == kNone) continue;
    values[slot.input].value = to.input(slot.name, wide(slot.type));
    if (model.carries_state && slot.kind == Graph::SlotKind::kState) {
      values[slot.input].doubt = to.input(doubt_input_name(slot.name), doubt_type(slot.type));
    }
  }
  append_bounded(to, graph, values, model);
  for (const Graph::Slot& slot : graph.slots()) {
    if (slot.output == kNone) continue;
    const Approximate& result = values[slot.output];
    to.output(value_name(slot.name), result.value);
    if (result.doubt) to.output(doubt_name(slot.name), result.doubt);
  }
  return to;
}

}  // namespace thrt::conformance
