#include "reference_device.hpp"

#include <thrt/error.hpp>
#include <thrt/graph/repeat.hpp>
#include <thrt/graph/tensor_ops.hpp>
#include <thrt/io/program_file.hpp>
#include <thrt/ir/print.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace thrt::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Type kVector{DType::kF32, {3}};

Graph sample() {
  Graph body("body");
  body.update("count", body.state("count", {DType::kI32, {}}, Init::zeros()) + 1.0);
  Graph graph("sample");
  const Tensor x = graph.input("x", kVector);
  const Tensor w = graph.state("w", kVector, Init::constant(2.0));
  {
    const Graph::Mark outer(graph, "outer/1", "net");
    const Graph::Mark inner(graph, "inner/1", "layer");
    graph.update("w", w * constant_f32(graph, {3}, std::array<float, 3>{1, 2, 3}) + x);
  }
  graph.output("y", slice(graph.current("w"), 0, 1, 2));
  repeat(graph, 5, body, {});
  repeat(graph, 6, body, {});
  graph.output("x again", x);
  return graph;
}

std::vector<std::uint32_t> range(const std::uint32_t* from, std::uint32_t first, std::uint32_t count) {
  return {from + first, from + first + count};
}

// Everything that the graph says must be found in the arrays.
void expect_lowered(const Graph& graph, const thrt_program& p) {
  EXPECT_EQ(p.struct_size, sizeof(thrt_program));
  EXPECT_EQ(p.opset, THRT_OPSET);
  EXPECT_EQ(p.strings[0], '\0');
  EXPECT_EQ(p.strings + p.name, graph.name());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p.constants) % 64, 0u);

  ASSERT_EQ(p.value_count, graph.values().size());
  for (ValueId id = 0; id < p.value_count; ++id) EXPECT_EQ(ir::type_of(p.values[id]), graph.type(id));

  ASSERT_EQ(p.group_count, graph.groups().size());
  for (std::uint32_t i = 0; i < p.group_count; ++i) {
    EXPECT_EQ(p.strings + p.groups[i].name, graph.groups()[i].name);
    EXPECT_EQ(p.groups[i].parent, graph.groups()[i].parent);
  }

  ASSERT_EQ(p.slot_count, graph.slots().size());
  for (std::uint32_t i = 0; i < p.slot_count; ++i) {
    EXPECT_EQ(p.strings + p.slots[i].name, graph.slots()[i].name);
    EXPECT_EQ(p.slots[i].input_value, graph.slots()[i].input);
    EXPECT_EQ(p.slots[i].output_value, graph.slots()[i].output);
  }

  ASSERT_EQ(p.op_count, graph.ops().size());
  for (std::uint32_t i = 0; i < p.op_count; ++i) {
    SCOPED_TRACE(i);
    const thrt_op& lowered = p.ops[i];
    const Graph::Op& op = graph.ops()[i];
    EXPECT_EQ(lowered.kind, static_cast<std::uint32_t>(op.kind));
    EXPECT_EQ(lowered.version, ir::op_info(op.kind).version);
    EXPECT_EQ(range(p.operands, lowered.first_operand, lowered.operand_count), op.operands);
    EXPECT_EQ(lowered.first_result, op.first_result);
    EXPECT_EQ(lowered.result_count, op.result_count);
    EXPECT_EQ(lowered.group, op.group);
    EXPECT_EQ(p.strings + lowered.location, op.location);
    const std::int64_t* attributes = p.attributes + lowered.first_attribute;
    if (op.kind == OpKind::CONSTANT) {
      ASSERT_EQ(lowered.attribute_count, 1u);
      ASSERT_LE(static_cast<std::uint64_t>(attributes[0]) + op.constant->size(), p.constant_bytes);
      EXPECT_EQ(attributes[0] % 64, 0);
      EXPECT_EQ(std::memcmp(p.constants + attributes[0], op.constant->data(), op.constant->size()), 0);
    } else {
      EXPECT_EQ(std::vector<std::int64_t>(attributes, attributes + lowered.attribute_count), op.attributes);
    }
    EXPECT_EQ(lowered.subprogram != THRT_NONE, op.body != nullptr);
    if (op.body) {
      ASSERT_LT(lowered.subprogram, p.subprogram_count);
      expect_lowered(*op.body, *p.subprograms[lowered.subprogram]);
    }
  }
}

TEST(Program, HoldsWhatTheGraphSays) {
  const Graph graph = sample();
  expect_lowered(graph, *lower(graph).abi());
  expect_lowered(optimise(graph), *lower(optimise(graph)).abi());
}

