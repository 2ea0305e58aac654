// Movement, sums and order.
#include "error_rules.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

namespace thrt::conformance {
namespace {

std::optional<Type> declared_as(const RuleContext& c, DType dtype) {
  const ir::Rule rule = ir::op_info(c.op.kind).rule;
  if (rule == ir::Rule::kBroadcast || rule == ir::Rule::kReshape || rule == ir::Rule::kConv2dGradInput ||
      rule == ir::Rule::kConv2dGradFilter) {
    return Type{dtype, c.result_type().shape};
  }
  return std::nullopt;
}

// How many operands are moved; the rest say where.
std::size_t moved_count(const RuleContext& c) {
  switch (c.op.kind) {
    case OpKind::GATHER:
    case OpKind::DYNAMIC_SLICE:
      return 1;
    case OpKind::DYNAMIC_UPDATE_SLICE:
      return 2;
    default:
      return c.x.size();
  }
}

// Where the place that is read or written is undecided, as a mask of the result's shape; empty when it is sure.
Tensor place_doubt(const RuleContext& c, std::size_t moved) {
  if (moved == c.x.size() || !c.x[moved].doubt) return {};
  const Shape& shape = c.result_type().shape;
  const Tensor doubt = c.x[moved].doubt;
  if (c.op.kind != OpKind::GATHER) return anywhere(doubt, shape);
  Axes axes;
  for (int d = 0; d < doubt.rank(); ++d) axes.push_back(static_cast<int>(c.op.attributes[0]) + d);
  return broadcast_in(doubt, shape, axes);
}

}  // namespace

Approximate movement_rule(const RuleContext& c) {
  const std::size_t moved = moved_count(c);
  const bool has_doubt = std::any_of(c.x.begin(), c.x.begin() + static_cast<std::ptrdiff_t>(moved),
                                     [](const Approximate& x) { return bool(x.doubt); });
  std::vector<Tensor> values, doubts;
  for (std::size_t i = 0; i < c.x.size(); ++i) {
    values.push_back(c.x[i].value);
    if (has_doubt) doubts.push_back(i < moved ? doubt_or_none(c.x[i]) : c.x[i].value);
  }
  const DType dtype = wide(c.dtype()), doubt_dtype = doubt_type(c.result_type()).dtype;
  const Tensor value = c.to.append(c.op.kind, values, c.op.attributes, declared_as(c, dtype));
  Tensor doubt;
  if (has_doubt) doubt = c.to.append(c.op.kind, doubts, c.op.attributes, declared_as(c, doubt_dtype));
  if (const Tensor anyone = place_doubt(c, moved)) {
    const Type type = doubt_type(c.result_type());
    const Tensor lost = full(c.to, type, type.dtype == DType::kBool ? 1.0 : std::numeric_limits<double>::infinity());
    doubt = select(anyone, lost, doubt ? doubt : full(c.to, type, 0.0));
  }
  return {value, doubt};
}

namespace {

// A sum with its terms' bounds: `run` is the op on operands that take the place of its float ones.
struct Sum {
  using Run = std::function<Tensor(std::span<const Tensor>)>;
  Run run;
  std::vector<Approximate> x;  // the float operands
  Tensor additions;            // roundings that a term may go through, of the result's shape; or
  double most_additions = 0;   // the same number for all
};

// |x| with infinities and NaNs out of the way: what they do is in the value itself.
Tensor finite_magnitude(Tensor x) {
  return select(is_finite(x), abs(x), like(x, 0.0));
}

Approximate bounded_sum(const RuleContext& c, const Sum& sum) {
  std::vector<Tensor> values, magnitudes, reaches;
  bool has_doubt = false;
  for (const Approximate& x : sum.x) {
    values.push_back(x.value);
    magnitudes.push_back(finite_magnitude(x.value));
    reaches.push_back(x.doubt ? magnitudes.back() + x.doubt : magnitudes.back());
    has_doubt = has_doubt || x.doubt;
  }
  const Tensor value = sum.run(values), none = like(value, 0.0);
  const Tensor total = sum.run(reaches);
  Tensor propagated;
  if (has_doubt) propagated = maximum(total - sum.run(magnitudes), none);

  // Both sides of the comparison sum in f64 where the backend's dtype is f64.
  const double unit = c.dtype() == DType::kF64 ? 0x1p-52 : 0x1p-24;
  Tensor computing = sum.additions ? sum.additions * total * unit : total * (sum.most_additions * unit);
  if (c.model.flushes_denormals) {  // terms that are denormal may vanish
    const double most = format_of(c.dtype() == DType::kF64 ? DType::kF64 : DType::kF32).normal_min;
    computing =
        sum.additions ? computing + (sum.additions + 1.0) * most : computing + (sum.most_additions + 1.0) * most;
  }
  // A partial sum may overflow where the sum does not.
  if (c.dtype() != DType::kF64) {
    const Tensor limit = like(value, format_of(DType::kF32).overflow_at);
    computing = select(greater_equal(total, limit) & less(abs(value), limit), infinity_like(value), computing);
  }
  Approximate result = rounded(c, value, propagated, computing);
  result.doubt = maximum(result.doubt, select(equal(value, none), like(value, kSignMark), none));
  return result;
}

double product_of(std::initializer_list<std::int64_t> factors) {
  double product = 1;
  for (const std::int64_t factor : factors) product *= static_cast<double>(factor);
  return product;
}

// Products and their additions that go into one element.
double terms_of(const RuleContext& c) {
  const Shape &a = c.from.type(c.op.operands[0]).shape, &b = c.from.type(c.op.operands[1]).shape;
  switch (c.op.kind) {
    case OpKind::MATMUL:
      return product_of({a[c.op.attributes[0] == 1 ? a.rank() - 2 : a.rank() - 1]});
    case OpKind::CONV2D:  // (x, filter): channels and taps
      return product_of({b[1], b[2], b[3]});
    case OpKind::CONV2D_GRAD_INPUT:  // (dy, filter): outputs and taps
      return product_of({b[0], b[2], b[3]});
    default:  // CONV2D_GRAD_FILTER, (dy, x): images and places
      return product_of({a[0], a[2], a[3]});
  }
}

Approximate integer_sum(const RuleContext& c) {
  std::vector<Tensor> operands;
  for (const Approximate& x : c.x) operands.push_back(x.value);
  const Tensor value = c.to.append(c.op.kind, operands, c.op.attributes);
  Tensor doubt;
  for (const Approximate& x : c.x) {
    if (!x.doubt) continue;
    const Tensor any = anywhere(x.doubt, value.shape());
    doubt = doubt ? doubt | any : any;
  }
  return {value, doubt};
}

Approximate scatter_add_sum(const RuleContext& c) {
  const Tensor indices = c.x[1].value;
  Sum sum;
  sum.run = [&](std::span<const Tensor> x) {
    return c.to.append(OpKind::SCATTER_ADD, {x[0], indices, x[1]}, c.op.attributes);
  };
  sum.x = {arithmetic_operand(c, 0), arithmetic_operand(c, 2)};
  const std::vector<Tensor> ones = {like(sum.x[0].value, 0.0), like(sum.x[1].value, 1.0)};
  sum.additions = sum.run(ones);
  Approximate result = bounded_sum(c, sum);
  if (c.x[1].doubt) {
    result.doubt = select(anywhere(c.x[1].doubt, result.value.shape()), infinity_like(result.value), result.doubt);
  }
  return result;
}

}  // namespace

Approximate sum_rule(const RuleContext& c) {
  if (!ir::is_float(c.dtype())) return integer_sum(c);
  if (c.op.kind == OpKind::SCATTER_ADD) return scatter_add_sum(c);
  Sum sum;
  sum.run = [&](std::span<const Tensor> x) {
    return c.to.append(c.op.kind, {x.begin(), x.end()}, c.op.attributes, declared_as(c, DType::kF64));
  };
  for (std::size_t i = 0; i < c.x.size(); ++i) sum.x.push_back(arithmetic_operand(c, i));
  if (c.op.kind == OpKind::REDUCE_SUM) {
    const double elements = static_cast<double>(std::max<std::int64_t>(c.result_type().elements(), 1));
    const double terms = static_cast<double>(c.from.type(c.op.operands[0]).elements()) / elements;
    sum.most_additions = std::max(terms - 1.0, 0.0);
  } else {
    sum.most_additions = terms_of(c);
  }
  return bounded_sum(c, sum);
}

namespace {

Approximate reduce_max_rule(const RuleContext& c) {
  const Approximate x = arithmetic_operand(c, 0);
  const auto reduced = [&](Tensor t) { return c.to.append(OpKind::REDUCE_MAX, {t}, c.op.attributes); };
  const Tensor value = reduced(x.value);
  const Tensor none = like(value, 0.0);
  const Tensor mark = select(equal(value, none), like(value, kSignMark), none);
  if (!x.doubt) return {value, mark};
  const Tensor up = distance(reduced(x.value + x.doubt), value), down = distance(reduced(x.value - x.doubt), value);
  return {value, maximum(maximum(up, down), mark)};
}

Axes axes_besides(int axis, int rank) {
  Axes axes;
  for (int d = 0; d < rank; ++d) {
    if (d != axis) axes.push_back(d);
  }
  return axes;
}

Tensor any_along(Tensor mask, int axis) {
  return greater(reduce_max(cast(mask, DType::kI32), {axis}), 0.0);
}

// Undecided where another element reaches what the largest surely has.
Approximate argmax_rule(const RuleContext& c) {
  const Approximate x = arithmetic_operand(c, 0);
  const int axis = static_cast<int>(c.op.attributes[0]);
  const Tensor value = c.to.append(OpKind::ARGMAX, {x.value}, c.op.attributes);
  if (!x.doubt) return {value, {}};
  const Shape& shape = x.value.shape();
  const Axes kept = axes_besides(axis, shape.rank());
  const Tensor is_best = equal(iota(c.to, {DType::kI32, shape}, axis), broadcast_in(value, shape, kept));
  const Tensor lowest = like(x.value, -std::numeric_limits<double>::infinity());
  const auto at_best = [&](Tensor t) {
    return broadcast_in(reduce_max(select(is_best, t, lowest), {axis}), shape, kept);
  };
  const Tensor width = x.doubt + at_best(x.doubt);
  const Tensor reaches = less_equal(at_best(x.value - x.doubt), x.value + x.doubt);
  return {value, any_along(invert(is_best) & reaches & greater(width, kNegligible), axis)};
}

// Undecided in whole rows that hold a doubt; and where denormals that count as zero would come in another order.
Approximate argsort_rule(const RuleContext& c) {
  const Approximate& x = c.x[0];
  const auto sorted = [&](Tensor t) { return c.to.append(OpKind::ARGSORT, {t}, c.op.attributes); };
  const Tensor value = sorted(x.value);
  const bool is_float = ir::is_float(c.operand_dtype(0));
  Tensor doubt;
  if (x.doubt) {
    const int axis = static_cast<int>(c.op.attributes[0]);
    const Tensor in_row = any_along(is_float ? greater(x.doubt, kNegligible) : x.doubt, axis);
    doubt = broadcast_in(in_row, value.shape(), axes_besides(axis, value.rank()));
  }
  if (is_float && c.model.flushes_denormals) {
    const double normal_min = format_of(c.operand_dtype(0)).normal_min;
    const Tensor flushed = select(less(abs(x.value), normal_min), like(x.value, 0.0), x.value);
    const Tensor moved = not_equal(value, sorted(flushed));
    doubt = doubt ? doubt | moved : moved;
  }
  return {value, doubt};
}

}  // namespace

Approximate order_rule(const RuleContext& c) {
  const bool is_float = ir::is_float(c.operand_dtype(0));
  if (is_float && c.op.kind == OpKind::REDUCE_MAX) return reduce_max_rule(c);
  if (is_float && c.op.kind == OpKind::ARGMAX) return argmax_rule(c);
  if (c.op.kind == OpKind::ARGSORT) return argsort_rule(c);
  const Tensor value = c.to.append(c.op.kind, {c.x[0].value}, c.op.attributes);
  return {value, c.x[0].doubt ? anywhere(c.x[0].doubt, value.shape()) : Tensor{}};
}

}  // namespace thrt::conformance
