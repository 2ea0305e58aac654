#include "program_builder.hpp"

#include <thrt/sdk/program.hpp>
#include <thrt/sdk/verify.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace thrt::testing {
namespace {

using sdk::Error;

std::shared_ptr<ProgramBuilder> halving_body() {
  auto body = std::make_shared<ProgramBuilder>("body");
  body->input("i", {DType::kI32, {}});
  const std::uint32_t x = body->input("x", {DType::kF32, {2, 3}});
  const std::uint32_t half = body->input("half", {DType::kF32, {2, 3}});
  body->state_output(1, body->op(OpKind::MUL, {x, half}));
  return body;
}

// Slots: 0 "w" state, 1 "x" input, 2 "y" output. Ops, numbered flat:
//   0 constant  1 matmul(x, w)  2 relu by max(., constant)  3 repeat  [4 mul in the body]  5 add  6 reduce_sum
ProgramBuilder sample() {
  ProgramBuilder program("sample");
  const std::uint32_t w = program.input("w", {DType::kF32, {3, 3}});  // %0
  const std::uint32_t x = program.input("x", {DType::kF32, {2, 3}});  // %1
  const std::vector<float> zeros(6, 0.0f);
  const std::uint32_t zero = program.constant({DType::kF32, {2, 3}}, zeros.data());  // %2
  const std::uint32_t y = program.op(OpKind::MATMUL, {x, w}, {0, 0});                // %3
  program.ops.back().location = program.string("fc1");
  const std::uint32_t relu = program.op(OpKind::MAX, {y, zero});                       // %4
  const std::uint32_t halved = program.repeat(halving_body(), 2, 1, {relu, zero})[0];  // %5
  const std::uint32_t sum = program.op(OpKind::ADD, {halved, relu});                   // %6
  program.output("y", program.op(OpKind::REDUCE_SUM, {sum}, {1}));                     // %7
  program.state_output(0, w);
  program.groups.push_back({program.string("relu/1"), THRT_NONE});
  program.groups.push_back({program.string("inner"), 0});
  program.ops[2].group = 1;
  return program;
}

// What verify() says: the status, with message and op.
struct Answer {
  thrt_status status = THRT_OK;
  std::uint32_t op = THRT_NONE;
  std::string message;
};

Answer answer(const thrt_program& program) {
  try {
    sdk::verify(program);
    return {};
  } catch (const Error& error) {
    return {error.status(), error.op_index(), error.what()};
  }
}

TEST(Verify, AcceptsAWellFormedProgram) {
  ProgramBuilder program = sample();
  EXPECT_EQ(answer(program.build()).message, "");
  EXPECT_EQ(sdk::ProgramView(program.build()).flat_op_count(), 7u);
  EXPECT_EQ(sdk::ProgramView(program.build()).ops()[4].flat_index(), 5u);
}

TEST(Verify, AcceptsAnEmptyProgramAndOneBodyUsedTwice) {
  ProgramBuilder empty;
  EXPECT_EQ(answer(empty.build()).message, "");

  ProgramBuilder program = sample();
  thrt_op again = program.ops[3];
  again.first_result = program.value({DType::kF32, {2, 3}});
  program.ops.push_back(again);
  EXPECT_EQ(answer(program.build()).message, "");
}

struct Damage {
  const char* what;
  std::function<void(ProgramBuilder&)> to_arrays;
  std::uint32_t op;  // the op that must be named, or THRT_NONE
  const char* says;
};

const std::vector<Damage>& damages() {
  constexpr std::uint32_t kNo = THRT_NONE;
  static const std::vector<Damage> all = {
      // values
      {"dtype 0", [](ProgramBuilder& p) { p.values[3].dtype = 0; }, kNo, "value 3: unknown dtype 0"},
      {"dtype 9", [](ProgramBuilder& p) { p.values[3].dtype = 9; }, kNo, "value 3: unknown dtype 9"},
      {"rank 7", [](ProgramBuilder& p) { p.values[3].rank = 7; }, kNo, "value 3: rank 7"},
      {"huge rank", [](ProgramBuilder& p) { p.values[3].rank = 0xFFFFFFFFu; }, kNo, "value 3: rank"},
      {"a lower rank", [](ProgramBuilder& p) { p.values[3].rank = 1; }, kNo, "value 3: a dimension beyond"},
      {"negative dim", [](ProgramBuilder& p) { p.values[3].dims[0] = -1; }, kNo, "value 3: dimension -1 is negative"},
      {"huge dims", [](ProgramBuilder& p) { p.values[3].dims[0] = p.values[3].dims[1] = std::int64_t{1} << 62; }, kNo,
       "2^48"},
      {"huge dims of nothing",
       [](ProgramBuilder& p) {
         p.values[3].rank = 3;
         p.values[3].dims[2] = INT64_MAX;
         p.values[3].dims[0] = 0;
       },
       kNo, "2^48"},
      {"dims beyond rank", [](ProgramBuilder& p) { p.values[3].dims[5] = 1; }, kNo, "value 3: a dimension beyond"},
      {"value reserved", [](ProgramBuilder& p) { p.values[3].reserved = 1; }, kNo, "value 3: a reserved"},
      {"another type for a result", [](ProgramBuilder& p) { p.values[3].dims[1] = 4; }, 1, "is declared as f32[2, 4]"},
      {"a value that nobody defines",
       [](ProgramBuilder& p) {
         p.value({DType::kF32, {}});
       },
       kNo, "value 8 is never"},
      // ops
      {"unknown kind", [](ProgramBuilder& p) { p.ops[1].kind = 9999; }, 1, "kind 9999"},
      {"kind 0", [](ProgramBuilder& p) { p.ops[1].kind = 0; }, 1, "kind 0"},
      {"another op of the same arity", [](ProgramBuilder& p) { p.ops[1].kind = THRT_OP_ADD; }, 1, "add: "},
      {"version 0", [](ProgramBuilder& p) { p.ops[1].version = 0; }, 1, "(matmul): version 0"},
      {"version 2", [](ProgramBuilder& p) { p.ops[1].version = 2; }, 1, "(matmul): version 2"},
      {"first operand", [](ProgramBuilder& p) { p.ops[1].first_operand = 1000; }, 1, "operands are out of range"},
      {"overflowing operands",
       [](ProgramBuilder& p) {
         p.ops[1].first_operand = 0xFFFFFFFFu;
         p.ops[1].operand_count = 2;
       },
       1, "operands are out of range"},
      {"fewer operands", [](ProgramBuilder& p) { p.ops[1].operand_count = 1; }, 1, "wrong number of operands"},
      {"more operands", [](ProgramBuilder& p) { p.ops[1].operand_count = 3; }, 1, "wrong number of operands"},
      {"huge operand count", [](ProgramBuilder& p) { p.ops[1].operand_count = 0xFFFFFFFFu; }, 1, "operands are out"},
      {"operand out of range", [](ProgramBuilder& p) { p.operands[0] = 8; }, 1, "operand 0 is out of range"},
      {"operand NONE", [](ProgramBuilder& p) { p.operands[1] = THRT_NONE; }, 1, "operand 1 is out of range"},
      {"operand not yet defined", [](ProgramBuilder& p) { p.operands[0] = 5; }, 1, "before it is defined"},
      {"its own result", [](ProgramBuilder& p) { p.operands[0] = 3; }, 1, "before it is defined"},
      {"another operand type", [](ProgramBuilder& p) { p.operands[0] = 0; }, 1, "is declared as f32[2, 3]"},
      {"first result", [](ProgramBuilder& p) { p.ops[1].first_result = 8; }, 1, "results are out of range"},
      {"overflowing results", [](ProgramBuilder& p) { p.ops[1].first_result = 0xFFFFFFFFu; }, 1, "results are out"},
      {"no results", [](ProgramBuilder& p) { p.ops[1].result_count = 0; }, 1, "wrong number of results"},
      {"two results", [](ProgramBuilder& p) { p.ops[1].result_count = 2; }, 1, "wrong number of results"},
      {"a result defined before", [](ProgramBuilder& p) { p.ops[2].first_result = 3; }, 2, "value 3 is defined twice"},
      {"an input as result", [](ProgramBuilder& p) { p.ops[1].first_result = 1; }, 1, "value 1 is defined twice"},
      {"first attribute", [](ProgramBuilder& p) { p.ops[1].first_attribute = 1000; }, 1, "attributes are out of range"},
      {"overflowing attributes", [](ProgramBuilder& p) { p.ops[1].attribute_count = 0xFFFFFFFFu; }, 1,
       "attributes are"},
      {"fewer attributes", [](ProgramBuilder& p) { p.ops[1].attribute_count = 1; }, 1, "matmul: "},
      {"no attributes", [](ProgramBuilder& p) { p.ops[1].attribute_count = 0; }, 1, "matmul: "},
      {"attributes where none belong", [](ProgramBuilder& p) { p.ops[2].attribute_count = 1; }, 2, "max: "},
      {"an attribute's value", [](ProgramBuilder& p) { p.attributes[1] = 2; }, 1, "matmul: "},
      {"an axis", [](ProgramBuilder& p) { p.attributes.back() = 2; }, 6, "reduce_sum: axis 2"},
      {"a negative axis", [](ProgramBuilder& p) { p.attributes.back() = -1; }, 6, "reduce_sum: axis -1"},
      {"sub-program of a matmul", [](ProgramBuilder& p) { p.ops[1].subprogram = 0; }, 1, "only repeat"},
      {"group", [](ProgramBuilder& p) { p.ops[1].group = 2; }, 1, "group is out of range"},
      {"location", [](ProgramBuilder& p) { p.ops[1].location = static_cast<std::uint32_t>(p.strings.size()); }, 1,
       "location is out of range"},
      {"op reserved", [](ProgramBuilder& p) { p.ops[1].reserved = 1; }, 1, "reserved"},
      {"ops in another order", [](ProgramBuilder& p) { std::swap(p.ops[1], p.ops[2]); }, 1, "(max): operand 0 is used"},
      {"an op too few", [](ProgramBuilder& p) { p.ops.pop_back(); }, kNo, "value 7 is never defined"},
      // constants
      {"constant offset", [](ProgramBuilder& p) { p.attributes[0] = 64; }, 0, "outside the program's constants"},
      {"constant offset 8", [](ProgramBuilder& p) { p.attributes[0] = 8; }, 0, "multiple of 64"},
      {"negative constant offset", [](ProgramBuilder& p) { p.attributes[0] = -64; }, 0, "multiple of 64"},
      {"overflowing constant offset", [](ProgramBuilder& p) { p.attributes[0] = INT64_MAX - 63; }, 0, "outside"},
      {"no constant bytes", [](ProgramBuilder& p) { p.constants.clear(); }, 0, "outside the program's constants"},
      // slots
      {"slot name", [](ProgramBuilder& p) { p.slots[1].name = 0x7FFFFFFF; }, kNo, "slot 1: its name"},
      {"equal names", [](ProgramBuilder& p) { p.slots[1].name = p.slots[0].name; }, kNo, "name of slot 0"},
      {"equal texts", [](ProgramBuilder& p) { p.slots[1].name = p.string("w"); }, kNo, "name of slot 0"},
      {"slot reserved", [](ProgramBuilder& p) { p.slots[1].reserved = 4; }, kNo, "slot 1: a reserved"},
      {"slot without values", [](ProgramBuilder& p) { p.slots[1].input_value = THRT_NONE; }, kNo, "neither read nor"},
      {"slot input", [](ProgramBuilder& p) { p.slots[1].input_value = 8; }, kNo, "slot 1: value 8 is out of range"},
      {"slot output", [](ProgramBuilder& p) { p.slots[2].output_value = 8; }, kNo, "slot 2: value 8 is out of range"},
      {"two slots with one input", [](ProgramBuilder& p) { p.slots[1].input_value = 0; }, kNo,
       "value 0 is defined twice"},
      {"an op's result as input", [](ProgramBuilder& p) { p.slots[1].input_value = 3; }, 1, "operand 0 is used before"},
      {"state of two types", [](ProgramBuilder& p) { p.slots[0].output_value = 3; }, kNo, "goes in as f32[3, 3]"},
      // groups
      {"group name", [](ProgramBuilder& p) { p.groups[0].name = 0x7FFFFFFF; }, kNo, "group's name"},
      {"group parent", [](ProgramBuilder& p) { p.groups[1].parent = 2; }, kNo, "group's parent"},
      {"a group within itself", [](ProgramBuilder& p) { p.groups[0].parent = 1; }, kNo, "its own ancestor"},
      // strings
      {"no empty string", [](ProgramBuilder& p) { p.strings[0] = 'x'; }, kNo, "start with the empty one"},
      {"no end", [](ProgramBuilder& p) { p.strings.back() = 'x'; }, kNo, "end with a NUL"},
      {"no strings", [](ProgramBuilder& p) { p.strings.clear(); }, kNo, "start with the empty one"},
      // repeat
      {"repeat's sub-program", [](ProgramBuilder& p) { p.ops[3].subprogram = 1; }, 3, "sub-program is out of range"},
      {"repeat without one", [](ProgramBuilder& p) { p.ops[3].subprogram = THRT_NONE; }, 3, "sub-program is out"},
      {"negative trips", [](ProgramBuilder& p) { p.attributes[3] = -1; }, 3, "repeat: trip count -1"},
      {"no carried", [](ProgramBuilder& p) { p.attributes[4] = 0; }, 3, "sub-program writes other slots"},
      {"more carried", [](ProgramBuilder& p) { p.attributes[4] = 2; }, 3, "sub-program writes other slots"},
      {"a sub-program for nobody", [](ProgramBuilder& p) { p.bodies.push_back(halving_body()); }, kNo,
       "belongs to no op"},
      {"body without iteration", [](ProgramBuilder& p) { p.bodies[0]->slots[0].output_value = 0; }, 3, "other slots"},
      {"body with a slot less",
       [](ProgramBuilder& p) {
         auto body = std::make_shared<ProgramBuilder>();
         body->input("i", {DType::kI32, {}});
         const std::uint32_t x = body->input("x", {DType::kF32, {2, 3}});
         body->state_output(1, body->op(OpKind::NEG, {x}));
         p.bodies[0] = body;
       },
       3, "slots do not match"},
      {"body with f32 iteration", [](ProgramBuilder& p) { p.bodies[0]->values[0].dtype = THRT_DTYPE_F32; }, 3,
       "repeat: the iteration slot"},
      {"an op of the body", [](ProgramBuilder& p) { p.bodies[0]->ops[0].kind = 77; }, 4, "op 4: kind 77"},
      {"an operand of the body", [](ProgramBuilder& p) { p.bodies[0]->operands[0] = 3; }, 4, "op 4 (mul): operand 0"},
      {"body of another type",
       [](ProgramBuilder& p) {
         for (std::size_t v = 1; v < p.bodies[0]->values.size(); ++v) p.bodies[0]->values[v].dims[0] = 4;
       },
       3, "repeat: "},
  };
  return all;
}

TEST(Verify, NamesTheOpOfEveryDamage) {
  for (const Damage& damage : damages()) {
    ProgramBuilder program = sample();
    damage.to_arrays(program);
    const Answer refused = answer(program.build());
    EXPECT_EQ(refused.status, THRT_INVALID_PROGRAM) << damage.what;
    EXPECT_EQ(refused.op, damage.op) << damage.what << ": " << refused.message;
    EXPECT_THAT(refused.message, ::testing::HasSubstr(damage.says)) << damage.what;
  }
}

TEST(Verify, RefusesADamagedHeader) {
  ProgramBuilder builder = sample();
  const thrt_program good = builder.build();
  const auto refuse = [&](thrt_status status, const char* says, const std::function<void(thrt_program&)>& damage) {
    thrt_program program = good;
    damage(program);
    const Answer refused = answer(program);
    EXPECT_EQ(refused.status, status) << says;
    EXPECT_THAT(refused.message, ::testing::HasSubstr(says));
  };
  const thrt_status kInvalid = THRT_INVALID_PROGRAM;
  refuse(kInvalid, "struct_size", [](thrt_program& p) { p.struct_size = 0; });
  refuse(kInvalid, "struct_size", [](thrt_program& p) { p.struct_size = sizeof p - 8; });
  refuse(kInvalid, "struct_size", [](thrt_program& p) { p.struct_size = 0xFFFFFFFFu; });
  refuse(THRT_INCOMPATIBLE, "op set 2", [](thrt_program& p) { p.opset = 2; });
  refuse(THRT_INCOMPATIBLE, "op set 0", [](thrt_program& p) { p.opset = 0; });
  refuse(kInvalid, "values are null", [](thrt_program& p) { p.values = nullptr; });
  refuse(kInvalid, "ops are null", [](thrt_program& p) { p.ops = nullptr; });
  refuse(kInvalid, "slots are null", [](thrt_program& p) { p.slots = nullptr; });
  refuse(kInvalid, "operands are null", [](thrt_program& p) { p.operands = nullptr; });
  refuse(kInvalid, "attributes are null", [](thrt_program& p) { p.attributes = nullptr; });
  refuse(kInvalid, "constants are null", [](thrt_program& p) { p.constants = nullptr; });
  refuse(kInvalid, "constants are not aligned", [](thrt_program& p) { p.constants += 8; });
  refuse(kInvalid, "values are not aligned", [](thrt_program& p) {
    p.values = reinterpret_cast<const thrt_value*>(reinterpret_cast<const char*>(p.values) + 4);
  });
  refuse(kInvalid, "strings are null", [](thrt_program& p) { p.strings = nullptr; });
  refuse(kInvalid, "groups are null", [](thrt_program& p) { p.groups = nullptr; });
  refuse(kInvalid, "sub-programs are null", [](thrt_program& p) { p.subprograms = nullptr; });
  refuse(kInvalid, "program's name", [](thrt_program& p) { p.name = 0x7FFFFFFF; });

  const thrt_program* none = nullptr;
  refuse(kInvalid, "a sub-program is null", [&](thrt_program& p) { p.subprograms = &none; });
}

TEST(Verify, RefusesANewerProgramWithAFieldItDoesNotKnow) {
  ProgramBuilder builder = sample();
  struct {
    thrt_program program;
    std::uint64_t added;
  } newer{builder.build(), 0};
  newer.program.struct_size = sizeof newer;
  EXPECT_EQ(answer(newer.program).status, THRT_OK);
  newer.added = 1;
  EXPECT_EQ(answer(newer.program).status, THRT_INCOMPATIBLE);
}

std::shared_ptr<ProgramBuilder> nested(int depth) {
  auto body = std::make_shared<ProgramBuilder>();
  body->input("i", {DType::kI32, {}});
  const std::uint32_t x = body->input("x", {DType::kF32, {}});
  const std::uint32_t y = depth == 0 ? body->op(OpKind::NEG, {x}) : body->repeat(nested(depth - 1), 1, 1, {x})[0];
  body->state_output(1, y);
  return body;
}

TEST(Verify, LimitsTheDepthOfSubPrograms) {
  EXPECT_EQ(ir::kMostProgramDepth, 16);
  for (const auto& [levels, status] : {std::pair{15, THRT_OK}, std::pair{16, THRT_INVALID_PROGRAM}}) {
    ProgramBuilder program;
    const std::uint32_t x = program.input("x", {DType::kF32, {}});
    program.output("y", program.repeat(nested(levels - 1), 1, 1, {x})[0]);
    EXPECT_EQ(answer(program.build()).status, static_cast<thrt_status>(status)) << levels;
  }
}

TEST(Verify, EndsOnAProgramThatContainsItself) {
  ProgramBuilder program;
  program.input("i", {DType::kI32, {}});
  const std::uint32_t x = program.input("x", {DType::kF32, {}});
  std::uint32_t value = x;
  for (int i = 0; i < 20; ++i) value = program.repeat(nested(0), 1, 1, {value})[0];
  program.state_output(1, value);
  program.build();
  for (const thrt_program*& body : program.body_pointers) body = &program.program;
  EXPECT_EQ(answer(program.program).status, THRT_INVALID_PROGRAM);
}

// `body` run `times` times, one after another, in a program that can itself be a body.
std::shared_ptr<ProgramBuilder> repeated(const std::shared_ptr<ProgramBuilder>& body, int times) {
  auto program = std::make_shared<ProgramBuilder>();
  program->input("i", {DType::kI32, {}});
  std::uint32_t x = program->input("x", {DType::kF32, {}});
  x = program->repeat(body, 1, 1, {x})[0];
  for (int i = 1; i < times; ++i) {
    thrt_op again = program->ops[0];
    again.first_operand = static_cast<std::uint32_t>(program->operands.size());
    program->operands.push_back(x);
    x = again.first_result = program->value({DType::kF32, {}});
    program->ops.push_back(again);
  }
  program->state_output(1, x);
  return program;
}

// Small arrays that stand for much: refused, and at once.
TEST(Verify, CountsASubProgramAsOftenAsItIsUsed) {
  std::shared_ptr<ProgramBuilder> program = nested(0);
  for (int level = 0; level < 3; ++level) program = repeated(program, 64);
  EXPECT_EQ(answer(program->build()).message, "");  // 64 + 64^2 + 64^3 repeats and 64^3 ops
  const Answer refused = answer(repeated(program, 64)->build());
  EXPECT_EQ(refused.status, THRT_INVALID_PROGRAM);
  EXPECT_THAT(refused.message, ::testing::HasSubstr("too many ops"));
}

TEST(Verify, CountsTheDepthBelowASubProgramThatItKnows) {
  // Found right one level down, then met again below three more.
  const auto deep = nested(11);
  auto program = repeated(deep, 1);
  program->bodies.push_back(repeated(repeated(repeated(repeated(deep, 1), 1), 1), 1));
  thrt_op again = program->ops[0];
  again.subprogram = 1;
  again.first_result = program->value({DType::kF32, {}});
  program->ops.push_back(again);
  EXPECT_THAT(answer(program->build()).message, ::testing::HasSubstr("nested too deep"));
  program->bodies[1] = repeated(repeated(repeated(deep, 1), 1), 1);
  EXPECT_EQ(answer(program->build()).message, "");
}

TEST(Verify, LimitsWhatGroupsAndNamesMayTake) {
  const auto body = nested(0);
  body->groups.assign(1 << 16, thrt_group{0, THRT_NONE});
  EXPECT_EQ(answer(repeated(body, 64)->build()).message, "");
  EXPECT_THAT(answer(repeated(body, 1024)->build()).message, ::testing::HasSubstr("too many entries"));

  // Each name the end of the one before: all different, and a square of letters.
  ProgramBuilder named;
  const std::uint32_t letters = named.string(std::string(1 << 17, 'a'));
  for (std::uint32_t i = 0; i < 1 << 16; ++i) named.input("", {DType::kF32, {}});
  for (std::uint32_t i = 0; i < 1 << 16; ++i) named.slots[i].name = letters + i;
  EXPECT_THAT(answer(named.build()).message, ::testing::HasSubstr("too many entries"));
}

// Whatever a byte of the arrays is changed to, the answer is an answer; and a program that is accepted can be walked through.
void walk(const sdk::ProgramView& program, std::uint64_t& sum) {
  for (std::uint32_t s = 0; s < program.slot_count(); ++s)
    sum += program.slot(s).name.size() + program.slot(s).type.bytes();
  for (const sdk::OpView& op : program.ops()) {
    for (std::size_t i = 0; i < op.operands().size(); ++i) sum += op.operand_type(i).bytes();
    for (std::uint32_t i = 0; i < op.result_count(); ++i) sum += op.result_type(i).bytes();
    for (const std::int64_t attribute : op.attributes()) sum += static_cast<std::uint64_t>(attribute);
    if (op.kind() == OpKind::CONSTANT) {
      for (const std::byte byte : op.constant()) sum += static_cast<std::uint64_t>(byte);
    }
    sum += op.location().size();
    if (op.group() != THRT_NONE) sum += program.group_name(op.group()).size();
    if (op.kind() == OpKind::REPEAT) walk(op.body(), sum);
  }
}

template <typename Element>
void flip(std::vector<Element>& array, std::mt19937& random) {
  if (array.empty()) return;
  auto* bytes = reinterpret_cast<unsigned char*>(array.data());
  const std::size_t at = random() % (array.size() * sizeof(Element));
  switch (random() % 4) {
    case 0:
      bytes[at] = static_cast<unsigned char>(random());
      break;
    case 1:
      bytes[at] ^= static_cast<unsigned char>(1u << random() % 8);
      break;
    case 2:
      bytes[at] = static_cast<unsigned char>(bytes[at] + 1 - random() % 3);
      break;
    default:
      bytes[at] = random() % 2 == 0 ? 0xFF : 0x00;
  }
}

// A count may be lowered: the arrays are then longer than what is said. Raised, it would lie about memory.
void shrink_a_count(thrt_program& program, std::mt19937& random) {
  std::uint32_t* counts[] = {&program.value_count,     &program.op_count,        &program.slot_count,
                             &program.operand_count,   &program.attribute_count, &program.group_count,
                             &program.subprogram_count};
  std::uint32_t& count = *counts[random() % 7];
  if (count > 0) count = static_cast<std::uint32_t>(random() % count);
  if (random() % 4 == 0) program.string_bytes = random() % (program.string_bytes + 1);
  if (random() % 4 == 0) program.constant_bytes = random() % (program.constant_bytes + 1);
}

TEST(Verify, AnswersHundredThousandsOfDamagedPrograms) {
  std::mt19937 random(20240607);
  const ProgramBuilder original = sample();
  const ProgramBuilder original_body = *original.bodies[0];
  std::uint64_t accepted = 0, refused = 0, sum = 0;
  for (int i = 0; i < 150'000; ++i) {
    ProgramBuilder program = original;
    program.bodies[0] = std::make_shared<ProgramBuilder>(original_body);
    const int flips = 1 + static_cast<int>(random() % 3);
    for (int k = 0; k < flips; ++k) {
      ProgramBuilder& target = random() % 4 == 0 ? *program.bodies[0] : program;
      switch (random() % 7) {
        case 0:
          flip(target.values, random);
          break;
        case 1:
          flip(target.slots, random);
          break;
        case 2:
          flip(target.operands, random);
          break;
        case 3:
          flip(target.attributes, random);
          break;
        case 4:
          flip(target.strings, random);
          break;
        case 5:
          flip(target.groups, random);
          break;
        default:
          flip(target.ops, random);
      }
    }
    program.build();
    if (random() % 8 == 0) shrink_a_count(program.program, random);
    const Answer verdict = answer(program.program);
    if (verdict.status == THRT_OK) {
      walk(sdk::ProgramView(program.program), sum);
      ++accepted;
    } else {
      ASSERT_TRUE(verdict.status == THRT_INVALID_PROGRAM || verdict.status == THRT_INCOMPATIBLE) << verdict.message;
      ++refused;
    }
  }
  EXPECT_GT(accepted, 1000u);  // names and locations may change
  EXPECT_GT(refused, 100'000u);
  EXPECT_NE(sum, 0u);
}

}  // namespace
}  // namespace thrt::testing