TEST(Program, OutlivesItsGraphAndIsCheapToCopy) {
  auto graph = std::make_unique<Graph>(sample());
  const Program program = lower(*graph);
  graph.reset();
  const Program copy = program;  // NOLINT(performance-unnecessary-copy-initialization): what is tested
  EXPECT_EQ(copy.abi(), program.abi());
  expect_lowered(sample(), *copy.abi());
}

TEST(Program, CopiesOneThatSomebodyElseOwns) {
  auto original = std::make_unique<Program>(lower(sample()));
  const std::string text = ir::print(*original->abi());
  const std::vector<std::byte> bytes = io::program_bytes(*original->abi());
  const Program copy = copy_of(*original->abi());
  original.reset();
  EXPECT_EQ(ir::print(*copy.abi()), text);
  EXPECT_EQ(io::program_bytes(*copy.abi()), bytes);
  expect_lowered(sample(), *copy.abi());
  const std::vector<Program::Slot> expected = lower(sample()).slots();
  ASSERT_EQ(copy.slots().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(copy.slots()[i].name, expected[i].name);
    EXPECT_EQ(copy.slots()[i].type, expected[i].type);
    EXPECT_EQ(copy.slots()[i].updated, expected[i].updated);
    EXPECT_EQ(copy.slots()[i].init, Init::zeros());
  }
  EXPECT_EQ(copy.op_count(), lower(sample()).op_count());
}

TEST(Program, DescribesSlots) {
  const Program program = lower(sample());
  ASSERT_EQ(program.slots().size(), 5u);
  EXPECT_EQ(program.slots()[1].name, "w");
  EXPECT_EQ(program.slots()[1].kind, Graph::SlotKind::kState);
  EXPECT_TRUE(program.slots()[1].updated);
  EXPECT_EQ(program.slots()[1].init, Init::constant(2.0));
  EXPECT_FALSE(program.slots()[0].updated);
}

TEST(Program, NumbersOpsOfRepeatsAfterTheRepeat) {
  Graph body("body");
  body.update("s", exp(sin(body.state("s", kVector, Init::zeros()))));
  Graph graph("g");
  repeat(graph, 2, body, {});
  graph.output("y", cos(graph.current("s")));
  const Program program = lower(graph);
  EXPECT_EQ(program.op_count(), 4u);
  EXPECT_EQ(program.describe_op(0), "op 0 repeat");
  EXPECT_THAT(program.describe_op(2), HasSubstr("op 2, in body: "));
  EXPECT_THAT(program.describe_op(2), HasSubstr("exp"));
  EXPECT_EQ(program.describe_op(3), "op 3 cos");
}

TEST(Program, StoresEqualConstantsOnce) {
  Graph graph("g");
  const Tensor x = graph.input("x", kVector);
  graph.output("y", (x * 3.0) * 3.0);
  const Program program = lower(graph);
  EXPECT_EQ(program.abi()->constant_bytes, 64u);
}

TEST(Program, FingerprintIsOfTheMeaningAlone) {
  const auto fingerprint = [](double factor, const char* input, const char* mark) {
    Graph graph(mark);
    const Tensor x = graph.input(input, kVector);
    const Graph::Mark group(graph, mark, mark);
    graph.output("y", x * factor);
    const Program program = lower(graph);
    return std::vector<std::uint64_t>{program.abi()->fingerprint[0], program.abi()->fingerprint[1]};
  };
  EXPECT_EQ(fingerprint(2.0, "x", "a"), fingerprint(2.0, "x", "b"));
  EXPECT_EQ(fingerprint(2.0, "x", "a"), fingerprint(2.0, "z", "a"));
  EXPECT_NE(fingerprint(2.0, "x", "a"), fingerprint(3.0, "x", "a"));
}

TEST(Program, RefusesAnOutputWithoutAValue) {
  Graph graph("g");
  graph.declare_slot(
      {.name = "y", .kind = Graph::SlotKind::kOutput, .type = kVector, .input = kNone, .output = kNone, .init = {}});
  EXPECT_THROW(lower(graph), Error);
}

TEST(Program, RunsOnADevice) {
  const HostValues results = run(sample(), {{"x", f32({3}, {10, 20, 30})}});
  EXPECT_THAT(results.at("w").numbers(), ElementsAre(12, 24, 36));
  EXPECT_THAT(results.at("y").numbers(), ElementsAre(24, 36));
  EXPECT_THAT(results.at("count").numbers(), ElementsAre(11));
  EXPECT_THAT(results.at("x again").numbers(), ElementsAre(10, 20, 30));
}

}  // namespace
}  // namespace thrt::test
