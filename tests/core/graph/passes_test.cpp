#include "reference_device.hpp"

#include <thrt/graph/autodiff.hpp>
#include <thrt/graph/repeat.hpp>
#include <thrt/graph/tensor_ops.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

namespace thrt::test {
namespace {

const Type kMatrix{DType::kF32, {2, 3}};

std::size_t count(const Graph& graph, OpKind kind) {
  return static_cast<std::size_t>(
      std::count_if(graph.ops().begin(), graph.ops().end(), [&](const auto& op) { return op.kind == kind; }));
}

// What simplify leaves of f(x) when f is the identity: nothing but x itself.
void expect_identity(const char* what, const std::function<Tensor(Tensor)>& f, const Type& type = kMatrix) {
  Graph graph("g");
  graph.output("y", f(graph.input("x", type)));
  const Graph simple = eliminate_dead_code(simplify(graph));
  EXPECT_EQ(simple.ops().size(), 0u) << what;
  EXPECT_EQ(simple.find_slot("y")->output, simple.find_slot("x")->input) << what;
  EXPECT_GT(graph.ops().size(), 0u) << what;
}

TEST(Simplify, DropsWhatHasNoEffect) {
  expect_identity("stop_gradient", [](Tensor x) { return stop_gradient(x); });
  expect_identity("transposes", [](Tensor x) { return transpose(transpose(x)); });
  expect_identity("identity transpose", [](Tensor x) { return transpose(x, {0, 1}); });
  expect_identity("rotations",
                  [](Tensor x) {
                    return transpose(transpose(x, {1, 2, 0}), {2, 0, 1});
                  },
                  {DType::kF32, {2, 3, 4}});
  expect_identity("identity broadcast", [](Tensor x) { return broadcast_in(x, {2, 3}, {0, 1}); });
  expect_identity("full slice", [](Tensor x) { return slice(x, 1, 0, 3); });
  expect_identity("full dynamic slice", [](Tensor x) {
    return dynamic_slice(x, iota(x.graph(), {DType::kI32, {2}}, 0), {2, 3});
  });
  expect_identity("pad by nothing", [](Tensor x) {
    const std::array<std::int64_t, 2> none = {0, 0};
    return pad(x, scalar(x.graph(), 1.0), none, none, none);
  });
  expect_identity("concat of one", [](Tensor x) { return concat(std::array<Tensor, 1>{x}, 0); });
  expect_identity("reshapes", [](Tensor x) { return reshape(reshape(reshape(x, {6}), {3, 2}), {2, 3}); });
  expect_identity("reduce over no axis", [](Tensor x) { return x.graph().append(OpKind::REDUCE_SUM, {x}); });
  expect_identity("negations", [](Tensor x) { return -(-x); });
  expect_identity("not not", [](Tensor x) { return invert(invert(x)); }, {DType::kU32, {3}});
  expect_identity("times one", [](Tensor x) { return x * 1.0; });
  expect_identity("one times", [](Tensor x) { return 1.0 * x; });
  expect_identity("over one", [](Tensor x) { return x / 1.0; });
  expect_identity("minus zero", [](Tensor x) { return x - 0.0; });
  expect_identity("first power", [](Tensor x) { return pow(x, like(x, 1.0)); });
  expect_identity("select between equals", [](Tensor x) { return select(less(x, 0.0), x, x); });
}

TEST(Simplify, TurnsSquaresIntoProductsAndJoinsReshapes) {
  Graph graph("g");
  const Tensor x = graph.input("x", kMatrix);
  graph.output("square", pow(x, like(x, 2.0)));
  graph.output("flat", reshape(reshape(x, {3, 2}), {6}));
  graph.output("wide", broadcast_to(broadcast_to(x, {4, 2, 3}), {5, 4, 2, 3}));
  graph.output("turned", transpose(transpose(reshape(x, {1, 2, 3}), {1, 2, 0}), {1, 2, 0}));
  const Graph simple = eliminate_dead_code(simplify(graph));
  EXPECT_EQ(count(simple, OpKind::POW), 0u);
  EXPECT_EQ(count(simple, OpKind::MUL), 1u);
  EXPECT_EQ(count(simple, OpKind::RESHAPE), 2u);
  EXPECT_EQ(count(simple, OpKind::BROADCAST), 1u);
  EXPECT_EQ(count(simple, OpKind::TRANSPOSE), 1u);
  const HostValues inputs = {{"x", f32({2, 3}, {1, -2, 3, 0.5, -0.0, 7})}};
  EXPECT_EQ(run(simple, inputs), run(graph, inputs));
}

TEST(Simplify, KeepsWhatLooksLikeNothingAndIsNot) {
  Graph graph("g");
  const Tensor x = graph.input("x", {DType::kF32, {4}});
  graph.output("plus zero", x + 0.0);                              // -0 + 0 is 0
  graph.output("minus minus zero", x - -0.0);                      // -0 - -0 is 0
  graph.output("times zero", x * 0.0);                             // NaN times 0
  graph.output("minus itself", x - x);                             // inf - inf
  graph.output("zeroth power of one half", pow(x, like(x, 0.5)));  // -0^0.5 is 0, sqrt(-0) is -0
  const HostValues inputs = {{"x", f32({4}, {-0.0, std::numeric_limits<double>::infinity(), -1.0, 4.0})}};
  const HostValues results = run(optimise(graph), inputs);
  EXPECT_EQ(results, run(graph, inputs));
  EXPECT_FALSE(std::signbit(results.at("plus zero").numbers()[0]));
  EXPECT_FALSE(std::signbit(results.at("minus minus zero").numbers()[0]));
  EXPECT_TRUE(std::isnan(results.at("times zero").numbers()[1]));
  EXPECT_TRUE(std::isnan(results.at("minus itself").numbers()[1]));
}

TEST(MergeCommonSubexpressions, MergesEqualOpsAndKeepsDifferentOnes) {
  Graph graph("g");
  const Tensor x = graph.input("x", kMatrix), rng = graph.input("rng", {DType::kU32, {4}});
  graph.output("a", exp(x * 2.0) + exp(x * 2.0));
  graph.output("b", sum(x, {0}));
  graph.output("c", sum(x, {1}));
  graph.output("d", cast(random_bits(rng, {2}), DType::kF32) + cast(random_bits(rng, {2}), DType::kF32));
  graph.output("e", x * 3.0);
  graph.output("f", slice(x, 1, 0, 2) * slice(x, 1, 1, 2));  // alike but for their attributes
  const Graph merged = eliminate_dead_code(merge_common_subexpressions(graph));
  EXPECT_EQ(count(merged, OpKind::EXP), 1u);
  EXPECT_EQ(count(merged, OpKind::MUL), 3u);
  EXPECT_EQ(count(merged, OpKind::SLICE), 2u);
  EXPECT_EQ(count(merged, OpKind::REDUCE_SUM), 2u);
  EXPECT_EQ(count(merged, OpKind::RANDOM_BITS), 1u);
  EXPECT_EQ(count(merged, OpKind::CONSTANT), 2u);
  const HostValues inputs = {{"x", f32({2, 3}, {1, -2, 3, 0.5, -0.0, 7})}};
  EXPECT_EQ(run(merged, inputs), run(graph, inputs));
}

TEST(EliminateDeadCode, KeepsOutputsStatesAndWhatTheyNeed) {
  Graph graph("g");
  const Tensor x = graph.input("x", kMatrix), unused = graph.input("unused", kMatrix);
  const Tensor s = graph.state("s", kMatrix, Init::zeros());
  graph.state("idle", kMatrix, Init::zeros());
  graph.update("s", s + x);
  graph.output("y", sin(x));
  static_cast<void>(exp(cos(unused)));
  const Graph live = eliminate_dead_code(graph);
  EXPECT_EQ(live.ops().size(), 2u);
  ASSERT_EQ(live.slots().size(), graph.slots().size());
  for (std::size_t i = 0; i < live.slots().size(); ++i) {
    EXPECT_EQ(live.slots()[i].name, graph.slots()[i].name);
    EXPECT_EQ(live.slots()[i].kind, graph.slots()[i].kind);
    EXPECT_EQ(live.slots()[i].type, graph.slots()[i].type);
    EXPECT_EQ(live.slots()[i].init, graph.slots()[i].init);
  }
}

TEST(Passes, TreatTheBodiesOfRepeats) {
  Graph body("body");
  const Tensor s = body.state("s", kMatrix, Init::zeros());
  static_cast<void>(exp(s));
  body.update("s", (s * 1.0 + 1.0) + (s * 1.0 + 1.0));
  Graph graph("g");
  repeat(graph, 2, body, {});
  const Graph optimised = optimise(graph);
  ASSERT_EQ(count(optimised, OpKind::REPEAT), 1u);
  const Graph& inner = *optimised.ops().back().body;
  EXPECT_EQ(count(inner, OpKind::EXP), 0u);
  EXPECT_EQ(count(inner, OpKind::MUL), 0u);
  EXPECT_EQ(count(inner, OpKind::ADD), 2u);
  EXPECT_EQ(run(optimised), run(graph));
}

TEST(Passes, KeepGroupsAndLocations) {
  Graph graph("g");
  const Tensor x = graph.input("x", kMatrix);
  {
    const Graph::Mark outer(graph, "outer/1", "net");
    const Graph::Mark inner(graph, "inner/1", "layer");
    graph.output("y", exp(sin(x)));
  }
  const Graph optimised = optimise(graph);
  ASSERT_EQ(optimised.ops().size(), 2u);
  for (const Graph::Op& op : optimised.ops()) {
    EXPECT_EQ(op.location, "net/layer");
    ASSERT_NE(op.group, kNone);
    EXPECT_EQ(optimised.groups()[op.group].name, "inner/1");
    EXPECT_EQ(optimised.groups()[optimised.groups()[op.group].parent].name, "outer/1");
  }
  EXPECT_EQ(optimised.ops()[0].group, optimised.ops()[1].group);
}

TEST(FoldConstants, ComputesWhatIsKnownAndWorksBeforeBroadcasts) {
  Graph graph("g");
  const Tensor x = graph.input("x", kMatrix), s = graph.input("s", {DType::kF32, {}});
  const Tensor third = scalar(graph, 1.0) / scalar(graph, 3.0);
  graph.output("known", broadcast_to(-(third * 0.1) + 7.0, kMatrix.shape) * x);
  graph.output("early", exp(-broadcast_to(s, kMatrix.shape)) - broadcast_to(s * 2.0, kMatrix.shape));
  graph.output("chosen", select(broadcast_to(less(third, 1.0), kMatrix.shape), x, like(x, 4.0)));
  graph.output("counted", cast(scalar(graph, 3.0, DType::kI32) - scalar(graph, 5.0, DType::kI32), DType::kF32));
  const Graph folded = optimise(graph);
  EXPECT_EQ(count(folded, OpKind::DIV), 0u);
  EXPECT_EQ(count(folded, OpKind::ADD), 0u);
  EXPECT_EQ(count(folded, OpKind::LT), 0u);
  for (const Graph::Op& op : folded.ops()) {
    const bool scalar_work = op.kind == OpKind::EXP || op.kind == OpKind::NEG || op.kind == OpKind::SUB;
    EXPECT_TRUE(!scalar_work || folded.type(op.first_result).elements() == 1) << ir::op_info(op.kind).name;
  }
  const HostValues inputs = {{"x", f32({2, 3}, {1, -2, 3, 0.5, -0.0, 7})}, {"s", f32({}, {0.75})}};
  const HostValues results = run(folded, inputs);
  EXPECT_EQ(results, run(graph, inputs));
  EXPECT_EQ(results.at("counted").numbers()[0], -2.0);
}

TEST(FoldConstants, LeavesSumsOverBroadcastsAlone) {  // their rounding is the backend's
  Graph graph("g");
  graph.output("y", sum(broadcast_to(scalar(graph, 0.1), {1000})));
  EXPECT_EQ(count(optimise(graph), OpKind::REDUCE_SUM), 1u);
}

TEST(Passes, WhatReplacesAnOpKeepsItsGroupAndLocation) {
  Graph graph("g");
  const Tensor x = graph.input("x", kMatrix);
  {
    const Graph::Mark mark(graph, "square/1", "layer");
    graph.output("y", pow(x, like(x, 2.0)));
  }
  const Graph optimised = optimise(graph);
  ASSERT_EQ(optimised.ops().size(), 1u);
  EXPECT_EQ(optimised.ops()[0].kind, OpKind::MUL);
  EXPECT_EQ(optimised.ops()[0].location, "layer");
  ASSERT_NE(optimised.ops()[0].group, kNone);
  EXPECT_EQ(optimised.groups()[optimised.ops()[0].group].name, "square/1");
}

// A random graph over a few shapes, rich in identities, repeated expressions and dead ends. Every tensor is one of:
// f32 [2, 3], [3, 2], [3], [] and i32 [2].
class RandomGraph {
 public:
  explicit RandomGraph(std::uint64_t seed) : numbers_(seed), graph_("random") {
    for (int i = 0; i < 2; ++i) {
      add(graph_.input(fmt::format("a{}", i), {DType::kF32, {2, 3}}));
      add(graph_.input(fmt::format("b{}", i), {DType::kF32, {3}}));
    }
    add(graph_.state("s", {DType::kF32, {3, 2}}, Init::normal(1.0)));
    add(scalar(graph_, 1.0));
    add(scalar(graph_, 0.0));
    add(scalar(graph_, -0.0));
    add(scalar(graph_, 2.0));
  }

