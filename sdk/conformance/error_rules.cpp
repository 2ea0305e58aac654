#include "error_rules.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

namespace thrt::conformance {

DType wide(DType dtype) {
  return ir::is_float(dtype) ? DType::kF64 : dtype;
}

Type wide(const Type& type) {
  return {wide(type.dtype), type.shape};
}

Type doubt_type(const Type& type) {
  return {ir::is_float(type.dtype) ? DType::kF64 : DType::kBool, type.shape};
}

Tensor doubt_or_none(const Approximate& x) {
  return x.doubt ? x.doubt : full(x.value.graph(), doubt_type(x.value.type()), 0.0);
}

Tensor any_doubt(std::span<const Approximate> x) {
  Tensor any;
  for (const Approximate& each : x) {
    if (each.doubt) any = any ? any | each.doubt : each.doubt;
  }
  return any;
}

Tensor anywhere(Tensor mask, const Shape& shape) {
  return broadcast_to(greater(reduce_max(cast(mask, DType::kI32)), 0.0), shape);
}

const Format& format_of(DType dtype) {
  // IEEE 754 binary32, binary16 and binary64, and the upper half of a binary32.
  static constexpr Format kF32 = {24, 0x1.fffffep127, 0x1.ffffffp127, 0x1p127, 0x1p-126, 0x1p-149};
  static constexpr Format kF16 = {11, 65504.0, 65520.0, 0x1p15, 0x1p-14, 0x1p-24};
  static constexpr Format kBF16 = {8, 0x1.fep127, 0x1.ffp127, 0x1p127, 0x1p-126, 0x1p-133};
  static constexpr Format kF64 = {
      53,       std::numeric_limits<double>::max(), std::numeric_limits<double>::infinity(),
      0x1p1023, std::numeric_limits<double>::min(), std::numeric_limits<double>::denorm_min()};
  switch (dtype) {
    case DType::kF32:
      return kF32;
    case DType::kF16:
      return kF16;
    case DType::kBF16:
      return kBF16;
    case DType::kF64:
      return kF64;
    default:
      throw std::logic_error("the format of a dtype that is no float");
  }
}

Tensor infinity_like(Tensor x) {
  return like(x, std::numeric_limits<double>::infinity());
}

Tensor is_finite(Tensor x) {
  return less(abs(x), infinity_like(x));
}

Tensor distance(Tensor a, Tensor b) {
  const Tensor apart = abs(a - b), none = like(a, 0.0);
  const Tensor both_nan = not_equal(a, a) & not_equal(b, b);
  const Tensor otherwise = select(both_nan, none, infinity_like(a));
  return select(equal(a, b), none, select(equal(apart, apart), apart, otherwise));
}

namespace {

// The nearest number that `dtype` holds.
Tensor nearest(Tensor x, DType dtype) {
  return cast(cast(x, dtype), DType::kF64);
}

bool is_half(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16;
}

// What rounding `value` to storage loses when it has an error `propagated` by then: exactly that where it has none.
Tensor storage_rounding(Tensor value, Tensor magnitude, Tensor propagated, DType dtype) {
  const Format& format = format_of(dtype);
  const Tensor kept = abs(nearest(value, dtype));
  Tensor lost = select(is_finite(kept), abs(magnitude - kept), like(value, 0.0));
  // In f32 before, unless f32 holds it too: that decides between two neighbours that are nearly as near.
  if (is_half(dtype)) lost = select(greater(lost, 0.0), lost + magnitude * 0x1p-24, lost);
  if (!propagated) return lost;
  const double half_ulp = std::ldexp(1.0, -format.digits) + (is_half(dtype) ? 0x1p-24 : 0.0);
  const Tensor most = (magnitude + propagated) * half_ulp + format.tiny / 2;
  return select(less_equal(propagated, like(propagated, kNegligible)), lost, most);
}

// What rounding to storage makes of a number near the largest: beyond it, infinity; where `unrounded`, the error by then,
// reaches over the limit, either is right.
Approximate overflowed(Tensor value, Tensor magnitude, Tensor unrounded, Tensor error, double overflow_at) {
  const Tensor limit = like(value, overflow_at);
  const Tensor surely = greater_equal(magnitude - unrounded, limit);
  const Tensor perhaps = greater_equal(magnitude + unrounded, limit);
  const Tensor infinity = infinity_like(value);
  return {select(surely, value * infinity, value), select(surely, like(value, 0.0), select(perhaps, infinity, error))};
}

}  // namespace

// The next number above y is y plus a little more than half an ulp, rounded: y 2^-digits lies between half an ulp and one.
Tensor ulp(Tensor x, DType dtype) {
  const Format& format = format_of(dtype);
  const Tensor y = nearest(minimum(abs(x), format.top_binade), dtype);
  const double step = std::ldexp(1.0 + 0x1p-8, -format.digits);
  return maximum(nearest(y + y * step, dtype) - y, format.tiny);
}

Approximate rounded(const RuleContext& c, Tensor value, Tensor propagated, Tensor computing) {
  const DType dtype = c.dtype();
  const Format& format = format_of(dtype);
  const Tensor none = like(value, 0.0), infinity = infinity_like(value);
  const Tensor magnitude = minimum(abs(value), std::numeric_limits<double>::max());
  if (dtype == DType::kF64 && !computing && !propagated) return {value, {}};
  const Tensor unrounded = computing && propagated ? propagated + computing
                           : computing             ? computing
                           : propagated            ? propagated
                                                   : none;
  Tensor error = unrounded;
  if (!computing) error = error + storage_rounding(value, magnitude, propagated, dtype);
  if (computing && is_half(dtype)) error = error + 0.5 * ulp(magnitude + error, dtype);
  // A NaN is a NaN, unless an operand may be anything.
  const Tensor unknown = propagated ? select(is_finite(propagated), none, infinity) : none;
  error = select(equal(value, value), error, unknown);
  if (propagated) error = select(equal(error, error), error, infinity);
  error = flushed(c, {value, error}).doubt;
  if (dtype == DType::kF64) return {value, error};
  return overflowed(value, magnitude, unrounded, error, format.overflow_at);
}

namespace {

// With the doubt that a denormal of `dtype` may be zero instead.
Approximate flushed_as(DType dtype, const Approximate& x) {
  const double normal_min = format_of(dtype).normal_min;
  const Tensor magnitude = abs(x.value), doubt = doubt_or_none(x);
  const Tensor most = minimum(magnitude + doubt, normal_min);
  return {x.value, doubt + select(less(magnitude - doubt, like(doubt, normal_min)), most, like(doubt, 0.0))};
}

}  // namespace

Approximate flushed(const RuleContext& c, const Approximate& x) {
  return c.model.flushes_denormals ? flushed_as(c.dtype(), x) : x;
}

Approximate arithmetic_operand(const RuleContext& c, std::size_t i) {
  const DType dtype = c.operand_dtype(i);
  return c.model.flushes_denormals && ir::is_float(dtype) ? flushed_as(dtype, c.x[i]) : c.x[i];
}

namespace {

// The elements of a constant as f64.
Approximate constant_rule(const RuleContext& c) {
  const Type& type = c.result_type();
  if (!ir::is_float(type.dtype)) return {c.to.constant(type, *c.op.constant), {}};
  const Tensor stored = c.to.constant(type, *c.op.constant);
  return {cast(stored, DType::kF64), {}};
}

Approximate iota_rule(const RuleContext& c) {
  const Type& type = c.result_type();
  const Tensor value = c.to.append(OpKind::IOTA, {}, c.op.attributes, wide(type));
  if (!ir::is_float(type.dtype)) return {value, {}};
  return rounded(c, value, {}, {});
}

Approximate random_rule(const RuleContext& c) {
  const Tensor value = c.to.append(c.op.kind, {c.x[0].value}, {}, c.result_type());
  return {value, c.x[0].doubt ? anywhere(c.x[0].doubt, value.shape()) : Tensor{}};
}

}  // namespace

Approximate apply_rule(const RuleContext& c) {
  switch (ir::op_info(c.op.kind).rule) {
    case ir::Rule::kConstant:
      return constant_rule(c);
    case ir::Rule::kIota:
      return iota_rule(c);
    case ir::Rule::kRandomBits:
      return random_rule(c);
    case ir::Rule::kUnary:
    case ir::Rule::kBinary:
      return elementwise_rule(c);
    case ir::Rule::kCast:
      return cast_rule(c);
    case ir::Rule::kCompare:
      return compare_rule(c);
    case ir::Rule::kSelect:
      return select_rule(c);
    case ir::Rule::kBroadcast:
    case ir::Rule::kReshape:
    case ir::Rule::kTranspose:
    case ir::Rule::kSlice:
    case ir::Rule::kPad:
    case ir::Rule::kConcat:
    case ir::Rule::kGather:
    case ir::Rule::kDynamicSlice:
    case ir::Rule::kDynamicUpdateSlice:
      return movement_rule(c);
    case ir::Rule::kScatterAdd:
    case ir::Rule::kMatmul:
    case ir::Rule::kConv2d:
    case ir::Rule::kConv2dGradInput:
    case ir::Rule::kConv2dGradFilter:
      return sum_rule(c);
    case ir::Rule::kReduce:
      return c.op.kind == OpKind::REDUCE_SUM ? sum_rule(c) : order_rule(c);
    case ir::Rule::kArgmax:
    case ir::Rule::kArgsort:
      return order_rule(c);
    case ir::Rule::kRepeat:
      break;
  }
  throw std::logic_error("bounded: an op without a rule");
}

}  // namespace thrt::conformance
