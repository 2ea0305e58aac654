// Behind body.hpp: how each op that moves or combines elements is pulled.
#pragma once

#include <thrt/emit/body.hpp>

namespace thrt::emit::detail {

inline std::string Body::computed(const sdk::OpView& op, const Indices& at) {
  const ir::DType dtype = op.result_type().dtype;
  const std::span<const std::int64_t> attributes = op.attributes();
  const auto attribute = [&](std::size_t i) { return attributes[i]; };
  if (is_pointwise(op.kind())) return pointwise(op, at);
  if (together && scopes_.size() == 1) {
    if (const std::optional<std::string> made = together(op, at)) return *made;
  }
  switch (op.kind()) {
    case ir::OpKind::IOTA: {
      const std::string number = cast(d_, d_.i32, variables.text(at[static_cast<std::size_t>(attribute(0))]));
      return assigned(dtype, scalar_cast(d_, ir::DType::kI32, dtype, number, functions));
    }
    case ir::OpKind::BROADCAST: {
      const ir::Shape from = op.operand_type(0).shape;
      Indices source(attributes.size());
      for (std::size_t d = 0; d < source.size(); ++d) {
        if (from[static_cast<int>(d)] != 1) source[d] = at[static_cast<std::size_t>(attribute(d))];
      }
      return element(op.operand(0), source);
    }
    case ir::OpKind::RESHAPE:
      return element(op.operand(0), unflatten(flatten(at, op.result_type().shape), op.operand_type(0).shape));
    case ir::OpKind::TRANSPOSE: {
      Indices source(at.size());
      for (std::size_t d = 0; d < at.size(); ++d) source[static_cast<std::size_t>(attribute(d))] = at[d];
      return element(op.operand(0), source);
    }
    case ir::OpKind::SLICE: {
      Indices source(at.size());
      for (std::size_t d = 0; d < at.size(); ++d) source[d] = at[d] * attribute(2 * at.size() + d) + attribute(d);
      return element(op.operand(0), source);
    }
    case ir::OpKind::PAD:
      return pad(op, at);
    case ir::OpKind::CONCAT:
      return concat(op, at, 0, 0);
    case ir::OpKind::GATHER:
      return gather(op, at);
    case ir::OpKind::DYNAMIC_SLICE:
      return dynamic_slice(op, at);
    case ir::OpKind::DYNAMIC_UPDATE_SLICE:
      return dynamic_update_slice(op, at);
    case ir::OpKind::REDUCE_SUM:
    case ir::OpKind::REDUCE_MAX:
      return reduce(op, at);
    case ir::OpKind::ARGMAX:
      return argmax(op, at);
    case ir::OpKind::SCATTER_ADD:
      return scatter_add(op, at);
    case ir::OpKind::MATMUL:
      return matmul(op, at);
    case ir::OpKind::CONV2D:
      return conv2d(op, at);
    case ir::OpKind::CONV2D_GRAD_INPUT:
      return conv2d_grad_input(op, at);
    case ir::OpKind::CONV2D_GRAD_FILTER:
      return conv2d_grad_filter(op, at);
    case ir::OpKind::RANDOM_BITS:
      return random_word(op, at);
    default:
      throw sdk::Error(THRT_INTERNAL, std::string(op.name()) + " cannot be pulled").at_op(op.flat_index());
  }
}

inline std::string Body::pointwise(const sdk::OpView& op, const Indices& at) {
  std::vector<std::string> x;
  for (const std::uint32_t operand : op.operands()) x.push_back(element(operand, at));
  const ir::DType from = op.operand_type(op.kind() == ir::OpKind::SELECT ? 1 : 0).dtype;
  const ir::DType to = op.result_type().dtype;
  if (op.kind() == ir::OpKind::REM && ir::is_float(from) && d_.own_math) turns_ += kMostFmodTurns;
  return assigned(to, scalar(d_, op.kind(), from, to, x, functions));
}

inline std::string Body::pad(const sdk::OpView& op, const Indices& at) {
  const ir::Shape from = op.operand_type(0).shape;
  const std::size_t rank = at.size();
  const auto padding = [&] { return element(op.operand(1), {}); };
  if (from.elements() == 0) return padding();
  std::vector<std::string> conditions;
  bool never = false;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t step = 1 + op.attribute(2 * rank + d), dim = from[static_cast<int>(d)];
    const Index position = at[d] + Index(-op.attribute(d));
    never = never || !require_inside(position, (dim - 1) * step + 1, conditions);
    if (step != 1) conditions.push_back("(" + variables.text(position) + ") % " + std::to_string(step) + " == 0");
  }
  if (never) return padding();
  const auto inside = [&] {
    Indices source(rank);
    for (std::size_t d = 0; d < rank; ++d) {
      const std::int64_t step = 1 + op.attribute(2 * rank + d), dim = from[static_cast<int>(d)];
      const Index position = bounded(at[d] + Index(-op.attribute(d)), (dim - 1) * step + 1);
      source[d] = step == 1 ? position : divide(position, step).first;
    }
    return element(op.operand(0), source);
  };
  return choose(op.result_type().dtype, conditions, inside, padding);
}

