// Cases of matrix products and convolutions.
#include "op_parts.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace thrt::conformance {
namespace {

struct Product {
  Shape batch;
  std::int64_t rows, inner, columns;
};

Shape with_matrix(const Shape& batch, std::int64_t rows, std::int64_t columns) {
  Shape shape = batch;
  shape.push_back(rows);
  shape.push_back(columns);
  return shape;
}

void add_product(CaseProgram& p, DType dtype, const Product& m, bool ta, bool tb, double low = -2.0,
                 double high = 2.0) {
  const Shape a = ta ? with_matrix(m.batch, m.inner, m.rows) : with_matrix(m.batch, m.rows, m.inner);
  const Shape b = tb ? with_matrix(m.batch, m.columns, m.inner) : with_matrix(m.batch, m.inner, m.columns);
  p.output(fmt::format("{} x {} x {} batch {}{}{}", m.rows, m.inner, m.columns, m.batch.str(), ta ? " transpose_a" : "",
                       tb ? " transpose_b" : ""),
           matmul(p.random({dtype, a}, low, high), p.random({dtype, b}, low, high), ta, tb));
}

void product_shapes(CaseProgram& p, DType dtype) {
  for (const Product& m : std::vector<Product>{{{}, 3, 5, 7}, {{}, 65, 33, 31}, {{3}, 5, 7, 4}}) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) add_product(p, dtype, m, ta, tb);
    }
  }
  int layout = 0;  // two of the four, in turn
  for (const Product& m : std::vector<Product>{{{}, 1, 1, 1},
                                               {{}, 1, 257, 1},
                                               {{}, 33, 1, 17},
                                               {{}, 16, 16, 16},
                                               {{}, 1, 64, 129},
                                               {{}, 130, 7, 1},
                                               {{}, 0, 3, 4},
                                               {{}, 3, 0, 4},
                                               {{}, 3, 4, 0},
                                               {{0}, 5, 7, 4},
                                               {{2, 3}, 3, 9, 5},
                                               {{2, 1, 2, 3}, 2, 3, 2}}) {
    const bool ta = layout % 2 == 1, tb = layout / 2 % 2 == 1;
    add_product(p, dtype, m, ta, tb);
    add_product(p, dtype, m, !ta, tb);
    ++layout;
  }
}

}  // namespace

Parts matmul_parts(DType dtype) {
  Parts parts = {{"shapes", [=](CaseProgram& p) { product_shapes(p, dtype); }}};
  parts.push_back(
      {"forms", [=](CaseProgram& p) {
         const Fill fill = [&](const Type& type) { return p.random(type); };
         for (const Form form : kAllForms) {
           p.output(form_name(form) + " a", matmul(in_form(form, {dtype, {9, 7}}, fill), p.random({dtype, {7, 5}})));
           p.output(form_name(form) + " b", matmul(p.random({dtype, {5, 9}}), in_form(form, {dtype, {9, 7}}, fill)));
         }
         const Tensor x = p.random({dtype, {7, 7}});
         p.output("squared", matmul(x, x));
         p.output("gram", matmul(x, x, true, false));
         // What a dense layer does, in one program: a backend may fuse it.
         const Tensor rows = broadcast_in(p.random({dtype, {5}}), {9, 5}, {1});
         p.output("with bias", matmul(p.random({dtype, {9, 7}}), p.random({dtype, {7, 5}})) + rows);
       }});
  parts.push_back({"special",
                   [=](CaseProgram& p) {
                     const std::vector<double> special = special_values(dtype);
                     const auto count = static_cast<std::int64_t>(special.size());
                     // One special element a row, against ones: it reaches its row alone.
                     std::vector<double> values;
                     for (const double one : special) {
                       for (std::int64_t k = 0; k < 5; ++k) values.push_back(k == 2 ? one : 1.0);
                     }
                     const Tensor rows = p.given({dtype, {count, 5}}, values);
                     p.output("rows", matmul(rows, p.random({dtype, {5, 3}}, 0.5, 0.75)));
                     p.output("columns", matmul(p.random({dtype, {3, 5}}, 0.5, 0.75), rows, false, true));
                   },
                   0.1});
  // Products below 1: a sum in f16 stands still at 2048. And few terms, where any rounding but the last shows.
  parts.push_back({"accumulation", [=](CaseProgram& p) {
                     for (const bool t : {false, true}) {
                       add_product(p, dtype, {{}, 3, 4096, 5}, t, t, 0.7, 0.97);
                       add_product(p, dtype, {{}, 33, 48, 17}, t, !t, 0.7, 0.97);
                     }
                   }});
  if (dtype == DType::kF32) {
    parts.push_back({"large", [=](CaseProgram& p) {
                       p.output("large", matmul(p.random({dtype, {255, 193}}), p.random({dtype, {193, 257}})));
                     }});
  }
  return parts;
}