  Graph make(int ops) {
    for (int i = 0; i < ops; ++i) grow();
    for (int i = 0; i < 6; ++i) graph_.output(fmt::format("y{}", i), any());
    graph_.update("s", of({3, 2}));
    return graph_;
  }

 private:
  void add(Tensor x) { pool_[x.shape().str()].push_back(x); }
  Tensor of(const Shape& shape) {
    const std::vector<Tensor>& same = pool_.at(shape.str());
    return same[numbers_.below(same.size())];
  }
  Tensor any() {
    const std::array<Shape, 4> shapes = {Shape{2, 3}, Shape{3, 2}, Shape{3}, Shape{}};
    return of(shapes[numbers_.below(shapes.size())]);
  }

  void grow() {
    const Tensor x = any(), y = of(x.shape());
    switch (numbers_.below(12)) {
      case 0:
        return add(unary(x));
      case 1:
      case 2:
      case 3:
        return add(binary(x, y));
      case 4:
        return add(select(less(x, y), x, numbers_.below(2) == 0 ? x : y));
      case 5:
        return add(binary(x, broadcast_to(of({}), x.shape())));
      case 6:
        return add(transpose(of({2, 3})));
      case 7:
        return add(reshape(numbers_.below(2) == 0 ? transpose(of({3, 2})) : of({3, 2}), {2, 3}));
      case 8:
        return add(broadcast_to(of({3}), {2, 3}));
      case 9:
        return add(sum(of({2, 3}), {0}));
      case 10:
        return add(reduce_max(of({3})));
      default:
        return add(matmul(of({2, 3}), matmul(of({3, 2}), of({2, 3}))));
    }
  }

