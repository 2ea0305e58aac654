// Sizes that training has and small examples do not: more than 65535 rows, indices or parts of a grid, more than 2^20 terms, more
// than 16 matrices, hundreds of rows, a thousand trips. Where many terms are summed the last ones are large, so that no error
// bound is wide enough to lose them in.
#include "op_parts.hpp"

#include <fmt/format.h>

namespace thrt::conformance {
namespace {

constexpr std::int64_t kMany = 70001;  // beyond 2^16
using Build = std::function<void(CaseProgram&)>;

// Ordinary elements, and these at the end.
Tensor with_end(CaseProgram& p, const Type& type, const std::vector<double>& end) {
  std::vector<double> values = p.numbers.uniforms(type.elements(), -4.0, 4.0);
  std::copy(end.begin(), end.end(), values.end() - static_cast<std::ptrdiff_t>(end.size()));
  return p.given(type, values);
}

void reductions(CaseProgram& p, OpKind kind, DType dtype) {
  const auto add = [&](const std::string& name, Tensor x, const std::vector<std::int64_t>& axes) {
    p.output(name, p.graph.append(kind, {x}, axes));
  };
  const std::vector<double> end = {-1e6, 3e6, -5e6, 7e6, 1e6};
  add("rows", p.random({dtype, {kMany, 3}}), {1});
  add("columns", p.random({dtype, {3, kMany}}), {0});
  add("middle", p.random({dtype, {259, 3, 257}}), {1});
  add("long", with_end(p, {dtype, {kMany}}, end), {0});
  add("long row", with_end(p, {dtype, {2, kMany}}, end), {1});
  add("longest", with_end(p, {dtype, {(1 << 20) + 1029}}, end), {0});
}

void orders(CaseProgram& p, OpKind kind, DType dtype) {
  const auto add = [&](const Shape& shape, int axis) {
    p.output(fmt::format("{} axis {}", shape.str(), axis),
             p.graph.append(kind, {p.random({dtype, shape}, -1e6, 1e6)}, {axis}));
  };
  add({300, 5}, 1);
  add({5, 300}, 0);
  add({17, 3, 19}, 1);
  add({kMany}, 0);
  add({kMany, 3}, 1);
  // Values that come again far apart: the first is to stay the first.
  const Tensor ties = p.given({dtype, {5003}}, {3.0, 1.0, 2.0, 3.0, 0.0, 1.0, 2.0});
  p.output("ties", p.graph.append(kind, {ties}, {0}));
  const Tensor rows = p.given({dtype, {3, 1037}}, {3.0, 1.0, 2.0, 3.0, 0.0});
  p.output("rows of ties", p.graph.append(kind, {rows}, {1}));
}

void products(CaseProgram& p, DType dtype) {
  const auto add = [&](const Shape& a, const Shape& b, bool ta, bool tb) {
    p.output(fmt::format("{} x {}{}{}", a.str(), b.str(), ta ? " transpose_a" : "", tb ? " transpose_b" : ""),
             matmul(p.random({dtype, a}, -2.0, 2.0), p.random({dtype, b}, -2.0, 2.0), ta, tb));
  };
  add({640, 64}, {64, 8}, false, false);
  add({64, 640}, {64, 8}, true, false);
  add({1029, 17}, {17, 3}, false, false);
  add({8, 64}, {64, 640}, false, false);
  add({3, 17}, {1029, 17}, false, true);
  add({256, 67}, {67, 64}, false, false);
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      add(ta ? Shape{40, 4, 3} : Shape{40, 3, 4}, tb ? Shape{40, 2, 4} : Shape{40, 4, 2}, ta, tb);
      add(ta ? Shape{3, 7, 4, 3} : Shape{3, 7, 3, 4}, tb ? Shape{3, 7, 2, 4} : Shape{3, 7, 4, 2}, ta, tb);
    }
  }
  // The last terms of a long inner size weigh more than all others.
  for (const std::int64_t inner : {1025, 4099}) {
    std::vector<double> a = p.numbers.uniforms(inner, -2.0, 2.0), b = p.numbers.uniforms(inner, -2.0, 2.0);
    for (std::int64_t i = 1; i <= 3; ++i) {
      a[static_cast<std::size_t>(inner - i)] = 60.0 + static_cast<double>(i);
      b[static_cast<std::size_t>(inner - i)] = 80.0 - static_cast<double>(i);
    }
    p.output(fmt::format("{} terms", inner),
             matmul(p.given({dtype, {2, inner}}, a), p.given({dtype, {3, inner}}, b), false, true));
    const Tensor column = transpose(p.given({dtype, {3, inner}}, b));
    p.output(fmt::format("{} terms, transposed", inner), matmul(p.given({dtype, {2, inner}}, a), column));
  }
}

