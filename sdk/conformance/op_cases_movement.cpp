// Cases of sources and of ops that move elements. Results are exact: each element is checked, whatever it is.
#include "op_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace thrt::conformance {
namespace {

using List = std::vector<std::int64_t>;

// Random elements with the dtype's special ones among them.
Tensor mixed(CaseProgram& p, const Type& type) {
  const std::vector<double> special = special_values(type.dtype);
  std::vector<double> values;
  for (std::int64_t i = 0; i < std::max<std::int64_t>(type.elements(), 1); ++i) {
    if (p.numbers.between(0, 3) == 0) {
      values.push_back(special[p.numbers.bits() % special.size()]);
    } else if (ir::is_float(type.dtype)) {
      values.push_back(p.numbers.uniform(-100.0, 100.0));
    } else {
      values.push_back(static_cast<double>(p.numbers.between(0, type.dtype == DType::kBool ? 1 : 255)));
    }
  }
  return p.given(type, values);
}

void add_broadcast(CaseProgram& p, Tensor x, const List& axes, const Shape& shape) {
  p.output(fmt::format("{} along {} to {}", x.shape().str(), fmt::join(axes, ","), shape.str()),
           p.graph.append(OpKind::BROADCAST, {x}, axes, Type{x.dtype(), shape}));
}

void add_transpose(CaseProgram& p, Tensor x, const List& permutation) {
  p.output(fmt::format("{} by {}", x.shape().str(), fmt::join(permutation, ",")),
           p.graph.append(OpKind::TRANSPOSE, {x}, permutation));
}

// starts, sizes, strides.
void add_slice(CaseProgram& p, Tensor x, const List& start, const List& size, const List& stride) {
  List attributes = start;
  attributes.insert(attributes.end(), size.begin(), size.end());
  attributes.insert(attributes.end(), stride.begin(), stride.end());
  p.output(fmt::format("{} from {} of {} every {}", x.shape().str(), fmt::join(start, ","), fmt::join(size, ","),
                       fmt::join(stride, ",")),
           p.graph.append(OpKind::SLICE, {x}, attributes));
}

void add_pad(CaseProgram& p, Tensor x, const List& low, const List& high, const List& interior) {
  p.output(fmt::format("{} low {} high {} inside {}", x.shape().str(), fmt::join(low, ","), fmt::join(high, ","),
                       fmt::join(interior, ",")),
           pad(x, mixed(p, {x.dtype(), {}}), low, high, interior));
}

void add_concat(CaseProgram& p, DType dtype, const std::vector<Shape>& shapes, int axis) {
  std::vector<Tensor> parts;
  std::string name = fmt::format("along {}", axis);
  for (const Shape& shape : shapes) {
    parts.push_back(mixed(p, {dtype, shape}));
    name += " " + shape.str();
  }
  p.output(name, concat(parts, axis));
}

}  // namespace

Parts constant_parts(DType dtype) {
  return {{"shapes", [=](CaseProgram& p) {
             const std::vector<double> special = special_values(dtype);
             const auto count = static_cast<std::int64_t>(special.size());
             const Tensor all = p.graph.constant({dtype, {count}}, encode(special, dtype));
             p.output("special", all);
             p.output("special again", all);
             p.output("special moved", concat(std::vector<Tensor>{all, all}, 0));
             for (const Shape& shape : common_shapes()) {
               std::vector<double> values;
               for (std::int64_t i = 0; i < shape.elements(); ++i) {
                 values.push_back(static_cast<double>(p.numbers.between(0, dtype == DType::kBool ? 1 : 100)));
               }
               const Tensor constant = p.graph.constant({dtype, shape}, encode(values, dtype));
               p.output(shape.str(), constant);
               p.output(shape.str() + " selected",
                        select(p.random({DType::kBool, shape}), constant, mixed(p, {dtype, shape})));
             }
           }}};
}

Parts iota_parts(DType dtype) {
  return {{"shapes", [=](CaseProgram& p) {
             for (const Shape& shape : common_shapes()) {
               for (int axis = shape.rank() - 1; axis >= 0; axis -= 2) {
                 p.output(fmt::format("{} axis {}", shape.str(), axis), iota(p.graph, {dtype, shape}, axis));
               }
             }
             p.output("long", iota(p.graph, {dtype, {4099}}, 0));  // beyond what f16 and bf16 count exactly
           }}};
}

