// The shape and dtype rules of ops.def, coded once: the host infers with them, a backend's verifier checks with them.
#pragma once

#include <thrt/ir/ops.hpp>
#include <thrt/ir/type.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace thrt::ir {

// An op as the rules see it.
struct OpSignature {
  OpKind kind;
  std::span<const Type> operands;
  std::span<const std::int64_t> attributes;
  // For ops whose result is declared (constant, iota, cast, broadcast, reshape, random_bits, the convolution
  // gradients): that type. Null asks for nothing but then those ops throw.
  const Type* declared = nullptr;
  // For repeat: the types of the sub-program's slots; outputs[i] is what slot i writes, with `has_output` telling
  // whether.
  std::span<const Type> body_inputs = {};
  std::span<const Type> body_outputs = {};
};

namespace detail {

inline void require(bool condition, const std::string& message) {
  if (!condition) throw RuleError(message);
}

inline int checked_axis(std::int64_t axis, int rank) {
  require(axis >= 0 && axis < rank, "axis " + std::to_string(axis) + " is outside rank " + std::to_string(rank));
  return static_cast<int>(axis);
}

inline void require_attributes(const OpSignature& op, std::size_t count) {
  require(op.attributes.size() == count,
          "has " + std::to_string(op.attributes.size()) + " attributes, takes " + std::to_string(count));
}

inline void require_same(const Type& a, const Type& b, const char* what) {
  require(a == b, std::string(what) + ": " + a.str() + " and " + b.str() + " differ");
}

inline void require_dtype(const Type& type, DType dtype, const char* what) {
  require(type.dtype == dtype, std::string(what) + " is " + type.str() + ", must be " + dtype_name(dtype));
}

inline const Type& declared(const OpSignature& op) {
  if (op.declared == nullptr) throw RuleError("needs a declared result type");
  return *op.declared;
}

// Strictly increasing axes within rank.
inline void require_axes(std::span<const std::int64_t> axes, int rank) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    checked_axis(axes[i], rank);
    require(i == 0 || axes[i - 1] < axes[i], "axes are not strictly increasing");
  }
}

inline Type infer_broadcast(const OpSignature& op) {
  const Type& from = op.operands[0];
  const Type& to = declared(op);
  require_attributes(op, static_cast<std::size_t>(from.shape.rank()));
  require_dtype(to, from.dtype, "the result");
  require_axes(op.attributes, to.shape.rank());
  for (int d = 0; d < from.shape.rank(); ++d) {
    const std::int64_t target = to.shape[static_cast<int>(op.attributes[static_cast<std::size_t>(d)])];
    require(from.shape[d] == 1 || from.shape[d] == target,
            "dimension " + std::to_string(d) + " of " + from.str() + " does not broadcast to " + to.str());
  }
  return to;
}

inline Type infer_transpose(const OpSignature& op) {
  const Type& from = op.operands[0];
  const int rank = from.shape.rank();
  require_attributes(op, static_cast<std::size_t>(rank));
  Type to{from.dtype, {}};
  std::uint32_t seen = 0;
  for (const std::int64_t axis : op.attributes) {
    seen |= 1u << checked_axis(axis, rank);
    to.shape.push_back(from.shape[static_cast<int>(axis)]);
  }
  require(seen == (1u << rank) - 1u, "the permutation names an axis twice");
  return to;
}

inline Type infer_slice(const OpSignature& op) {
  const Type& from = op.operands[0];
  const auto rank = static_cast<std::size_t>(from.shape.rank());
  require_attributes(op, 3 * rank);
  Type to{from.dtype, {}};
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t dim = from.shape[static_cast<int>(d)];
    const std::int64_t start = op.attributes[d], size = op.attributes[rank + d], stride = op.attributes[2 * rank + d];
    const std::string where = " in dimension " + std::to_string(d) + " of " + from.str();
    require(start >= 0 && start <= dim, "start " + std::to_string(start) + where + " is outside");
    require(size >= 0 && size <= dim && stride >= 1, "size or stride" + where + " is out of range");
    require(size <= 1 || stride <= (dim - 1 - start) / (size - 1), "the slice" + where + " leaves it");
    require(size == 0 || start < dim, "the slice" + where + " leaves it");
    to.shape.push_back(size);
  }
  return to;
}

