#include "gradient_rules.hpp"

#include <thrt/error.hpp>
#include <thrt/graph/tensor_ops.hpp>

#include <algorithm>
#include <numbers>

namespace thrt {
namespace {

// What a rule sees: operands x, result y, its cotangent g.
struct Context {
  Graph& graph;
  const Graph::Op& op;
  std::vector<Tensor> x;
  Tensor y;
  Tensor g;
  const std::vector<bool>& wanted;

  std::size_t rank0() const { return static_cast<std::size_t>(x[0].rank()); }
};
using Parts = std::vector<Tensor>;

Tensor zeros(Tensor x) {
  return like(x, 0.0);
}

Tensor unary_gradient(const Context& c) {
  const Tensor x = c.x[0], y = c.y, g = c.g;
  switch (c.op.kind) {
    case OpKind::NEG:
      return -g;
    case OpKind::ABS:
      return g * sign(x);
    case OpKind::SQRT:
      return g * 0.5 / y;
    case OpKind::EXP:
      return g * y;
    case OpKind::LOG:
      return g / x;
    case OpKind::LOG1P:
      return g / (1.0 + x);
    case OpKind::SIN:
      return g * cos(x);
    case OpKind::COS:
      return -(g * sin(x));
    case OpKind::TANH:
      return g * (1.0 - y * y);
    case OpKind::SIGMOID:
      return g * (y * (1.0 - y));
    case OpKind::ERF:
      return g * (2.0 * std::numbers::inv_sqrtpi * exp(-(x * x)));
    case OpKind::CAST:
      return cast(g, x.dtype());
    default:  // sign, floor, round: flat almost everywhere
      return {};
  }
}

// Half of the gradient each where the two are equal.
Tensor share_of_larger(Tensor larger, Tensor smaller) {
  const Tensor one = like(larger, 1.0), half = like(larger, 0.5), none = zeros(larger);
  return select(less(smaller, larger), one, select(equal(larger, smaller), half, none));
}

Tensor trunc(Tensor q) {
  return sign(q) * floor(abs(q));
}

Parts binary_gradients(const Context& c) {
  const Tensor a = c.x[0], b = c.x[1], g = c.g;
  const bool want_a = c.wanted[0], want_b = c.wanted[1];
  const auto both = [&](auto first, auto second) -> Parts {
    return {want_a ? first() : Tensor{}, want_b ? second() : Tensor{}};
  };
  switch (c.op.kind) {
    case OpKind::ADD:
      return {g, g};
    case OpKind::SUB:
      return both([&] { return g; }, [&] { return -g; });
    case OpKind::MUL:
      return both([&] { return g * b; }, [&] { return g * a; });
    case OpKind::DIV:
      return both([&] { return g / b; }, [&] { return -(g * c.y) / b; });
    case OpKind::REM:
      return both([&] { return g; }, [&] { return -(g * trunc(a / b)); });
    case OpKind::POW:
      return both(
          [&] {
            // At 0^0 the power below is infinite, and 0 times it NaN; any positive exponent gives the 0 that is meant.
            const Tensor both_zero = equal(a, zeros(a)) & equal(b, zeros(b));
            return g * b * pow(a, select(both_zero, like(b, 1.0), b - 1.0));
          },
          [&] {
            const Tensor positive = greater(a, 0.0);
            return g * c.y * select(positive, log(select(positive, a, like(a, 1.0))), zeros(a));
          });
    case OpKind::MAX:
      return both([&] { return g * share_of_larger(a, b); }, [&] { return g * share_of_larger(b, a); });
    case OpKind::MIN:
      return both([&] { return g * share_of_larger(b, a); }, [&] { return g * share_of_larger(a, b); });
    default:
      return {Tensor{}, Tensor{}};
  }
}

Tensor broadcast_gradient(const Context& c) {
  const Tensor x = c.x[0];
  Axes summed;
  std::size_t next = 0;
  for (int axis = 0; axis < c.g.rank(); ++axis) {
    const bool from_x = next < c.op.attributes.size() && c.op.attributes[next] == axis;
    if (!from_x || x.dim(static_cast<int>(next)) != c.g.dim(axis)) summed.push_back(axis);
    if (from_x) ++next;
  }
  return reshape(summed.empty() ? c.g : sum(c.g, summed), x.shape());
}

Tensor transpose_gradient(const Context& c) {
  Axes inverse(c.op.attributes.size());
  for (std::size_t d = 0; d < c.op.attributes.size(); ++d) {
    inverse[static_cast<std::size_t>(c.op.attributes[d])] = static_cast<int>(d);
  }
  return transpose(c.g, inverse);
}

Tensor slice_gradient(const Context& c) {
  const Tensor x = c.x[0];
  std::vector<std::int64_t> low, high, interior;
  const std::size_t rank = c.rank0();
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t start = c.op.attributes[d], size = c.op.attributes[rank + d];
    const std::int64_t stride = c.op.attributes[2 * rank + d], dim = x.dim(static_cast<int>(d));
    const std::int64_t spread = size == 0 ? 0 : (size - 1) * stride + 1;
    low.push_back(size == 0 ? dim : start);
    high.push_back(size == 0 ? 0 : dim - start - spread);
    interior.push_back(stride - 1);
  }
  return pad(c.g, scalar(c.graph, 0.0, x.dtype()), low, high, interior);
}

Parts pad_gradients(const Context& c) {
  const Tensor x = c.x[0];
  const std::size_t rank = c.rank0();
  std::vector<std::int64_t> attributes(3 * rank);
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t dim = x.dim(static_cast<int>(d));
    attributes[d] = c.op.attributes[d];
    attributes[rank + d] = dim;
    attributes[2 * rank + d] = dim > 1 ? c.op.attributes[2 * rank + d] + 1 : 1;
  }
  const Tensor inside = c.graph.append(OpKind::SLICE, {c.g}, attributes);
  return {inside, c.wanted[1] ? sum(c.g) - sum(inside) : Tensor{}};
}

