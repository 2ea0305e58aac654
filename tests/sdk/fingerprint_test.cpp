#include "program_builder.hpp"

#include <thrt/ir/fingerprint.hpp>
#include <thrt/ir/print.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace thrt::testing {
namespace {

std::shared_ptr<ProgramBuilder> body() {
  auto inner = std::make_shared<ProgramBuilder>("body");
  inner->input("i", {DType::kI32, {}});
  const std::uint32_t x = inner->input("x", {DType::kF32, {2}});
  const std::uint32_t y = inner->input("y", {DType::kF32, {2}});
  inner->state_output(1, inner->op(OpKind::MUL, {x, y}));
  return inner;
}

ProgramBuilder sample() {
  ProgramBuilder program("sample");
  const std::uint32_t w = program.input("w", {DType::kF32, {3, 2}});
  const std::uint32_t x = program.input("x", {DType::kF32, {3}});
  const std::uint32_t row = program.op(OpKind::RESHAPE, {x}, {}, Type{DType::kF32, {1, 3}});
  const std::uint32_t product = program.op(OpKind::MATMUL, {row, w}, {0, 0});
  program.ops.back().location = program.string("fc1");
  const std::uint32_t flat = program.op(OpKind::RESHAPE, {product}, {}, Type{DType::kF32, {2}});
  const float two[2] = {0.5f, 2.0f};
  const std::uint32_t scale = program.constant({DType::kF32, {2}}, two);
  program.output("y", program.repeat(body(), 3, 1, {flat, scale})[0]);
  return program;
}

TEST(Fingerprint, IgnoresNamesLocationsGroupsAndPlaces) {
  ProgramBuilder plain = sample();
  const ir::Fingerprint wanted = ir::fingerprint(plain.build());

  ProgramBuilder renamed = sample();
  renamed.slots[0].name = renamed.string("weights");
  renamed.ops[0].location = renamed.string("elsewhere");
  renamed.groups.push_back({renamed.string("linear/1"), THRT_NONE});
  renamed.ops[1].group = 0;
  EXPECT_EQ(ir::fingerprint(renamed.build()), wanted);

  ProgramBuilder moved = sample();  // the constant at another offset
  moved.constants.insert(moved.constants.begin(), 64, 7);
  for (thrt_op& op : moved.ops) {
    if (op.kind == THRT_OP_CONSTANT) moved.attributes[op.first_attribute] += 64;
  }
  EXPECT_EQ(ir::fingerprint(moved.build()), wanted);
}

TEST(Fingerprint, ChangesWithEverythingThatHasMeaning) {
  const std::vector<std::function<void(ProgramBuilder&)>> changes = {
      [](ProgramBuilder&) {},
      [](ProgramBuilder& p) { p.values[0].dims[0] = 4; },
      [](ProgramBuilder& p) { p.values[0].dtype = THRT_DTYPE_F64; },
      [](ProgramBuilder& p) { p.ops[1].kind = THRT_OP_ADD; },
      [](ProgramBuilder& p) { p.ops[1].version = 2; },
      [](ProgramBuilder& p) { std::swap(p.operands[1], p.operands[2]); },
      [](ProgramBuilder& p) { p.attributes[0] = 1; },
      [](ProgramBuilder& p) { p.constants[0] ^= 1; },
      [](ProgramBuilder& p) { p.slots[0].output_value = 0; },
      [](ProgramBuilder& p) { p.bodies[0]->ops[0].kind = THRT_OP_ADD; },
      [](ProgramBuilder& p) { p.attributes[p.attributes.size() - 2] = 4; },  // trip count
  };
  std::set<ir::Fingerprint> seen;
  std::set<std::uint64_t> first_halves, second_halves;
  for (const auto& change : changes) {
    ProgramBuilder program = sample();
    change(program);
    const ir::Fingerprint fingerprint = ir::fingerprint(program.build());
    seen.insert(fingerprint);
    first_halves.insert(fingerprint[0]);
    second_halves.insert(fingerprint[1]);
  }
  EXPECT_EQ(seen.size(), changes.size());
  EXPECT_EQ(first_halves.size(), changes.size());
  EXPECT_EQ(second_halves.size(), changes.size());
}

TEST(Print, OneLineAnOp) {
  ProgramBuilder program = sample();
  EXPECT_EQ(ir::print(program.build()),
            "program \"sample\"\n"
            "slot 0 \"w\" = %0 : f32[3, 2]\n"
            "slot 1 \"x\" = %1 : f32[3]\n"
            "slot 2 \"y\" -> %6 : f32[2]\n"
            "%2 = reshape(%1) : f32[1, 3]\n"
            "%3 = matmul(%2, %0) transpose_a=0, transpose_b=0 : f32[1, 2]  # fc1\n"
            "%4 = reshape(%3) : f32[2]\n"
            "%5 = constant() offset=0 : f32[2]\n"
            "%6 = repeat(%4, %5) trip_count=3, carried=1 : f32[2]\n"
            "  program \"body\"\n"
            "  slot 0 \"i\" = %0 : i32[]\n"
            "  slot 1 \"x\" = %1 -> %3 : f32[2]\n"
            "  slot 2 \"y\" = %2 : f32[2]\n"
            "  %3 = mul(%1, %2) : f32[2]\n");
}

TEST(Print, KeepsControlCharactersOutOfTheText) {
  ProgramBuilder program("a\nb\"\\\x1b[2J\xc3\xa9");
  EXPECT_EQ(ir::print(program.build()), "program \"a\\x0ab\\\"\\\\\\x1b[2J\\xc3\\xa9\"\n");
}

TEST(Print, ListsOneValuePerDimension) {
  ProgramBuilder program;
  const std::uint32_t x = program.input("x", {DType::kF32, {4, 6}});
  program.output("y", program.op(OpKind::SLICE, {x}, {0, 1, 2, 3, 1, 2}));
  EXPECT_NE(ir::print(program.build()).find("%1 = slice(%0) start=[0, 1], size=[2, 3], stride=[1, 2] : f32[2, 3]\n"),
            std::string::npos)
      << ir::print(program.build());
}

}  // namespace
}  // namespace thrt::testing
