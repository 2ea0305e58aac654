// Arithmetic, comparison, select and cast.
#include "error_rules.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

namespace thrt::conformance {
namespace {

Tensor run_op(const RuleContext& c, std::span<const Tensor> x) {
  return c.to.append(c.op.kind, {x.begin(), x.end()});
}

struct Ends {
  Tensor low, high;
};

// The ends of where a backend's operand lies. A mark on a zero is no width.
Ends ends(const Approximate& x) {
  const Tensor width = select(less_equal(x.doubt, like(x.doubt, kNegligible)), like(x.doubt, 0.0), x.doubt);
  return {x.value - width, x.value + width};
}

// A zero whose sign is free stays one.
Tensor mark_of(Tensor doubt) {
  return select(less_equal(doubt, like(doubt, kNegligible)), doubt, like(doubt, 0.0));
}

// How far a monotone function of x may be from its value at x; empty for an exact x.
Tensor monotone_error(const RuleContext& c, const Approximate& x, Tensor value) {
  if (!x.doubt) return {};
  const auto [low, high] = ends(x);
  const Tensor error = maximum(distance(run_op(c, {&low, 1}), value), distance(run_op(c, {&high, 1}), value));
  return maximum(error, mark_of(x.doubt));
}

// The error that ops.def's `ulps` allow a result that may itself be off by `propagated`.
Tensor ulps_error(const RuleContext& c, Tensor value, Tensor propagated) {
  const bool is_f64 = c.dtype() == DType::kF64;
  // The reference's f64 functions are within one ulp themselves.
  const double ulps = ir::op_info(c.op.kind).ulps + (is_f64 ? 1 : 0);
  const Tensor magnitude = propagated ? abs(value) + propagated : value;
  return ulp(magnitude, is_f64 ? DType::kF64 : DType::kF32) * ulps;
}

Approximate trigonometric(const RuleContext& c, const Approximate& x, Tensor value) {
  Tensor reach = abs(x.value), propagated;
  if (x.doubt) {
    reach = reach + x.doubt;
    propagated = minimum(x.doubt, 2.0);  // the slope is at most 1
  }
  Tensor computing = ulps_error(c, value, {});
  if (c.dtype() != DType::kF64) computing = maximum(computing, 0x1p-21);
  Approximate result = rounded(c, value, propagated, computing);
  // Beyond 10^4 anything in [-1, 1]; at infinity nothing is said.
  const Tensor far = greater(reach, 1e4), infinite = equal(abs(x.value), infinity_like(x.value));
  result.value = select(far & invert(infinite), like(value, 0.0), result.value);
  result.doubt = select(infinite, infinity_like(value), select(far, like(value, 1.0), result.doubt));
  return result;
}

Approximate float_unary(const RuleContext& c) {
  const Approximate x = arithmetic_operand(c, 0);
  const Tensor value = run_op(c, {&x.value, 1});
  switch (c.op.kind) {
    case OpKind::NEG:
    case OpKind::ABS:
      return {value, x.doubt};
    case OpKind::SIGN:
    case OpKind::FLOOR:
    case OpKind::ROUND:
      return {value, monotone_error(c, x, value)};
    case OpKind::SQRT:
    case OpKind::EXP:
    case OpKind::LOG:
    case OpKind::LOG1P:
    case OpKind::TANH:
    case OpKind::SIGMOID:
    case OpKind::ERF: {
      const Tensor propagated = monotone_error(c, x, value);
      return rounded(c, value, propagated, ulps_error(c, value, propagated));
    }
    case OpKind::SIN:
    case OpKind::COS:
      return trigonometric(c, x, value);
    default:
      throw std::logic_error("bounded: a unary op without a rule");
  }
}

// |a| * b where a zero on either side wins over an infinity.
Tensor safe_product(Tensor a, Tensor b) {
  const Tensor none = like(a, 0.0);
  return select(equal(a, none) | equal(b, none), none, abs(a) * b);
}

Tensor product_error(const Approximate& a, const Approximate& b) {
  Tensor error;
  const auto add = [&](Tensor part) { error = error ? error + part : part; };
  if (b.doubt) add(safe_product(a.value, b.doubt));
  if (a.doubt) add(safe_product(b.value, a.doubt));
  if (a.doubt && b.doubt) add(safe_product(a.doubt, b.doubt));
  return error;
}

// The largest distance from `value` at the corners of the operands' rectangle, where a function that is monotone in each
// operand has its extremes.
Tensor corner_error(const RuleContext& c, const Approximate& a, const Approximate& b, Tensor value) {
  std::vector<Tensor> first = {a.value}, second = {b.value};
  if (a.doubt) first = {ends(a).low, ends(a).high};
  if (b.doubt) second = {ends(b).low, ends(b).high};
  Tensor error;
  for (const Tensor x : first) {
    for (const Tensor y : second) {
      const Tensor corner = distance(run_op(c, std::vector<Tensor>{x, y}), value);
      error = error ? maximum(error, corner) : corner;
    }
  }
  return maximum(error, mark_of(doubt_or_none(a)));
}

Tensor may_be_zero(Tensor value, Tensor doubt) {
  return less_equal(abs(value), doubt) & greater(doubt, 0.0);
}

Tensor div_error(const RuleContext& c, const Approximate& a, const Approximate& b, Tensor value) {
  if (!a.doubt && !b.doubt) return {};
  const Tensor error = corner_error(c, a, b, value);
  if (!b.doubt) return error;
  return select(may_be_zero(b.value, b.doubt), infinity_like(value), error);
}

// x - trunc(x / y) y: continuous where the quotient's integer part is sure, else off by up to |y|.
Tensor rem_error(const Approximate& a, const Approximate& b) {
  if (!a.doubt && !b.doubt) return {};
  const Tensor da = doubt_or_none(a), db = doubt_or_none(b), y = abs(b.value);
  const Tensor quotient = abs(a.value / b.value);
  const Tensor width = (da + safe_product(quotient, db)) / maximum(y - db, 0.0);
  const Tensor error = da + safe_product(floor(quotient), db);
  const Tensor exact = equal(da + db, like(da, 0.0));
  const Tensor sure = equal(floor(quotient - width), floor(quotient + width));
  const Tensor steps = select(sure, error, error + y + db);
  return select(exact, like(da, 0.0), select(may_be_zero(b.value, db), infinity_like(da), steps));
}

Tensor pow_error(const RuleContext& c, const Approximate& a, const Approximate& b, Tensor value) {
  if (!a.doubt && !b.doubt) return {};
  const Tensor error = corner_error(c, a, b, value);
  // Where the base may be zero or of either sign: by the slope, for an exact exponent >= 1 that takes such a base; else nothing
  // is known.
  const Tensor da = doubt_or_none(a), db = doubt_or_none(b);
  const Tensor crosses = less_equal(a.value - da, like(da, 0.0)) & greater(da + db, kNegligible);
  const Tensor slope = abs(b.value) * pow(abs(a.value) + da, b.value - 1.0);
  const Tensor takes_base = equal(b.value, round(b.value)) | greater_equal(a.value, da);
  const Tensor smooth = equal(db, like(db, 0.0)) & greater_equal(b.value, like(db, 1.0)) & takes_base;
  return select(crosses, select(smooth, slope * da, infinity_like(value)), error);
}

// max and min: no operand's error grows. Of two zeros either may come.
Approximate larger_or_smaller(const Approximate& a, const Approximate& b, Tensor value) {
  const Tensor either_zero = equal(a.value, b.value) & equal(value, like(value, 0.0));
  const Tensor mark = select(either_zero, like(value, kSignMark), like(value, 0.0));
  if (!a.doubt && !b.doubt) return {value, mark};
  return {value, maximum(maximum(doubt_or_none(a), doubt_or_none(b)), mark)};
}

Approximate float_binary(const RuleContext& c) {
  const Approximate a = arithmetic_operand(c, 0), b = arithmetic_operand(c, 1);
  const Tensor value = run_op(c, std::vector<Tensor>{a.value, b.value});
  const auto sum_of_doubts = [&]() -> Tensor {
    return a.doubt && b.doubt ? a.doubt + b.doubt : a.doubt ? a.doubt : b.doubt;
  };
  switch (c.op.kind) {
    case OpKind::ADD:
    case OpKind::SUB:
      return rounded(c, value, sum_of_doubts(), {});
    case OpKind::MUL:
      return rounded(c, value, product_error(a, b), {});
    case OpKind::DIV: {
      const Tensor propagated = div_error(c, a, b, value);
      return rounded(c, value, propagated, ulps_error(c, value, propagated));
    }
    case OpKind::REM:
      return flushed(c, {value, rem_error(a, b)});
    case OpKind::POW: {
      const Tensor propagated = pow_error(c, a, b, value);
      return rounded(c, value, propagated, ulps_error(c, value, propagated));
    }
    case OpKind::MAX:
    case OpKind::MIN:
      return larger_or_smaller(a, b, value);
    default:
      throw std::logic_error("bounded: a binary op without a rule");
  }
}

}  // namespace

Approximate elementwise_rule(const RuleContext& c) {
  if (ir::is_float(c.dtype())) return c.x.size() == 1 ? float_unary(c) : float_binary(c);
  std::vector<Tensor> operands;
  for (const Approximate& x : c.x) operands.push_back(x.value);
  return {run_op(c, operands), any_doubt(c.x)};
}

Approximate compare_rule(const RuleContext& c) {
  const Approximate a = arithmetic_operand(c, 0), b = arithmetic_operand(c, 1);
  const Tensor value = run_op(c, std::vector<Tensor>{a.value, b.value});
  if (!a.doubt && !b.doubt) return {value, {}};
  if (!ir::is_float(c.operand_dtype(0))) return {value, any_doubt(c.x)};
  const Tensor da = doubt_or_none(a), db = doubt_or_none(b), width = da + db;
  const Tensor apart = greater(abs(a.value - b.value), width);
  const Tensor a_is_nan = not_equal(a.value, a.value) & is_finite(da);
  const Tensor b_is_nan = not_equal(b.value, b.value) & is_finite(db);
  return {value, greater(width, kNegligible) & invert(apart | a_is_nan | b_is_nan)};
}

Approximate select_rule(const RuleContext& c) {
  const Approximate &condition = c.x[0], &a = c.x[1], &b = c.x[2];
  const Tensor value = select(condition.value, a.value, b.value);
  if (!condition.doubt && !a.doubt && !b.doubt) return {value, {}};
  const Tensor da = doubt_or_none(a), db = doubt_or_none(b);
  const Tensor chosen = select(condition.value, da, db);
  if (!condition.doubt) return {value, chosen};
  if (!ir::is_float(c.dtype())) {
    // Where it does not matter which, it is decided all the same.
    const Tensor matters = not_equal(a.value, b.value) | da | db;
    return {value, select(condition.doubt, matters, chosen)};
  }
  const Tensor either = distance(a.value, b.value) + maximum(da, db);
  return {value, select(condition.doubt, either, chosen)};
}

Approximate cast_rule(const RuleContext& c) {
  const DType from = c.operand_dtype(0), to = c.dtype();
  const Approximate x = arithmetic_operand(c, 0);
  const Tensor value = cast(x.value, wide(to));
  if (ir::is_float(to)) {
    Tensor propagated = x.doubt;
    if (!ir::is_float(from) && x.doubt) {  // a bool is 0 or 1; what an integer may be is not known
      const Tensor most = from == DType::kBool ? like(value, 1.0) : infinity_like(value);
      propagated = select(x.doubt, most, like(value, 0.0));
    }
    const bool is_wider =
        to == DType::kF64 || from == to || (to == DType::kF32 && ir::is_float(from) && from != DType::kF64);
    if (is_wider) return {value, propagated};
    return rounded(c, value, propagated, {});
  }
  if (!x.doubt || !ir::is_float(from)) return {value, x.doubt};
  if (to == DType::kBool) {
    return {value, greater(x.doubt, kNegligible) & less_equal(abs(x.value), x.doubt)};
  }
  const auto [low, high] = ends(x);
  const Tensor unsure = not_equal(cast(low, to), cast(high, to));
  return {value, unsure | invert(is_finite(x.doubt))};
}

}  // namespace thrt::conformance
