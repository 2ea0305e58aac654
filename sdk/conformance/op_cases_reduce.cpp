// Cases of reductions and order.
#include "op_parts.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace thrt::conformance {
namespace {

using List = std::vector<std::int64_t>;

void add_reduce(CaseProgram& p, OpKind kind, const std::string& name, Tensor x, const List& axes) {
  p.output(fmt::format("{}{} over [{}]", name, x.shape().str(), fmt::join(axes, ",")), p.graph.append(kind, {x}, axes));
}

void reduce_shapes(CaseProgram& p, OpKind kind, DType dtype) {
  // Integer sums are to wrap.
  const double reach = ir::is_float(dtype) ? 4.0 : 2e9;
  const auto x = [&](const Shape& shape) { return p.random({dtype, shape}, -reach, reach); };
  for (const Shape& shape : common_shapes()) {
    const Tensor of = x(shape);
    const int rank = shape.rank();
    if (rank <= 2) add_reduce(p, kind, "", of, {});
    List all(static_cast<std::size_t>(rank));
    std::iota(all.begin(), all.end(), 0);
    if (rank > 0) add_reduce(p, kind, "", of, all);
    if (rank > 1) add_reduce(p, kind, "", of, {rank - 1});
    if (rank > 1) add_reduce(p, kind, "", of, {(rank - 1) / 2});
  }
  add_reduce(p, kind, "", x({3, 5, 7}), {0, 2});
  add_reduce(p, kind, "", x({2, 3, 4, 5}), {1, 3});
  add_reduce(p, kind, "", x({2, 3, 4, 5}), {0, 1, 2});
  add_reduce(p, kind, "", x({0, 5}), {0});
  add_reduce(p, kind, "", x({0, 5}), {1});
  add_reduce(p, kind, "", x({31, 1025}), {1});
  add_reduce(p, kind, "", x({1025, 31}), {0});
  const Fill fill = [&](const Type& type) { return p.random(type, -reach, reach); };
  for (const Form form : kAllForms) {
    const std::int64_t axis = form == Form::kTransposed || form == Form::kRow || form == Form::kSliced ? 0 : 1;
    add_reduce(p, kind, form_name(form) + " ", in_form(form, {dtype, {9, 37}}, fill), {axis});
  }
}

// Rows with a NaN, with infinities of one and of both signs, with the largest numbers, with zeros of both signs.
Tensor special_rows(CaseProgram& p, DType dtype) {
  const std::vector<double> special = special_values(dtype);
  std::vector<double> values;
  constexpr std::int64_t kWidth = 19;
  for (const double one : special) {
    for (std::int64_t i = 0; i < kWidth; ++i) values.push_back(i == 5 ? one : static_cast<double>(i % 3));
  }
  for (const double one : special) {  // and twice in a row
    for (std::int64_t i = 0; i < kWidth; ++i) values.push_back(i == 3 || i == 17 ? one : static_cast<double>(i % 2));
  }
  for (std::int64_t i = 0; i < kWidth; ++i) values.push_back(ir::is_float(dtype) ? (i % 2 == 0 ? 0.0 : -0.0) : 0.0);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (ir::is_float(dtype)) {
    for (std::int64_t i = 0; i < kWidth; ++i) values.push_back(i == 2 ? kInfinity : i == 9 ? -kInfinity : 1.0);
    for (std::int64_t i = 0; i < kWidth; ++i) values.push_back(-kInfinity);
    for (std::int64_t i = 0; i < kWidth; ++i) values.push_back(std::nan(""));
  }
  return p.given({dtype, {static_cast<std::int64_t>(values.size()) / kWidth, kWidth}}, values);
}

}  // namespace

