#include "rewriter.hpp"

namespace thrt {

Graph rewrite(const Graph& from, Graph (*pass)(const Graph&), const Replace& replace) {
  Graph to(from.name());
  std::vector<Tensor> mapped(from.values().size());
  for (const Graph::Slot& slot : from.slots()) {
    const Tensor value = to.declare_slot(slot);
    if (slot.input != kNone) mapped[slot.input] = value;
  }

  Graph::GroupMap groups;
  std::map<const Graph*, std::shared_ptr<const Graph>> bodies;  // one body used twice stays one
  for (const Graph::Op& op : from.ops()) {
    std::vector<Tensor> operands;
    bool dropped = false;
    for (const ValueId operand : op.operands) {
      operands.push_back(mapped[operand]);
      dropped = dropped || !mapped[operand];
    }
    std::optional<std::vector<Tensor>> results;
    if (dropped) {
      results.emplace();
    } else {
      const Graph::Mark mark(to, from, op, groups);  // what replaces an op belongs where the op belonged
      results = replace(to, op, operands);
    }
    if (!results) {
      if (op.body) {
        std::shared_ptr<const Graph>& body = bodies[op.body.get()];
        if (!body) body = std::make_shared<const Graph>(pass(*op.body));
        Graph::Op copy = op;
        copy.body = body;
        results = to.append_copy(from, copy, operands, groups);
      } else {
        results = to.append_copy(from, op, operands, groups);
      }
    }
    for (std::size_t i = 0; i < results->size(); ++i) mapped[op.first_result + i] = (*results)[i];
  }

  for (const Graph::Slot& slot : from.slots()) {
    if (slot.output != kNone) to.set_output(slot.name, mapped[slot.output]);
  }
  return to;
}

}  // namespace thrt