Parts concat_gradients(const Context& c) {
  const int axis = static_cast<int>(c.op.attributes[0]);
  Parts parts;
  std::int64_t start = 0;
  for (const Tensor part : c.x) {
    parts.push_back(slice(c.g, axis, start, part.dim(axis)));
    start += part.dim(axis);
  }
  return parts;
}

Tensor gather_gradient(const Context& c) {
  const int axis = static_cast<int>(c.op.attributes[0]);
  // gather clamps an index outside where scatter_add would drop it.
  const Tensor inside = clamp(c.x[1], 0.0, static_cast<double>(std::max<std::int64_t>(c.x[0].dim(axis), 1) - 1));
  return scatter_add(zeros(c.x[0]), inside, c.g, axis);
}

Parts scatter_add_gradients(const Context& c) {
  const int axis = static_cast<int>(c.op.attributes[0]);
  if (!c.wanted[2]) return {c.g, {}, {}};
  const Tensor indices = c.x[1], updates = c.x[2];
  // An update whose index is outside was dropped.
  const Tensor valid = invert(less(indices, 0.0)) & less(indices, static_cast<double>(c.x[0].dim(axis)));
  Axes axes;
  for (int d = 0; d < indices.rank(); ++d) axes.push_back(axis + d);
  const Tensor mask = broadcast_in(valid, updates.shape(), axes);
  return {c.g, {}, select(mask, gather(c.g, indices, axis), zeros(updates))};
}

// The axes of x that a reduction keeps.
Axes kept_axes(const Context& c) {
  Axes kept;
  for (int axis = 0; axis < c.x[0].rank(); ++axis) {
    if (std::find(c.op.attributes.begin(), c.op.attributes.end(), axis) == c.op.attributes.end()) kept.push_back(axis);
  }
  return kept;
}

Tensor reduce_max_gradient(const Context& c) {
  const Axes reduced(c.op.attributes.begin(), c.op.attributes.end());
  if (reduced.empty()) return c.g;
  const Tensor x = c.x[0];
  const Axes kept = kept_axes(c);
  const Tensor largest = cast(equal(x, broadcast_in(c.y, x.shape(), kept)), x.dtype());
  return largest * broadcast_in(c.g / sum(largest, reduced), x.shape(), kept);
}

Tensor reduce_sum_gradient(const Context& c) {
  return broadcast_in(c.g, c.x[0].shape(), kept_axes(c));
}

// y = op(a) op(b): each gradient is a product of g with the other, laid out so that no transpose is materialised.
Parts matmul_gradients(const Context& c) {
  const Tensor a = c.x[0], b = c.x[1], g = c.g;
  const bool ta = c.op.attributes[0] == 1, tb = c.op.attributes[1] == 1;
  Parts parts(2);
  if (c.wanted[0]) parts[0] = ta ? matmul(b, g, tb, true) : matmul(g, b, false, !tb);
  if (c.wanted[1]) parts[1] = tb ? matmul(g, a, true, ta) : matmul(a, g, !ta, false);
  return parts;
}