Parts broadcast_parts(DType dtype) {
  return {{"shapes", [=](CaseProgram& p) {
             const auto x = [&](const Shape& shape) { return mixed(p, {dtype, shape}); };
             add_broadcast(p, x({}), {}, {});
             add_broadcast(p, x({}), {}, {257});
             add_broadcast(p, x({}), {}, {2, 3, 1, 2, 3, 2});
             add_broadcast(p, x({1}), {0}, {33});
             add_broadcast(p, x({5}), {0}, {5, 7});
             add_broadcast(p, x({7}), {1}, {5, 7});
             add_broadcast(p, x({7}), {1}, {3, 7, 5});
             add_broadcast(p, x({3, 5}), {0, 2}, {3, 7, 5});
             add_broadcast(p, x({3, 1}), {0, 1}, {3, 17});
             add_broadcast(p, x({1, 17}), {0, 1}, {33, 17});
             add_broadcast(p, x({2, 1, 3}), {1, 3, 4}, {4, 2, 3, 5, 3});
             add_broadcast(p, x({1, 1, 1, 1, 1, 3}), {0, 1, 2, 3, 4, 5}, {2, 1, 3, 2, 2, 3});
             add_broadcast(p, x({0}), {0}, {0, 4});
             add_broadcast(p, x({3}), {1}, {0, 3});
             add_broadcast(p, x({1}), {0}, {0});
             add_broadcast(p, transpose(x({5, 3})), {0, 2}, {3, 2, 5});
           }}};
}

Parts reshape_parts(DType dtype) {
  return {{"shapes", [=](CaseProgram& p) {
             const std::vector<std::pair<Shape, Shape>> list = {{{}, {1, 1, 1}},
                                                                {{1}, {}},
                                                                {{12}, {3, 4}},
                                                                {{3, 4}, {12}},
                                                                {{2, 3, 4}, {4, 3, 2}},
                                                                {{0, 3}, {5, 0, 2}},
                                                                {{33, 5}, {5, 33}},
                                                                {{1023}, {3, 11, 31}},
                                                                {{2, 3, 2, 1, 2, 2}, {6, 8}},
                                                                {{7}, {7}}};
             for (const auto& [from, to] : list) {
               const Tensor x = mixed(p, {dtype, from});
               p.output(from.str() + " to " + to.str(), p.graph.append(OpKind::RESHAPE, {x}, {}, Type{dtype, to}));
             }
             const Tensor x = mixed(p, {dtype, {5, 6, 7}});
             p.output("transposed", reshape(transpose(x, {2, 0, 1}), {210}));
             p.output("sliced", reshape(slice(x, 1, 1, 3, 2), {7, 15}));
             p.output("broadcast", reshape(broadcast_in(slice(x, 0, 2, 1), {4, 6, 7}, {0, 1, 2}), {8, 21}));
           }}};
}

Parts transpose_parts(DType dtype) {
  Parts parts = {{"shapes", [=](CaseProgram& p) {
                    add_transpose(p, mixed(p, {dtype, {}}), {});
                    add_transpose(p, mixed(p, {dtype, {5}}), {0});
                    for (const Shape& shape : {Shape{33, 65}, Shape{1, 7}, Shape{0, 4}, Shape{257, 3}, Shape{64, 64}}) {
                      add_transpose(p, mixed(p, {dtype, shape}), {1, 0});
                    }
                    const Tensor three = mixed(p, {dtype, {3, 5, 7}});
                    List order = {0, 1, 2};
                    do {
                      add_transpose(p, three, order);
                    } while (std::next_permutation(order.begin(), order.end()));
                    add_transpose(p, mixed(p, {dtype, {2, 3, 4, 5}}), {0, 2, 1, 3});
                    add_transpose(p, mixed(p, {dtype, {2, 3, 4, 5}}), {3, 1, 0, 2});
                    add_transpose(p, mixed(p, {dtype, {2, 3, 1, 4, 3}}), {4, 2, 0, 3, 1});
                    add_transpose(p, mixed(p, {dtype, {2, 3, 2, 3, 2, 3}}), {5, 0, 3, 1, 4, 2});
                    add_transpose(p, transpose(three, {1, 2, 0}), {2, 1, 0});
                    add_transpose(p, broadcast_in(mixed(p, {dtype, {5}}), {3, 5}, {1}), {1, 0});
                  }}};
  if (dtype == DType::kF32) {
    parts.push_back({"large", [=](CaseProgram& p) { add_transpose(p, p.random({dtype, {1025, 1023}}), {1, 0}); }});
  }
  return parts;
}

