// The rule of each op: what bounded() puts in its place.
#pragma once

#include "error_bound.hpp"

#include <thrt/graph/tensor_ops.hpp>

#include <span>
#include <vector>

namespace thrt::conformance {

// A value of the program under test, in the bounded graph.
struct Approximate {
  Tensor value;  // floats: f64
  Tensor doubt;  // floats: f64, the largest absolute error; others: bool, undecided. Empty: exact
};

// What a rule sees of an op that is not a repeat.
struct RuleContext {
  Graph& to;
  const Graph& from;
  const Graph::Op& op;
  std::vector<Approximate> x;
  const ErrorModel& model;

  DType operand_dtype(std::size_t i) const { return from.type(op.operands[i]).dtype; }
  const Type& result_type() const { return from.type(op.first_result); }
  DType dtype() const { return result_type().dtype; }
};

Approximate apply_rule(const RuleContext& context);

// The rules by kind, in error_rules_*.cpp.
Approximate elementwise_rule(const RuleContext& c);  // unary and binary arithmetic
Approximate cast_rule(const RuleContext& c);
Approximate compare_rule(const RuleContext& c);
Approximate select_rule(const RuleContext& c);
Approximate movement_rule(const RuleContext& c);
Approximate sum_rule(const RuleContext& c);    // reduce_sum, scatter_add, matmul, convolutions
Approximate order_rule(const RuleContext& c);  // reduce_max, argmax, argsort

// f64 for floats, else the dtype itself.
DType wide(DType dtype);
Type wide(const Type& type);
// The type of a doubt about values of this type.
Type doubt_type(const Type& type);
// The doubt, or zeros (all decided) when there is none.
Tensor doubt_or_none(const Approximate& x);
// Undecided where any of these is; empty when none has a doubt.
Tensor any_doubt(std::span<const Approximate> x);
// True everywhere when any element of a bool tensor is, as a tensor of `shape`.
Tensor anywhere(Tensor mask, const Shape& shape);

// A float format: what the suite must know of it.
struct Format {
  int digits;          // of the significand
  double largest;      // finite
  double overflow_at;  // from here on rounding to nearest gives infinity
  double top_binade;   // 2^e of the largest
  double normal_min;
  double tiny;  // the smallest denormal
};
const Format& format_of(DType dtype);

// Bounds below this are marks that the sign of a zero is free (max, min and reductions), and count as no error. Far under
// every product of numbers that f32, f16 or bf16 hold.
inline constexpr double kSignMark = 0x1p-1000;
inline constexpr double kNegligible = 0x1p-900;

Tensor infinity_like(Tensor x);
// |a - b|, 0 when they are equal infinities or both NaN, infinite when only one is NaN.
Tensor distance(Tensor a, Tensor b);
Tensor is_finite(Tensor x);
// One unit in the last place of |x| in `dtype`.
Tensor ulp(Tensor x, DType dtype);

// A result and its error as a value of the op's dtype: rounds to storage and overflows. `propagated`: from the operands, may
// be empty. `computing`: the error of computing an f32 (f64) result, rounding to that included; empty: correctly rounded.
Approximate rounded(const RuleContext& c, Tensor value, Tensor propagated, Tensor computing);
// A result of the op's dtype that was not rounded: a denormal may have become zero.
Approximate flushed(const RuleContext& c, const Approximate& x);
// The operand as arithmetic sees it: denormals may count as zero.
Approximate arithmetic_operand(const RuleContext& c, std::size_t i);

}  // namespace thrt::conformance