// The three convolutions are one trilinear form sum(y * dy) of (x, filter, dy): each is its gradient by one of them.
Parts conv_gradients(const Context& c) {
  const Tensor first = c.x[0], second = c.x[1], g = c.g;
  const auto conv = [&](Tensor x, Tensor filter) {
    return c.graph.append(OpKind::CONV2D, {x, filter}, c.op.attributes);
  };
  const auto by_input = [&](Tensor dy, Tensor filter, const Type& type) {
    return c.graph.append(OpKind::CONV2D_GRAD_INPUT, {dy, filter}, c.op.attributes, type);
  };
  const auto by_filter = [&](Tensor dy, Tensor x, const Type& type) {
    return c.graph.append(OpKind::CONV2D_GRAD_FILTER, {dy, x}, c.op.attributes, type);
  };
  Parts parts(2);
  switch (c.op.kind) {
    case OpKind::CONV2D:  // (x, filter)
      if (c.wanted[0]) parts[0] = by_input(g, second, first.type());
      if (c.wanted[1]) parts[1] = by_filter(g, first, second.type());
      break;
    case OpKind::CONV2D_GRAD_INPUT:  // (dy, filter), g like x
      if (c.wanted[0]) parts[0] = conv(g, second);
      if (c.wanted[1]) parts[1] = by_filter(first, g, second.type());
      break;
    default:  // CONV2D_GRAD_FILTER: (dy, x), g like the filter
      if (c.wanted[0]) parts[0] = conv(second, g);
      if (c.wanted[1]) parts[1] = by_input(first, g, second.type());
      break;
  }
  return parts;
}

Parts movement_gradients(const Context& c) {
  switch (c.op.kind) {
    case OpKind::BROADCAST:
      return {broadcast_gradient(c)};
    case OpKind::RESHAPE:
      return {reshape(c.g, c.x[0].shape())};
    case OpKind::TRANSPOSE:
      return {transpose_gradient(c)};
    case OpKind::SLICE:
      return {slice_gradient(c)};
    case OpKind::PAD:
      return pad_gradients(c);
    case OpKind::CONCAT:
      return concat_gradients(c);
    case OpKind::GATHER:
      return {gather_gradient(c), {}};
    case OpKind::SCATTER_ADD:
      return scatter_add_gradients(c);
    case OpKind::DYNAMIC_SLICE:
      return {dynamic_update_slice(zeros(c.x[0]), c.g, c.x[1]), {}};
    default:  // DYNAMIC_UPDATE_SLICE
      return {c.wanted[0] ? dynamic_update_slice(c.g, zeros(c.x[1]), c.x[2]) : Tensor{},
              c.wanted[1] ? dynamic_slice(c.g, c.x[2], c.x[1].shape()) : Tensor{},
              {}};
  }
}

}  // namespace

std::vector<Tensor> operand_gradients(Graph& graph, const Graph::Op& op, Tensor g, const std::vector<bool>& wanted) {
  Context c{graph, op, {}, graph.tensor(op.first_result), g, wanted};
  for (const ValueId operand : op.operands) c.x.push_back(graph.tensor(operand));
  Parts none(op.operands.size());
  switch (ir::op_info(op.kind).rule) {
    case ir::Rule::kUnary:
    case ir::Rule::kCast:
      return {unary_gradient(c)};
    case ir::Rule::kBinary:
      return binary_gradients(c);
    case ir::Rule::kSelect:
      return {
          {}, wanted[1] ? select(c.x[0], g, zeros(g)) : Tensor{}, wanted[2] ? select(c.x[0], zeros(g), g) : Tensor{}};
    case ir::Rule::kBroadcast:
    case ir::Rule::kReshape:
    case ir::Rule::kTranspose:
    case ir::Rule::kSlice:
    case ir::Rule::kPad:
    case ir::Rule::kConcat:
    case ir::Rule::kGather:
    case ir::Rule::kScatterAdd:
    case ir::Rule::kDynamicSlice:
    case ir::Rule::kDynamicUpdateSlice:
      return movement_gradients(c);
    case ir::Rule::kReduce:
      return {op.kind == OpKind::REDUCE_SUM ? reduce_sum_gradient(c) : reduce_max_gradient(c)};
    case ir::Rule::kMatmul:
      return matmul_gradients(c);
    case ir::Rule::kConv2d:
    case ir::Rule::kConv2dGradInput:
    case ir::Rule::kConv2dGradFilter:
      return conv_gradients(c);
    case ir::Rule::kConstant:
    case ir::Rule::kIota:
    case ir::Rule::kCompare:
    case ir::Rule::kArgmax:
    case ir::Rule::kArgsort:
    case ir::Rule::kRandomBits:
    case ir::Rule::kRepeat:  // refused before
      return none;
  }
  return none;
}

}  // namespace thrt