void convolutions(CaseProgram& p, OpKind kind, DType dtype) {
  struct Sizes {
    Shape x, filter;
    std::vector<std::int64_t> attributes;
  };
  for (const auto& [x_shape, filter_shape, attributes] :
       {Sizes{{17, 3, 6, 5}, {4, 3, 3, 3}, {1, 1, 1, 1, 1, 1}}, Sizes{{33, 1, 7, 5}, {2, 1, 3, 2}, {2, 1, 1, 0, 0, 1}},
        Sizes{{2, 67, 3, 4}, {65, 67, 2, 2}, {1, 1, 0, 0, 0, 0}},
        Sizes{{2, 2, 67, 70}, {3, 2, 3, 3}, {2, 3, 1, 1, 1, 1}}}) {
    const Type x{dtype, x_shape}, filter{dtype, filter_shape};
    const Type y =
        ir::infer({.kind = OpKind::CONV2D, .operands = std::vector<Type>{x, filter}, .attributes = attributes})[0];
    const Type first = kind == OpKind::CONV2D ? x : y, second = kind == OpKind::CONV2D_GRAD_FILTER ? x : filter;
    const Type result = kind == OpKind::CONV2D ? y : kind == OpKind::CONV2D_GRAD_INPUT ? x : filter;
    const std::vector<Tensor> operands = {p.random(first, -2.0, 2.0), p.random(second, -2.0, 2.0)};
    p.output(fmt::format("{} {}", x_shape.str(), filter_shape.str()),
             kind == OpKind::CONV2D ? p.graph.append(kind, operands, attributes)
                                    : p.graph.append(kind, operands, attributes, result));
  }
}

void gathers(CaseProgram& p, DType dtype) {
  const Tensor table = p.random({dtype, {kMany, 3}}, -100.0, 100.0), small = p.random({dtype, {9, 3}}, -100.0, 100.0);
  const auto places = [&](const Shape& shape, std::int64_t size) {
    return p.random({DType::kI32, shape}, 0.0, static_cast<double>(size - 1));
  };
  p.output("from many rows", gather(table, places({33}, kMany), 0));
  p.output("many indices", gather(small, places({kMany}, 9), 0));
  p.output("many indices, axis 1", gather(small, places({kMany}, 3), 1));
  p.output("grid of indices", gather(small, places({263, 257}, 9), 0));
}

void scatters(CaseProgram& p, DType dtype) {
  const auto places = [&](const Shape& shape, std::int64_t size) {
    return p.random({DType::kI32, shape}, 0.0, static_cast<double>(size - 1));
  };
  p.output("many indices",
           scatter_add(p.random({dtype, {257, 2}}), places({kMany}, 257), p.random({dtype, {kMany, 2}}), 0));
  p.output("many indices, axis 1",
           scatter_add(p.random({dtype, {2, 4099}}), places({kMany}, 4099), p.random({dtype, {2, kMany}}), 1));
  p.output("into many rows",
           scatter_add(p.random({dtype, {kMany, 2}}), places({33}, kMany), p.random({dtype, {33, 2}}), 0));
}

void concats(CaseProgram& p, DType dtype) {
  for (const int axis : {0, 1}) {
    std::vector<Tensor> parts;
    for (std::int64_t i = 0; i < 40; ++i) {
      const std::int64_t length = 1 + i % 3;
      parts.push_back(p.random({dtype, axis == 0 ? Shape{length, 3} : Shape{3, length}}, -100.0, 100.0));
    }
    p.output(fmt::format("40 parts along {}", axis), concat(parts, axis));
  }
  for (const int axis : {0, 1}) {
    const std::vector<Tensor> parts = {p.random({dtype, {kMany / 7 * 7, 1}}), p.random({dtype, {kMany / 7 * 7, 1}})};
    p.output(fmt::format("long parts along {}", axis), concat(parts, axis));
  }
}

void movements(CaseProgram& p, OpKind kind, DType dtype) {
  const auto x = [&](const Shape& shape) { return p.random({dtype, shape}, -100.0, 100.0); };
  const auto at = [&](const std::vector<double>& starts) {
    return p.given({DType::kI32, {static_cast<std::int64_t>(starts.size())}}, starts);
  };
  switch (kind) {
    case OpKind::BROADCAST:
      p.output("row", broadcast_in(x({67}), {1031, 67}, {1}));
      p.output("column", broadcast_in(x({1031}), {1031, 67}, {0}));
      p.output("scalar", broadcast_to(x({}), {kMany}));
      break;
    case OpKind::TRANSPOSE:
      p.output("tall", transpose(x({kMany, 3})));
      p.output("images", transpose(x({65, 3, 20, 19}), {0, 2, 3, 1}));
      break;
    case OpKind::SLICE:
      p.output("rows", slice(x({kMany + 9, 2}), 0, 5, kMany));
      p.output("strided", slice(x({2, 3 * kMany}), 1, 1, kMany, 3));
      break;
    case OpKind::PAD:
      p.output("padded", pad(x({kMany, 2}), x({}), std::vector<std::int64_t>{1, 0}, std::vector<std::int64_t>{2, 1},
                             std::vector<std::int64_t>{1, 0}));
      break;
    case OpKind::DYNAMIC_SLICE:
      p.output("late", dynamic_slice(x({kMany, 3}), at({69000.0, 1.0}), {777, 2}));
      p.output("many", dynamic_slice(x({kMany + 99, 2}), at({71.0, 0.0}), {kMany, 2}));
      break;
    case OpKind::DYNAMIC_UPDATE_SLICE:
      p.output("late", dynamic_update_slice(x({kMany, 3}), x({777, 2}), at({69000.0, 1.0})));
      p.output("many", dynamic_update_slice(x({kMany + 99, 2}), x({kMany, 2}), at({71.0, 0.0})));
      break;
    default:
      p.output("long", iota(p.graph, {dtype, {2, kMany}}, 1));
      p.output("rows", iota(p.graph, {dtype, {kMany, 3}}, 0));
  }
}