namespace {

struct Convolution {
  Shape x, filter;
  Conv2dGeometry g;
};

// The op of the three on this geometry, with random operands.
void add_convolution(CaseProgram& p, OpKind kind, DType dtype, const Convolution& c, double low = -2.0,
                     double high = 2.0) {
  const std::vector<std::int64_t> attributes = {c.g.stride_h,   c.g.stride_w, c.g.pad_top,
                                                c.g.pad_bottom, c.g.pad_left, c.g.pad_right};
  const Type x{dtype, c.x}, filter{dtype, c.filter};
  const Type y =
      ir::infer({.kind = OpKind::CONV2D, .operands = std::vector<Type>{x, filter}, .attributes = attributes})[0];
  const auto random = [&](const Type& type) { return p.random(type, low, high); };
  const std::string name = fmt::format("{} {} by {}", c.x.str(), c.filter.str(), fmt::join(attributes, ","));
  switch (kind) {
    case OpKind::CONV2D:
      p.output(name, p.graph.append(kind, {random(x), random(filter)}, attributes));
      break;
    case OpKind::CONV2D_GRAD_INPUT:
      p.output(name, p.graph.append(kind, {random(y), random(filter)}, attributes, x));
      break;
    default:
      p.output(name, p.graph.append(kind, {random(y), random(x)}, attributes, filter));
  }
}

std::vector<Convolution> convolutions() {
  return {{{1, 1, 1, 1}, {1, 1, 1, 1}, {}},
          {{2, 3, 5, 7}, {4, 3, 1, 1}, {}},
          {{2, 3, 7, 9}, {5, 3, 3, 3}, {1, 1, 1, 1, 1, 1}},
          {{1, 3, 8, 8}, {4, 3, 3, 3}, {2, 2, 1, 1, 1, 1}},
          {{2, 2, 9, 7}, {3, 2, 2, 4}, {2, 3, 0, 1, 2, 0}},
          {{1, 4, 12, 12}, {8, 4, 8, 8}, {4, 4, 0, 0, 0, 0}},
          {{1, 1, 3, 3}, {2, 1, 5, 5}, {1, 1, 2, 2, 2, 2}},
          {{3, 17, 4, 5}, {33, 17, 3, 2}, {1, 2, 0, 0, 0, 0}},
          {{1, 2, 7, 7}, {1, 2, 2, 2}, {3, 3, 0, 0, 0, 0}},  // the last rows and columns meet no tap
          {{2, 1, 1, 33}, {3, 1, 1, 3}, {1, 1, 0, 0, 1, 1}},
          {{0, 3, 5, 5}, {2, 3, 3, 3}, {}},
          {{2, 0, 5, 5}, {2, 0, 3, 3}, {}},
          {{2, 3, 5, 5}, {0, 3, 3, 3}, {}}};
}

}  // namespace

Parts convolution_parts(OpKind kind, DType dtype) {
  Parts parts = {{"shapes", [=](CaseProgram& p) {
                    for (const Convolution& c : convolutions()) add_convolution(p, kind, dtype, c);
                  }}};
  // 4608 terms for each element of the one op, and of the other two.
  parts.push_back({"accumulation", [=](CaseProgram& p) {
                     if (kind == OpKind::CONV2D)
                       add_convolution(p, kind, dtype, {{1, 512, 3, 3}, {3, 512, 3, 3}, {}}, 0.7, 0.97);
                     if (kind == OpKind::CONV2D_GRAD_INPUT)
                       add_convolution(p, kind, dtype, {{1, 2, 5, 5}, {512, 2, 3, 3}, {}}, 0.7, 0.97);
                     if (kind == OpKind::CONV2D_GRAD_FILTER)
                       add_convolution(p, kind, dtype, {{2, 1, 50, 50}, {2, 1, 3, 3}, {}}, 0.7, 0.97);
                   }});
  parts.push_back(
      {"forms", [=](CaseProgram& p) {
         const Convolution c{{2, 3, 6, 5}, {4, 3, 3, 2}, {1, 1, 1, 0, 0, 1}};
         const std::vector<std::int64_t> attributes = {1, 1, 1, 0, 0, 1};
         const Type x{dtype, c.x}, filter{dtype, c.filter};
         const Type y =
             ir::infer({.kind = OpKind::CONV2D, .operands = std::vector<Type>{x, filter}, .attributes = attributes})[0];
         const Type first = kind == OpKind::CONV2D ? x : y, second = kind == OpKind::CONV2D_GRAD_FILTER ? x : filter;
         const Type result = kind == OpKind::CONV2D ? y : kind == OpKind::CONV2D_GRAD_INPUT ? x : filter;
         const auto turned = [&](const Type& type) {
           const Shape& s = type.shape;
           return transpose(p.random({dtype, {s[2], s[0], s[3], s[1]}}), {1, 3, 0, 2});
         };
         p.output("transposed", p.graph.append(kind, {turned(first), turned(second)}, attributes, result));
         const auto spread = [&](const Type& type) {
           return broadcast_in(p.random({dtype, {type.shape[1], 1, type.shape[3]}}), type.shape, {1, 2, 3});
         };
         p.output("broadcast", p.graph.append(kind, {spread(first), spread(second)}, attributes, result));
         const Tensor twice = p.graph.append(kind, {p.random(first), p.random(second)}, attributes, result);
         p.output("used twice", twice + tanh(twice));
       }});
  return parts;
}

}  // namespace thrt::conformance
