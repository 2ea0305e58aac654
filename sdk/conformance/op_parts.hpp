// The cases of one op and dtype, before they have names: several shapes, forms and values of the op in one program each, since
// a backend may compile every kernel when it first meets it.
#pragma once

#include "case_program.hpp"

#include <functional>
#include <string>
#include <vector>

namespace thrt::conformance {

struct Part {
  std::string name;  // "shapes", "special"
  std::function<void(CaseProgram&)> build;
  double may_skip = 0.0;                            // CompareOptions
  std::vector<DType> also = {};                     // dtypes in it besides the op's own: they count for the level
  std::function<Outcome(const Bench&)> check = {};  // more to ask than the comparison; may be empty
};
using Parts = std::vector<Part>;

// By family, in op_cases_*.cpp.
Parts unary_parts(OpKind kind, DType dtype);
Parts binary_parts(OpKind kind, DType dtype);
Parts compare_parts(OpKind kind, DType dtype);
Parts select_parts(DType dtype);
Parts cast_parts(DType dtype);
Parts constant_parts(DType dtype);
Parts iota_parts(DType dtype);
Parts broadcast_parts(DType dtype);
Parts reshape_parts(DType dtype);
Parts transpose_parts(DType dtype);
Parts slice_parts(DType dtype);
Parts pad_parts(DType dtype);
Parts concat_parts(DType dtype);
Parts gather_parts(DType dtype);
Parts scatter_add_parts(DType dtype);
Parts dynamic_slice_parts(DType dtype);
Parts dynamic_update_slice_parts(DType dtype);
Parts reduce_parts(OpKind kind, DType dtype);
Parts argmax_parts(DType dtype);
Parts argsort_parts(DType dtype);
Parts matmul_parts(DType dtype);
Parts convolution_parts(OpKind kind, DType dtype);
Parts random_bits_parts(DType dtype);
Parts repeat_parts(DType dtype);
// Of any op: every axis, large sizes. None where the op or dtype has no such cases.
Parts axes_parts(OpKind kind, DType dtype);
Parts sizes_parts(OpKind kind, DType dtype);

// Rank 0 to 6, sizes 0 and 1, odd sizes and sizes around those of vectors and tiles.
const std::vector<Shape>& common_shapes();

// What a dtype has at its edges: zeros of both signs, halves, the largest and smallest numbers, infinities, NaN; the extremes of
// integers.
std::vector<double> special_values(DType dtype);
// Every pair of them: the first list varies slowly.
struct Pairs {
  std::vector<double> first, second;
};
Pairs pairs_of(const std::vector<double>& values);

// How an operand [rows, columns] comes about in the program: what a backend may read in place of materialising it.
enum class Form { kDense, kTransposed, kRow, kColumn, kScalar, kSliced, kReshaped };
inline constexpr Form kAllForms[] = {Form::kDense,  Form::kTransposed, Form::kRow,     Form::kColumn,
                                     Form::kScalar, Form::kSliced,     Form::kReshaped};
using Fill = std::function<Tensor(const Type&)>;
Tensor in_form(Form form, const Type& type, const Fill& fill);

std::string form_name(Form form);

}  // namespace thrt::conformance