inline Type infer_pad(const OpSignature& op) {
  const Type& from = op.operands[0];
  const auto rank = static_cast<std::size_t>(from.shape.rank());
  require_attributes(op, 3 * rank);
  require_same(op.operands[1], Type{from.dtype, {}}, "the padding value");
  Type to{from.dtype, {}};
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t dim = from.shape[static_cast<int>(d)];
    const std::int64_t low = op.attributes[d], high = op.attributes[rank + d], inside = op.attributes[2 * rank + d];
    require(low >= 0 && high >= 0 && inside >= 0 && low < kMost && high < kMost && inside < kMost && dim < kMost,
            "padding of dimension " + std::to_string(d) + " is out of range");
    to.shape.push_back(low + high + dim + (dim > 1 ? (dim - 1) * inside : 0));
  }
  static_cast<void>(to.elements());
  return to;
}

inline Type infer_concat(const OpSignature& op) {
  require_attributes(op, 1);
  Type to = op.operands[0];
  const int axis = checked_axis(op.attributes[0], to.shape.rank());
  std::int64_t total = 0;
  for (const Type& part : op.operands) {
    require(part.dtype == to.dtype && part.shape.rank() == to.shape.rank(),
            "parts " + op.operands[0].str() + " and " + part.str() + " do not fit together");
    for (int d = 0; d < to.shape.rank(); ++d) {
      require(d == axis || part.shape[d] == op.operands[0].shape[d],
              "parts " + op.operands[0].str() + " and " + part.str() + " do not fit together");
    }
    total += part.shape[axis];
    require(total <= std::int64_t{1} << 48, "the result has more than 2^48 elements");
  }
  to.shape.set(axis, total);
  return to;
}

inline Type infer_gather(const Type& from, const Type& indices, const OpSignature& op) {
  require_attributes(op, 1);
  require_dtype(indices, DType::kI32, "the indices");
  const int axis = checked_axis(op.attributes[0], from.shape.rank());
  Type to{from.dtype, {}};
  for (int d = 0; d < axis; ++d) to.shape.push_back(from.shape[d]);
  for (const std::int64_t dim : indices.shape) to.shape.push_back(dim);
  for (int d = axis + 1; d < from.shape.rank(); ++d) to.shape.push_back(from.shape[d]);
  return to;
}

inline void require_starts(const Type& starts, int rank) {
  require_same(starts, Type{DType::kI32, {rank}}, "the starts");
}

inline Type infer_dynamic_slice(const OpSignature& op) {
  const Type& from = op.operands[0];
  require_attributes(op, static_cast<std::size_t>(from.shape.rank()));
  require_starts(op.operands[1], from.shape.rank());
  Type to{from.dtype, Shape(op.attributes)};
  for (int d = 0; d < from.shape.rank(); ++d) {
    require(to.shape[d] <= from.shape[d], "block " + to.str() + " is larger than " + from.str());
  }
  return to;
}

inline Type infer_dynamic_update_slice(const OpSignature& op) {
  const Type& from = op.operands[0];
  const Type& update = op.operands[1];
  require_attributes(op, 0);
  require_starts(op.operands[2], from.shape.rank());
  require(update.dtype == from.dtype && update.shape.rank() == from.shape.rank(),
          "update " + update.str() + " does not fit into " + from.str());
  for (int d = 0; d < from.shape.rank(); ++d) {
    require(update.shape[d] <= from.shape[d], "update " + update.str() + " is larger than " + from.str());
  }
  return from;
}

inline Type infer_reduce(const OpSignature& op) {
  const Type& from = op.operands[0];
  require_axes(op.attributes, from.shape.rank());
  Type to{from.dtype, {}};
  std::size_t next = 0;
  for (int d = 0; d < from.shape.rank(); ++d) {
    if (next < op.attributes.size() && op.attributes[next] == d) {
      ++next;
    } else {
      to.shape.push_back(from.shape[d]);
    }
  }
  return to;
}

inline Type infer_arg(const OpSignature& op, bool keeps_axis) {
  require_attributes(op, 1);
  const Type& from = op.operands[0];
  const int axis = checked_axis(op.attributes[0], from.shape.rank());
  require(from.shape[axis] < (std::int64_t{1} << 31), "axis " + std::to_string(axis) + " is too long for i32 indices");
  Type to{DType::kI32, {}};
  for (int d = 0; d < from.shape.rank(); ++d) {
    if (keeps_axis || d != axis) to.shape.push_back(from.shape[d]);
  }
  require(keeps_axis || from.shape[axis] > 0 || to.elements() == 0, "argmax over an empty axis");
  return to;
}