  Tensor unary(Tensor x) {
    switch (numbers_.below(6)) {
      case 0:
        return -x;
      case 1:
        return tanh(x);
      case 2:
        return stop_gradient(x);
      case 3:
        return abs(x);
      case 4:
        return sqrt(x);
      default:
        return floor(x);
    }
  }

  Tensor binary(Tensor x, Tensor y) {
    switch (numbers_.below(6)) {
      case 0:
        return x + y;
      case 1:
        return x - y;
      case 2:
        return x * y;
      case 3:
        return x / y;
      case 4:
        return pow(x, y);
      default:
        return maximum(x, y);
    }
  }

  Numbers numbers_;
  Graph graph_;
  std::map<std::string, std::vector<Tensor>> pool_;
};

// Equal bits, but for NaN, whose payload and sign ops.def leaves open.
void expect_same_bits(const HostValues& a, const HostValues& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, value] : a) {
    const std::vector<double> left = value.numbers(), right = b.at(name).numbers();
    ASSERT_EQ(left.size(), right.size());
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (std::isnan(left[i]) && std::isnan(right[i])) continue;
      EXPECT_TRUE(left[i] == right[i] && std::signbit(left[i]) == std::signbit(right[i]))
          << name << '[' << i << "]: " << left[i] << " and " << right[i];
    }
  }
}