Parts slice_parts(DType dtype) {
  return {{"shapes", [=](CaseProgram& p) {
             add_slice(p, mixed(p, {dtype, {}}), {}, {}, {});
             const Tensor one = mixed(p, {dtype, {257}});
             for (const auto& [start, size, stride] :
                  std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>>{{0, 257, 1},
                                                                                    {0, 0, 1},
                                                                                    {257, 0, 3},
                                                                                    {256, 1, 1},
                                                                                    {1, 128, 2},
                                                                                    {3, 85, 3},
                                                                                    {0, 2, 256},
                                                                                    {17, 100, 1}}) {
               add_slice(p, one, {start}, {size}, {stride});
             }
             const Tensor two = mixed(p, {dtype, {17, 33}});
             add_slice(p, two, {0, 0}, {17, 33}, {1, 1});
             add_slice(p, two, {3, 5}, {7, 11}, {1, 1});
             add_slice(p, two, {1, 0}, {5, 33}, {3, 1});
             add_slice(p, two, {0, 1}, {17, 8}, {1, 4});
             add_slice(p, two, {16, 32}, {1, 1}, {1, 1});
             add_slice(p, two, {2, 2}, {0, 5}, {1, 1});
             add_slice(p, transpose(two), {5, 3}, {9, 7}, {3, 2});
             add_slice(p, mixed(p, {dtype, {3, 0}}), {1, 0}, {2, 0}, {1, 1});
             add_slice(p, mixed(p, {dtype, {3, 4, 5}}), {1, 0, 2}, {2, 2, 3}, {1, 3, 1});
             add_slice(p, mixed(p, {dtype, {2, 3, 4, 3, 2, 3}}), {0, 1, 0, 2, 1, 0}, {2, 2, 2, 1, 1, 2},
                       {1, 1, 2, 1, 1, 2});
           }}};
}

Parts pad_parts(DType dtype) {
  return {
      {"shapes", [=](CaseProgram& p) {
         add_pad(p, mixed(p, {dtype, {}}), {}, {}, {});
         for (const auto& [low, high, inside] : std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>>{
                  {0, 0, 0}, {1, 0, 0}, {0, 3, 0}, {0, 0, 2}, {5, 2, 1}}) {
           add_pad(p, mixed(p, {dtype, {33}}), {low}, {high}, {inside});
           add_pad(p, mixed(p, {dtype, {1}}), {low}, {high}, {inside});
           add_pad(p, mixed(p, {dtype, {0}}), {low}, {high}, {inside});
         }
         add_pad(p, mixed(p, {dtype, {5, 7}}), {1, 2}, {3, 0}, {0, 1});
         add_pad(p, mixed(p, {dtype, {5, 0}}), {1, 2}, {3, 1}, {2, 1});
         add_pad(p, transpose(mixed(p, {dtype, {7, 5}})), {0, 1}, {1, 0}, {1, 0});
         add_pad(p, mixed(p, {dtype, {3, 4, 5}}), {0, 1, 0}, {2, 0, 1}, {1, 0, 2});
         add_pad(p, mixed(p, {dtype, {2, 1, 2, 3, 1, 2}}), {1, 0, 0, 1, 0, 0}, {0, 1, 0, 0, 1, 0}, {0, 0, 1, 0, 0, 1});
       }}};
}

Parts concat_parts(DType dtype) {
  return {{"shapes", [=](CaseProgram& p) {
             add_concat(p, dtype, {{5}}, 0);
             add_concat(p, dtype, {{3}, {257}}, 0);
             add_concat(p, dtype, {{0}, {3}, {0}, {1}}, 0);
             add_concat(p, dtype, {{0}}, 0);
             add_concat(p, dtype, {{2, 3}, {5, 3}, {1, 3}}, 0);
             add_concat(p, dtype, {{3, 2}, {3, 5}, {3, 1}}, 1);
             add_concat(p, dtype, {{3, 2}, {3, 0}}, 1);
             add_concat(p, dtype, {{2, 3, 5}, {2, 4, 5}}, 1);
             add_concat(p, dtype, {{2, 1, 2, 2, 1, 3}, {2, 1, 2, 2, 1, 4}}, 5);
             add_concat(p, dtype, std::vector<Shape>(17, Shape{2, 3}), 1);
             const Tensor x = mixed(p, {dtype, {5, 7}});
             p.output("forms",
                      concat(std::vector<Tensor>{transpose(x), slice(transpose(x), 0, 1, 3, 2),
                                                 broadcast_in(slice(x, 1, 2, 1), {5, 5}, {0, 1}), transpose(x)},
                             0));
             p.output("the same twice", concat(std::vector<Tensor>{x, x}, 1));
           }}};
}

}  // namespace thrt::conformance
