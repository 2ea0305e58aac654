#include <thrt/graph/passes.hpp>

#include <thrt/graph/scalar_bytes.hpp>

#include "rewriter.hpp"

#include <cstring>
#include <optional>

namespace thrt {
namespace {

bool is_elementwise(OpKind kind) {
  switch (ir::op_info(kind).rule) {
    case ir::Rule::kUnary:
    case ir::Rule::kCast:
    case ir::Rule::kBinary:
    case ir::Rule::kCompare:
    case ir::Rule::kSelect:
      return true;
    default:
      return false;
  }
}

const Graph::Op* defining(const Graph& graph, ValueId id) {
  const std::uint32_t index = graph.values()[id].op;
  return index == kNone ? nullptr : &graph.ops()[index];
}

// The value of rank 0 that every element of x has, seen through a broadcast.
std::optional<Tensor> scalar_behind(Graph& graph, Tensor x) {
  if (x.rank() == 0) return x;
  const Graph::Op* op = defining(graph, x.id());
  if (op == nullptr || op->kind != OpKind::BROADCAST || graph.type(op->operands[0]).shape.rank() != 0) return {};
  return graph.tensor(op->operands[0]);
}

template <typename T>
T value_of(const std::vector<std::byte>& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

template <typename T>
std::vector<std::byte> bytes_of(T value) {
  std::vector<std::byte> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

// Only what one correct rounding settles, so that folding brings no error of its own.
std::optional<std::vector<std::byte>> evaluate_f32(OpKind kind, float a, float b) {
  switch (kind) {
    case OpKind::NEG:
      return bytes_of(-a);
    case OpKind::ADD:
      return bytes_of(a + b);
    case OpKind::SUB:
      return bytes_of(a - b);
    case OpKind::MUL:
      return bytes_of(a * b);
    case OpKind::DIV:
      return bytes_of(a / b);
    case OpKind::EQ:
      return bytes_of(static_cast<std::uint8_t>(a == b));
    case OpKind::LT:
      return bytes_of(static_cast<std::uint8_t>(a < b));
    case OpKind::LE:
      return bytes_of(static_cast<std::uint8_t>(a <= b));
    default:
      return {};
  }
}

// Both kinds of integer: they wrap alike.
std::optional<std::vector<std::byte>> evaluate_integer(OpKind kind, std::uint32_t a, std::uint32_t b) {
  switch (kind) {
    case OpKind::NEG:
      return bytes_of(0u - a);
    case OpKind::ADD:
      return bytes_of(a + b);
    case OpKind::SUB:
      return bytes_of(a - b);
    case OpKind::MUL:
      return bytes_of(a * b);
    case OpKind::EQ:
      return bytes_of(static_cast<std::uint8_t>(a == b));
    default:
      return {};
  }
}

std::optional<std::vector<std::byte>> evaluate(const Graph& graph, const Graph::Op& op, std::span<const Tensor> x) {
  std::vector<const std::vector<std::byte>*> constants;
  for (const Tensor operand : x) {
    const Graph::Op* from = defining(graph, operand.id());
    if (from == nullptr || from->kind != OpKind::CONSTANT) return {};
    constants.push_back(from->constant.get());
  }
  const std::vector<std::byte>& first = *constants.front();
  const std::vector<std::byte>& second = *constants.back();  // the first again for one operand
  if (op.kind == OpKind::SELECT) return value_of<std::uint8_t>(first) != 0 ? *constants[1] : *constants[2];
  switch (x[0].dtype()) {
    case DType::kF32:
      return evaluate_f32(op.kind, value_of<float>(first), value_of<float>(second));
    case DType::kI32:
    case DType::kU32:
      return evaluate_integer(op.kind, value_of<std::uint32_t>(first), value_of<std::uint32_t>(second));
    default:
      return {};
  }
}

std::optional<std::vector<Tensor>> fold(const Graph& from, Graph& to, const Graph::Op& op,
                                        std::span<const Tensor> operands) {
  if (!is_elementwise(op.kind)) return {};
  std::vector<Tensor> scalars;
  for (const Tensor operand : operands) {
    const std::optional<Tensor> scalar = scalar_behind(to, operand);
    if (!scalar) return {};
    scalars.push_back(*scalar);
  }
  const Type type = from.type(op.first_result);
  const Type scalar_type{type.dtype, {}};
  std::optional<std::vector<std::byte>> bytes = evaluate(to, op, scalars);
  if (!bytes && type.shape.rank() == 0) return {};  // one op on one element: as small as it gets
  Tensor result = bytes ? to.constant(scalar_type, std::move(*bytes))
                        : to.append(op.kind, scalars, op.attributes,
                                    op.kind == OpKind::CAST ? std::optional<Type>(scalar_type) : std::nullopt);
  if (type.shape.rank() > 0) result = to.append(OpKind::BROADCAST, {result}, {}, type);
  return std::vector<Tensor>{result};
}

}  // namespace

Graph fold_constants(const Graph& graph) {
  return rewrite(graph, fold_constants, [&](Graph& to, const Graph::Op& op, std::span<const Tensor> operands) {
    return fold(graph, to, op, operands);
  });
}

}  // namespace thrt