TEST(Passes, KeepEveryBitOfRandomGraphs) {
  const double infinity = std::numeric_limits<double>::infinity();
  const HostValues inputs = {{"a0", f32({2, 3}, {1.5, -0.0, 0.0, -2.25, infinity, 3e-40})},
                             {"a1", f32({2, 3}, {-1.0, 2.0, 0.3, -0.0, -infinity, std::nan("")})},
                             {"b0", f32({3}, {0.7, -1.9, 1.0})},
                             {"b1", f32({3}, {-0.0, 2.0, 1e30})}};
  std::size_t before = 0, after = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = RandomGraph(seed).make(40);
    const HostValues expected = run(graph, inputs);
    for (const auto pass : {simplify, merge_common_subexpressions, eliminate_dead_code, optimise}) {
      expect_same_bits(run(pass(graph), inputs), expected);
    }
    before += graph.ops().size();
    after += optimise(graph).ops().size();
  }
  EXPECT_LT(after, before * 2 / 3);
}

TEST(Passes, OptimiseIsAFixedPoint) {
  for (std::uint64_t seed = 200; seed < 230; ++seed) {
    const Graph once = optimise(RandomGraph(seed).make(40));
    EXPECT_EQ(optimise(once).ops().size(), once.ops().size()) << seed;
  }
}

}  // namespace
}  // namespace thrt::test