// A few operations 1500 times over, nothing that grows.
void trips(CaseProgram& p, DType dtype) {
  constexpr std::int64_t kTrips = 1500;
  const Type type{dtype, {5}};
  auto body = std::make_shared<Graph>("body");
  const Tensor iteration = body->input("iteration", {DType::kI32, {}});
  const Tensor ring = body->state("ring", type, {}), count = body->state("count", type, {});
  const Tensor last = body->state("last", {DType::kI32, {}}, {});
  const Tensor step = body->input("step", type);
  static_cast<void>(last);
  body->update("ring", concat(std::vector<Tensor>{slice(ring, 0, 1, 4), slice(ring, 0, 0, 1)}, 0));
  body->update("count", count + step);
  body->update("last", iteration);
  const std::vector<Tensor> carried = {p.random(type, -100.0, 100.0), p.given(type, {0.0}),
                                       p.given({DType::kI32, {}}, {-7.0})};
  const Tensor steps = p.given(type, {1.0, 2.0, 3.0, 4.0, 5.0});
  const std::vector<Tensor> results = p.graph.append_repeat(kTrips, carried, std::vector<Tensor>{steps}, body);
  p.output("ring", results[0]);
  p.output("count", results[1]);
  p.output("last", results[2]);
  p.output("steps", steps + steps);
}

// More values carried than a kernel has arguments to spare: each moves one place on.
void carried_many(CaseProgram& p, DType dtype) {
  constexpr int kCarried = 40;
  const Type type{dtype, {3}};
  auto body = std::make_shared<Graph>("ring of values");
  body->input("iteration", {DType::kI32, {}});
  std::vector<Tensor> states, starts;
  for (int i = 0; i < kCarried; ++i) {
    states.push_back(body->state(fmt::format("s{}", i), type, {}));
    starts.push_back(p.random(type, -100.0, 100.0));
  }
  for (std::size_t i = 0; i < kCarried; ++i) body->update(fmt::format("s{}", i), states[(i + 1) % kCarried]);
  const std::vector<Tensor> results = p.graph.append_repeat(7, starts, std::vector<Tensor>{}, body);
  for (const Tensor result : results) p.output("carried", result);
}

}  // namespace

// f32 and i32: what is exact shows what a bound might hide.
Parts sizes_parts(OpKind kind, DType dtype) {
  const bool is_tried = dtype == DType::kF32 || dtype == DType::kI32;
  if (!is_tried) return {};
  const auto part = [](Build build) { return Parts{{"sizes", std::move(build)}}; };
  switch (ir::op_info(kind).rule) {
    case ir::Rule::kReduce:
      return part([=](CaseProgram& p) { reductions(p, kind, dtype); });
    case ir::Rule::kArgmax:
    case ir::Rule::kArgsort:
      return part([=](CaseProgram& p) { orders(p, kind, dtype); });
    case ir::Rule::kMatmul:
      return part([=](CaseProgram& p) { products(p, dtype); });
    case ir::Rule::kConv2d:
    case ir::Rule::kConv2dGradInput:
    case ir::Rule::kConv2dGradFilter:
      return part([=](CaseProgram& p) { convolutions(p, kind, dtype); });
    case ir::Rule::kGather:
      return part([=](CaseProgram& p) { gathers(p, dtype); });
    case ir::Rule::kScatterAdd:
      return part([=](CaseProgram& p) { scatters(p, dtype); });
    case ir::Rule::kConcat:
      return part([=](CaseProgram& p) { concats(p, dtype); });
    case ir::Rule::kIota:
    case ir::Rule::kBroadcast:
    case ir::Rule::kTranspose:
    case ir::Rule::kSlice:
    case ir::Rule::kPad:
    case ir::Rule::kDynamicSlice:
    case ir::Rule::kDynamicUpdateSlice:
      return part([=](CaseProgram& p) { movements(p, kind, dtype); });
    case ir::Rule::kRepeat:
      return part([=](CaseProgram& p) {
        trips(p, dtype);
        carried_many(p, dtype);
      });
    default:
      return {};
  }
}

}  // namespace thrt::conformance
