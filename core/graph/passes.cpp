#include <thrt/graph/passes.hpp>

#include <thrt/graph/scalar_bytes.hpp>

#include "rewriter.hpp"

#include <cmath>
#include <map>
#include <optional>
#include <tuple>

namespace thrt {
namespace {

// The value that every element of `id` has, when it is a constant of equal elements, seen through broadcasts and
// reshapes.
std::optional<double> uniform_value(const Graph& graph, ValueId id) {
  const std::uint32_t index = graph.values()[id].op;
  if (index == kNone) return {};
  const Graph::Op& op = graph.ops()[index];
  if (op.kind == OpKind::BROADCAST || op.kind == OpKind::RESHAPE) return uniform_value(graph, op.operands[0]);
  if (op.kind != OpKind::CONSTANT || graph.type(id).elements() != 1) return {};
  return scalar_value(*op.constant, graph.type(id).dtype);
}

const Graph::Op* defining(const Graph& graph, ValueId id, OpKind kind) {
  const std::uint32_t index = graph.values()[id].op;
  if (index == kNone || graph.ops()[index].kind != kind) return nullptr;
  return &graph.ops()[index];
}

bool is_identity_permutation(std::span<const std::int64_t> permutation) {
  for (std::size_t d = 0; d < permutation.size(); ++d) {
    if (permutation[d] != static_cast<std::int64_t>(d)) return false;
  }
  return true;
}

std::optional<Tensor> simplify_transpose(Graph& to, const Graph::Op& op, Tensor x) {
  if (is_identity_permutation(op.attributes)) return x;
  const Graph::Op* inner = defining(to, x.id(), OpKind::TRANSPOSE);
  if (inner == nullptr) return {};
  std::vector<std::int64_t> composed;
  for (const std::int64_t axis : op.attributes) composed.push_back(inner->attributes[static_cast<std::size_t>(axis)]);
  const Tensor source = to.tensor(inner->operands[0]);
  if (is_identity_permutation(composed)) return source;
  return to.append(OpKind::TRANSPOSE, {source}, std::move(composed));
}

std::optional<Tensor> simplify_broadcast(Graph& to, const Graph::Op& op, Tensor x, const Type& type) {
  if (x.type() == type) return x;  // strictly increasing axes, so they are the identity
  const Graph::Op* inner = defining(to, x.id(), OpKind::BROADCAST);
  if (inner == nullptr) return {};
  std::vector<std::int64_t> composed;
  for (const std::int64_t axis : inner->attributes) composed.push_back(op.attributes[static_cast<std::size_t>(axis)]);
  const Tensor source = to.tensor(inner->operands[0]);
  return to.append(OpKind::BROADCAST, {source}, std::move(composed), type);
}

std::optional<Tensor> simplify_binary(Graph& to, const Graph::Op& op, Tensor a, Tensor b) {
  if (op.kind == OpKind::MUL && uniform_value(to, a.id()) == 1.0) return b;
  const std::optional<double> right = uniform_value(to, b.id());
  if (!right) return {};
  const bool positive_zero = *right == 0.0 && !std::signbit(*right);
  if ((op.kind == OpKind::MUL || op.kind == OpKind::DIV) && *right == 1.0) return a;
  if (op.kind == OpKind::SUB && positive_zero) return a;
  if (op.kind == OpKind::POW && *right == 1.0) return a;
  if (op.kind == OpKind::POW && *right == 2.0) return to.append(OpKind::MUL, {a, a});
  return {};
}

std::optional<Tensor> simplify_op(Graph& to, const Graph& from, const Graph::Op& op, std::span<const Tensor> x) {
  const Type type = from.type(op.first_result);
  switch (op.kind) {
    case OpKind::RESHAPE: {
      if (x[0].type() == type) return x[0];  // stop_gradient too: its work is done once gradients are taken
      const Graph::Op* inner = defining(to, x[0].id(), OpKind::RESHAPE);
      if (inner == nullptr) return {};
      const Tensor source = to.tensor(inner->operands[0]);
      if (source.type() == type) return source;
      return to.append(OpKind::RESHAPE, {source}, {}, type);
    }
    case OpKind::TRANSPOSE:
      return simplify_transpose(to, op, x[0]);
    case OpKind::BROADCAST:
      return simplify_broadcast(to, op, x[0], type);
    case OpKind::SLICE:
    case OpKind::DYNAMIC_SLICE:
      if (x[0].type() == type) return x[0];
      return {};
    case OpKind::PAD:
    case OpKind::CONCAT:
      if (x[0].type() == type && (op.kind == OpKind::PAD || x.size() == 1)) return x[0];
      return {};
    case OpKind::CAST:
      if (x[0].type() == type) return x[0];
      return {};
    case OpKind::REDUCE_SUM:
    case OpKind::REDUCE_MAX:
      if (op.attributes.empty()) return x[0];
      return {};
    case OpKind::NEG:
    case OpKind::NOT:
      if (const Graph::Op* inner = defining(to, x[0].id(), op.kind)) return to.tensor(inner->operands[0]);
      return {};
    case OpKind::SELECT:
      if (x[1] == x[2]) return x[1];
      return {};
    case OpKind::MUL:
    case OpKind::DIV:
    case OpKind::SUB:
    case OpKind::POW:
      return simplify_binary(to, op, x[0], x[1]);
    default:
      return {};
  }
}

// What makes two ops the same.
using OpKey = std::tuple<OpKind, std::vector<ValueId>, std::vector<std::int64_t>, std::string, std::vector<std::byte>,
                         const Graph*>;

OpKey key_of(const Graph& from, const Graph::Op& op, std::span<const Tensor> operands) {
  std::vector<ValueId> ids;
  for (const Tensor operand : operands) ids.push_back(operand.id());
  return {op.kind,
          std::move(ids),
          op.attributes,
          from.type(op.first_result).str(),
          op.constant ? *op.constant : std::vector<std::byte>{},
          op.body.get()};
}

}  // namespace

Graph simplify(const Graph& graph) {
  return rewrite(graph, simplify, [&](Graph& to, const Graph::Op& op, std::span<const Tensor> operands) {
    std::optional<Tensor> simpler = simplify_op(to, graph, op, operands);
    return simpler ? std::optional<std::vector<Tensor>>({*simpler}) : std::nullopt;
  });
}

Graph merge_common_subexpressions(const Graph& graph) {
  std::map<OpKey, std::uint32_t> copied;  // to the op of the new graph
  return rewrite(
      graph, merge_common_subexpressions,
      [&](Graph& to, const Graph::Op& op, std::span<const Tensor> operands) -> std::optional<std::vector<Tensor>> {
        const auto [entry, is_new] =
            copied.emplace(key_of(graph, op, operands), static_cast<std::uint32_t>(to.ops().size()));
        if (is_new) return std::nullopt;  // rewrite() copies it, as op number to.ops().size()
        const Graph::Op& twin = to.ops()[entry->second];
        std::vector<Tensor> results;
        for (std::uint32_t i = 0; i < twin.result_count; ++i) results.push_back(to.tensor(twin.first_result + i));
        return results;
      });
}

Graph eliminate_dead_code(const Graph& graph) {
  std::vector<bool> live(graph.values().size(), false);
  for (const Graph::Slot& slot : graph.slots()) {
    if (slot.output != kNone) live[slot.output] = true;
  }
  std::vector<bool> needed(graph.ops().size(), false);
  for (std::size_t index = graph.ops().size(); index-- > 0;) {
    const Graph::Op& op = graph.ops()[index];
    for (std::uint32_t i = 0; i < op.result_count; ++i) needed[index] = needed[index] || live[op.first_result + i];
    if (!needed[index]) continue;
    for (const ValueId operand : op.operands) live[operand] = true;
  }
  return rewrite(graph, eliminate_dead_code,
                 [&](Graph&, const Graph::Op& op, std::span<const Tensor>) -> std::optional<std::vector<Tensor>> {
                   const auto index = static_cast<std::size_t>(&op - graph.ops().data());
                   if (needed[index]) return std::nullopt;
                   return std::vector<Tensor>{};
                 });
}

Graph optimise(const Graph& graph) {
  Graph result = eliminate_dead_code(graph);
  for (std::size_t before = SIZE_MAX; result.ops().size() < before;) {
    before = result.ops().size();
    result = eliminate_dead_code(merge_common_subexpressions(fold_constants(simplify(result))));
  }
  return result;
}

}  // namespace thrt