inline Type infer_matmul(const OpSignature& op) {
  require_attributes(op, 2);
  const Type& a = op.operands[0];
  const Type& b = op.operands[1];
  for (const std::int64_t flag : op.attributes) require(flag == 0 || flag == 1, "a transpose flag is not 0 or 1");
  const int rank = a.shape.rank();
  const std::string both = a.str() + " and " + b.str();
  require(rank >= 2 && b.shape.rank() == rank && a.dtype == b.dtype, "operands " + both + " do not match");
  Type to{a.dtype, {}};
  for (int d = 0; d < rank - 2; ++d) {
    require(a.shape[d] == b.shape[d], "batch dimensions of " + both + " differ");
    to.shape.push_back(a.shape[d]);
  }
  const bool ta = op.attributes[0] == 1, tb = op.attributes[1] == 1;
  require(a.shape[ta ? rank - 2 : rank - 1] == b.shape[tb ? rank - 1 : rank - 2],
          "inner dimensions of " + both + " differ");
  to.shape.push_back(a.shape[ta ? rank - 1 : rank - 2]);
  to.shape.push_back(b.shape[tb ? rank - 2 : rank - 1]);
  return to;
}

// The type of y for x and filter; checks the geometry.
inline Type infer_conv2d(const Type& x, const Type& filter, std::span<const std::int64_t> attributes) {
  const std::string both = x.str() + " and filter " + filter.str();
  require(x.shape.rank() == 4 && filter.shape.rank() == 4 && x.dtype == filter.dtype,
          "input " + both + " are not two rank 4 values of one dtype");
  require(attributes.size() == 6, "takes 6 attributes");
  require(x.shape[1] == filter.shape[1], "channels of " + both + " differ");
  Type y{x.dtype, {x.shape[0], filter.shape[0]}};
  for (int side = 0; side < 2; ++side) {
    const auto s = static_cast<std::size_t>(side);
    const std::int64_t stride = attributes[s], low = attributes[2 + 2 * s], high = attributes[3 + 2 * s];
    const std::int64_t kernel = filter.shape[2 + side];
    constexpr std::int64_t kMost = std::int64_t{1} << 24;
    require(stride >= 1 && low >= 0 && high >= 0 && low < kMost && high < kMost && kernel >= 1,
            "stride, padding or filter size is out of range");
    const std::int64_t room = x.shape[2 + side] + low + high - kernel;
    require(room >= 0, "filter of " + both + " is larger than the padded input");
    y.shape.push_back(room / stride + 1);
  }
  return y;
}

inline std::vector<Type> infer_repeat(const OpSignature& op) {
  require_attributes(op, 2);
  const std::int64_t trips = op.attributes[0], carried = op.attributes[1];
  require(trips >= 0 && trips < (std::int64_t{1} << 31), "trip count " + std::to_string(trips) + " is out of range");
  const std::size_t operands = op.operands.size();
  require(carried >= 1 && static_cast<std::size_t>(carried) <= operands,
          "carries " + std::to_string(carried) + " of " + std::to_string(operands) + " operands");
  require(op.body_inputs.size() == operands + 1, "the sub-program has " + std::to_string(op.body_inputs.size()) +
                                                     " slots, needs " + std::to_string(operands + 1));
  require_same(op.body_inputs[0], Type{DType::kI32, {}}, "the iteration slot");
  require(op.body_outputs.size() == static_cast<std::size_t>(carried), "the sub-program's state slots do not match");
  std::vector<Type> results;
  for (std::size_t i = 0; i < operands; ++i) {
    require_same(op.body_inputs[i + 1], op.operands[i], "a slot of the sub-program and its operand");
    if (i < static_cast<std::size_t>(carried)) {
      require_same(op.body_outputs[i], op.operands[i], "a carried value and its operand");
      results.push_back(op.operands[i]);
    }
  }
  return results;
}

