#include "reference_device.hpp"

#include <thrt/error.hpp>
#include <thrt/graph/repeat.hpp>
#include <thrt/graph/tensor_ops.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace thrt::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Type kVector{DType::kF32, {3}};
const Type kScalar{DType::kF32, {}};

// A step whose order of operations matters in f32: s <- tanh(1.3 s + x * rate) + iteration / 7, which also draws.
Graph step() {
  Graph body("step");
  const Tensor s = body.state("s", kVector, Init::normal(1.0));
  const Tensor rate = body.state("rate", kScalar, Init::constant(0.3));  // read only
  const Tensor rng = body.state("rng", {DType::kU32, {4}}, Init::random_state());
  const Tensor x = body.input("x", kVector);
  const Tensor iteration = cast(body.input("iteration", {DType::kI32, {}}), DType::kF32);
  const Tensor noise = cast(shift_right(random_bits(rng, {3}), 8), DType::kF32) * 0x1p-24;
  const Tensor next = tanh(1.3 * s + x * rate) + iteration / 7.0 + noise;
  body.update("s", next);
  body.update("rng", rng + constant_u32(body, {4}, std::array<std::uint32_t, 4>{0, 0, 1, 0}));
  body.output("loss", sum(next * next));
  body.output("row", next);
  return body;
}

// The same, written out `trips` times.
std::map<std::string, std::vector<Tensor>> unrolled(Graph& graph, std::int64_t trips, const Graph& body,
                                                    const NamedTensors& inputs) {
  std::map<std::string, std::vector<Tensor>> outputs;
  for (std::int64_t trip = 0; trip < trips; ++trip) {
    NamedTensors given = inputs;
    given["iteration"] = scalar(graph, static_cast<double>(trip), DType::kI32);
    for (const Graph::Slot& slot : body.slots()) {
      if (slot.kind != Graph::SlotKind::kState) continue;
      graph.state(slot.name, slot.type, slot.init);
      given[slot.name] = graph.current(slot.name);
    }
    for (const auto& [name, value] : splice(graph, body, given)) {
      if (body.find_slot(name)->kind == Graph::SlotKind::kState) {
        graph.update(name, value);
      } else {
        outputs[name].push_back(expand_dims(value, 0));
      }
    }
  }
  return outputs;
}

TEST(Repeat, EqualsTheUnrolledLoopToTheBit) {
  const HostValue x = f32({3}, {0.5, -1.25, 2.0});
  Graph loop("loop"), flat("flat");
  const NamedTensors results = repeat(loop, 9, step(), {{"x", loop.input("x", kVector)}});
  for (const auto& [name, value] : results) loop.output(name, value);
  for (const auto& [name, rows] : unrolled(flat, 9, step(), {{"x", flat.input("x", kVector)}})) {
    flat.output(name, concat(rows, 0));
  }
  EXPECT_EQ(loop.find_slot("loss")->type.str(), "f32[9]");
  EXPECT_EQ(loop.find_slot("row")->type.str(), "f32[9, 3]");
  const HostValues expected = run(flat, {{"x", x}});
  EXPECT_EQ(run(loop, {{"x", x}}), expected);
  EXPECT_EQ(run(optimise(loop), {{"x", x}}), expected);
  EXPECT_EQ(expected.at("rate"), f32({}, {0.3}));
}

// Two levels: the outer body draws a value of its own and repeats the step on it.
template <typename Inner>
Graph outer_body(const Inner& inner) {
  Graph body("outer");
  const Tensor x = body.input("x", kVector);
  const Tensor n = cast(body.input("iteration", {DType::kI32, {}}), DType::kF32);
  const Tensor total = body.state("total", kScalar, Init::zeros());
  const Tensor losses = inner(body, x * (n + 1.0));
  body.update("total", total + sum(losses));
  body.output("losses", losses);
  return body;
}

TEST(Repeat, NestsToTheBit) {
  const HostValue x = f32({3}, {0.5, -1.25, 2.0});
  const Graph nested = outer_body([](Graph& body, Tensor in) {
    return repeat(body, 4, step(), {{"x", in}}).at("loss");
  });
  const Graph written_out = outer_body([](Graph& body, Tensor in) {
    return concat(unrolled(body, 4, step(), {{"x", in}}).at("loss"), 0);
  });
  Graph loop("loop"), flat("flat");
  loop.output("losses", repeat(loop, 3, nested, {{"x", loop.input("x", kVector)}}).at("losses"));
  flat.output("losses", concat(unrolled(flat, 3, written_out, {{"x", flat.input("x", kVector)}}).at("losses"), 0));
  EXPECT_EQ(loop.find_slot("losses")->type.str(), "f32[3, 4]");
  const HostValues expected = run(flat, {{"x", x}});
  EXPECT_EQ(run(loop, {{"x", x}}), expected);
  EXPECT_EQ(run(optimise(loop), {{"x", x}}), expected);
}

// s counts up by `by`, a read-only state.
Graph counter() {
  Graph body("counter");
  const Tensor s = body.state("s", kScalar, Init::zeros());
  body.update("s", s + body.state("by", kScalar, Init::constant(2.0)));
  body.output("seen", s);
  return body;
}

TEST(Repeat, StateGoesInAtItsCurrentValueAndComesOut) {
  Graph graph("g");
  graph.update("s", graph.state("s", kScalar, Init::zeros()) + 10.0);
  const Tensor first = repeat(graph, 3, counter(), {}).at("seen");
  graph.update("s", graph.current("s") * 100.0);
  const Tensor second = repeat(graph, 2, counter(), {}).at("seen");
  graph.output("first", first);
  graph.output("second", second);
  for (const Graph& g : {graph, optimise(graph)}) {
    const HostValues results = run(g);
    EXPECT_THAT(results.at("first").numbers(), ElementsAre(10, 12, 14));
    EXPECT_THAT(results.at("second").numbers(), ElementsAre(1600, 1602));
    EXPECT_THAT(results.at("s").numbers(), ElementsAre(1604));
    EXPECT_THAT(results.at("by").numbers(), ElementsAre(2));
  }
}

TEST(Repeat, OfZeroTripsLeavesStateAndGivesEmptyOutputs) {
  Graph graph("g");
  graph.output("seen", repeat(graph, 0, counter(), {}).at("seen"));
  const HostValues results = run(graph, {{"s", f32({}, {7})}});
  EXPECT_THAT(results.at("s").numbers(), ElementsAre(7));
  EXPECT_EQ(results.at("seen").type.str(), "f32[0]");
}

TEST(Repeat, SaysWhatIsMissing) {
  const auto error_of = [](auto&& action) -> std::string {
    try {
      action();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  Graph graph("g");
  EXPECT_THAT(error_of([&] { repeat(graph, 2, step(), {}); }), HasSubstr("input 'x' of the repeat of 'step'"));
  Graph idle("idle");
  idle.input("x", kVector);
  EXPECT_THAT(error_of([&] {
                repeat(graph, 2, idle, {{"x", graph.input("x", kVector)}});
              }),
              HasSubstr("has no state and no output"));
}

TEST(Splice, ChecksTypes) {
  Graph graph("g");
  const Tensor wrong = graph.input("wrong", kScalar);
  EXPECT_THROW(splice(graph, counter(), {{"s", wrong}}), Error);
  EXPECT_THROW(splice(graph, counter(), {{"s", graph.input("w", kVector)}, {"by", wrong}}), Error);
}

}  // namespace
}  // namespace thrt::test