Parts reduce_parts(OpKind kind, DType dtype) {
  Parts parts = {{"shapes", [=](CaseProgram& p) { reduce_shapes(p, kind, dtype); }}};
  parts.push_back({"special",
                   [=](CaseProgram& p) {
                     const Tensor rows = special_rows(p, dtype);
                     add_reduce(p, kind, "rows ", rows, {1});
                     add_reduce(p, kind, "columns ", transpose(rows), {0});
                   },
                   0.1});
  // A sum in f16 of terms below 1 stands still at 2048, one in bf16 at 256. Over few terms the bound is little more than the one
  // rounding at the end, so there any other rounding on the way shows.
  parts.push_back({"accumulation", [=](CaseProgram& p) {
                     const double low = ir::is_float(dtype) ? 0.5 : 0.0, high = ir::is_float(dtype) ? 0.95 : 7.0;
                     for (const auto& [shape, axis] : std::vector<std::pair<Shape, std::int64_t>>{
                              {{4096}, 0}, {{3, 4099}, 1}, {{4099, 3}, 0}, {{257, 64}, 1}, {{64, 257}, 0}}) {
                       add_reduce(p, kind, "", p.random({dtype, shape}, low, high), {axis});
                     }
                   }});
  if (dtype == DType::kF32) {
    parts.push_back({"large", [=](CaseProgram& p) {
                       const Tensor x = p.random({dtype, {1025, 1023}});
                       for (const List& axes : {List{0}, List{1}, List{0, 1}}) add_reduce(p, kind, "", x, axes);
                     }});
  }
  return parts;
}

namespace {

void order_shapes(CaseProgram& p, DType dtype, const std::function<Tensor(Tensor, int)>& op) {
  for (const Shape& shape : {Shape{1}, Shape{3}, Shape{257}, Shape{1023}, Shape{5, 7}, Shape{33, 1}, Shape{3, 4, 5},
                             Shape{0, 3}, Shape{2, 3, 1, 4}, Shape{2, 1, 3, 2, 1, 5}}) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] == 0) continue;
      p.output(fmt::format("{} axis {}", shape.str(), axis), op(p.random({dtype, shape}, -100.0, 100.0), axis));
    }
  }
  // Few different values: ties are the rule.
  for (const auto& [shape, axis] :
       std::vector<std::pair<Shape, int>>{{{257}, 0}, {{5, 7}, 0}, {{5, 7}, 1}, {{3, 4, 5}, 1}}) {
    p.output(fmt::format("{} axis {}, ties", shape.str(), axis),
             op(p.given({dtype, shape}, {1.0, 0.0, 2.0, 1.0, 2.0, 0.0, 1.0}), axis));
  }
  const Tensor x = p.random({dtype, {7, 12}}, -100.0, 100.0);
  p.output("transposed", op(transpose(x), 0));
  p.output("sliced", op(slice(x, 1, 1, 5, 2), 1));
}

void order_special(CaseProgram& p, DType dtype, const std::function<Tensor(Tensor, int)>& op) {
  const Tensor rows = special_rows(p, dtype);
  p.output("rows", op(rows, 1));
  p.output("columns", op(transpose(rows), 0));
  const std::vector<double> special = special_values(dtype);
  p.output("all", op(p.given({dtype, {3, static_cast<std::int64_t>(special.size())}}, special), 1));
}

Parts order_parts(DType dtype, const std::function<Tensor(Tensor, int)>& op, std::int64_t large) {
  Parts parts = {{"shapes", [=](CaseProgram& p) { order_shapes(p, dtype, op); }},
                 {"special", [=](CaseProgram& p) { order_special(p, dtype, op); }, 0.2}};
  if (dtype == DType::kF32 || dtype == DType::kU32) {
    parts.push_back({"large", [=](CaseProgram& p) {
                       p.output("large", op(p.random({dtype, {large}}, -1e6, 1e6), 0));
                     }});
  }
  return parts;
}

}  // namespace

Parts argmax_parts(DType dtype) {
  return order_parts(
      dtype, [](Tensor x, int axis) { return argmax(x, axis); }, (1 << 20) + 3);
}

Parts argsort_parts(DType dtype) {
  return order_parts(
      dtype, [](Tensor x, int axis) { return argsort(x, axis); }, (1 << 16) + 3);
}

}  // namespace thrt::conformance