inline Type infer_one(const OpSignature& op) {
  const auto operand = [&](std::size_t i) -> const Type& { return op.operands[i]; };
  switch (op_info(op.kind).rule) {
    case Rule::kConstant:
      require_attributes(op, 1);
      require(op.attributes[0] >= 0 && op.attributes[0] % 64 == 0, "the offset is not a multiple of 64");
      return declared(op);
    case Rule::kIota:
      require_attributes(op, 1);
      checked_axis(op.attributes[0], declared(op).shape.rank());
      return declared(op);
    case Rule::kUnary:
      require_attributes(op, 0);
      return operand(0);
    case Rule::kCast:
      require_attributes(op, 0);
      require_same(Type{declared(op).dtype, operand(0).shape}, declared(op), "the result");
      return declared(op);
    case Rule::kBinary:
    case Rule::kCompare:
      require_attributes(op, 0);
      require_same(operand(0), operand(1), "operands");
      return op_info(op.kind).rule == Rule::kBinary ? operand(0) : Type{DType::kBool, operand(0).shape};
    case Rule::kSelect:
      require_attributes(op, 0);
      require_same(operand(0), Type{DType::kBool, operand(1).shape}, "the condition");
      require_same(operand(1), operand(2), "operands");
      return operand(1);
    case Rule::kBroadcast:
      return infer_broadcast(op);
    case Rule::kReshape:
      require_attributes(op, 0);
      require(declared(op).dtype == operand(0).dtype && declared(op).elements() == operand(0).elements(),
              operand(0).str() + " does not reshape to " + declared(op).str());
      return declared(op);
    case Rule::kTranspose:
      return infer_transpose(op);
    case Rule::kSlice:
      return infer_slice(op);
    case Rule::kPad:
      return infer_pad(op);
    case Rule::kConcat:
      return infer_concat(op);
    case Rule::kGather: {
      const Type result = infer_gather(operand(0), operand(1), op);
      require(operand(0).shape[static_cast<int>(op.attributes[0])] > 0 || result.elements() == 0,
              "gathers from an empty axis");
      return result;
    }
    case Rule::kScatterAdd:
      require_same(operand(2), infer_gather(operand(0), operand(1), op), "the updates");
      return operand(0);
    case Rule::kDynamicSlice:
      return infer_dynamic_slice(op);
    case Rule::kDynamicUpdateSlice:
      return infer_dynamic_update_slice(op);
    case Rule::kReduce:
      return infer_reduce(op);
    case Rule::kArgmax:
      return infer_arg(op, false);
    case Rule::kArgsort:
      return infer_arg(op, true);
    case Rule::kMatmul:
      return infer_matmul(op);
    case Rule::kConv2d:
      return infer_conv2d(operand(0), operand(1), op.attributes);
    case Rule::kConv2dGradInput:
      require_same(operand(0), infer_conv2d(declared(op), operand(1), op.attributes),
                   "dy and the convolution's result");
      return declared(op);
    case Rule::kConv2dGradFilter:
      require_same(operand(0), infer_conv2d(operand(1), declared(op), op.attributes),
                   "dy and the convolution's result");
      return declared(op);
    case Rule::kRandomBits:
      require_attributes(op, 0);
      require_same(operand(0), Type{DType::kU32, {4}}, "the state");
      require_dtype(declared(op), DType::kU32, "the result");
      return declared(op);
    case Rule::kRepeat:
      break;
  }
  throw RuleError("has no rule");
}

}  // namespace detail

// The types of an op's results. Throws RuleError, whose message starts with the op's name, when a rule of ops.def is
// broken.
inline std::vector<Type> infer(const OpSignature& op) {
  const OpInfo& info = op_info(op.kind);
  try {
    const std::size_t count = op.operands.size();
    detail::require(count >= info.min_operands && count <= info.max_operands,
                    "has " + std::to_string(count) + " operands");
    if (op.kind == OpKind::REPEAT) return detail::infer_repeat(op);
    // The table's dtype class is that of the first operand; select's first is its condition, so there the second
    // counts.
    const Type* first = op.operands.empty() ? op.declared : &op.operands[info.rule == Rule::kSelect ? 1 : 0];
    detail::require(first == nullptr || (info.dtypes & dtype_bit(first->dtype)) != 0,
                    std::string("does not take ") + (first == nullptr ? "" : dtype_name(first->dtype)));
    return {detail::infer_one(op)};
  } catch (const RuleError& error) {
    throw RuleError(std::string(info.name) + ": " + error.what());
  }
}

}  // namespace thrt::ir