// From operand `first` on, which begins at `start`. Operands that the index cannot reach are passed over.
inline std::string Body::concat(const sdk::OpView& op, const Indices& at, std::size_t first, std::int64_t start) {
  const auto axis = static_cast<std::size_t>(op.attribute(0));
  const std::int64_t size = op.operand_type(first).shape[static_cast<int>(axis)];
  const auto rest = [&] { return concat(op, at, first + 1, start + size); };
  if (size == 0 || variables.min(at[axis]) >= start + size) return rest();
  std::vector<std::string> conditions;
  if (variables.max(at[axis]) >= start + size) {
    conditions.push_back(variables.text(at[axis]) + " < " + std::to_string(start + size));
  }
  const auto here = [&] {
    Indices source = at;
    source[axis] = bounded(at[axis] + Index(-start), size);
    return element(op.operand(first), source);
  };
  return choose(op.result_type().dtype, conditions, here, rest);
}

inline std::string Body::gather(const sdk::OpView& op, const Indices& at) {
  const ir::Shape from = op.operand_type(0).shape;
  const auto axis = static_cast<std::ptrdiff_t>(op.attribute(0));
  const std::ptrdiff_t index_rank = op.operand_type(1).shape.rank();
  const std::string index = element(op.operand(1), Indices(at.begin() + axis, at.begin() + axis + index_rank));
  const std::int64_t length = from[static_cast<int>(axis)];
  const std::string last = std::to_string(length - 1);
  Indices source(at.begin(), at.begin() + axis);
  source.push_back(length == 1
                       ? Index(0)
                       : variable(index + " < 0 ? 0 : " + index + " > " + last + " ? " + last + " : " + index, length));
  source.insert(source.end(), at.begin() + axis + index_rank, at.end());
  return element(op.operand(0), source);
}

// starts[d], clamped to [0, most].
inline Index Body::clamped_start(std::uint32_t starts, int d, std::int64_t most) {
  if (most == 0) return Index(0);
  const std::string start = element(starts, {Index(d)}), last = std::to_string(most);
  return variable(start + " < 0 ? 0 : " + start + " > " + last + " ? " + last + " : " + start, most + 1);
}

inline std::string Body::dynamic_slice(const sdk::OpView& op, const Indices& at) {
  const ir::Shape whole = op.operand_type(0).shape, size = op.result_type().shape;
  Indices source;
  for (int d = 0; d < whole.rank(); ++d) {
    const Index position = at[static_cast<std::size_t>(d)] + clamped_start(op.operand(1), d, whole[d] - size[d]);
    source.push_back(bounded(position, whole[d]));
  }
  return element(op.operand(0), source);
}

inline std::string Body::dynamic_update_slice(const sdk::OpView& op, const Indices& at) {
  const ir::Shape whole = op.operand_type(0).shape, size = op.operand_type(1).shape;
  if (size.elements() == 0) return element(op.operand(0), at);
  std::vector<std::string> conditions;
  Indices positions;
  for (int d = 0; d < whole.rank(); ++d) {
    const Index start = clamped_start(op.operand(2), d, whole[d] - size[d]);
    positions.push_back(at[static_cast<std::size_t>(d)] + start * -1);
    require_inside(positions.back(), size[d], conditions);
  }
  const auto replaced = [&] {
    Indices source;
    for (int d = 0; d < whole.rank(); ++d) source.push_back(bounded(positions[static_cast<std::size_t>(d)], size[d]));
    return element(op.operand(1), source);
  };
  if (conditions.empty()) return replaced();
  // Before the branches, although one of them does without it: whoever else wants this element finds it. Printed once more for
  // each branch, chains of such ops would become texts of 2^n lines.
  const std::string kept = element(op.operand(0), at);
  return choose(op.result_type().dtype, conditions, replaced, [&] { return kept; });
}

inline std::string Body::random_word(const sdk::OpView& op, const Indices& at) {
  std::vector<std::string> arguments;
  for (std::int64_t i = 0; i < 4; ++i) arguments.push_back(element(op.operand(0), {Index(i)}));
  const std::string& counter = d_.u64.empty() ? d_.u32 : d_.u64;
  arguments.push_back(cast(d_, counter, variables.text(flatten(at, op.result_type().shape))));
  turns_ += kRandomTurns;
  return assigned(ir::DType::kU32, own_function(functions, "thrt_random_word", arguments));
}

}  // namespace thrt::emit::detail
