// Malformed programs: each differs from a good one in a single place. check() and compile() must refuse every one with
// the op to blame, hand out no executable, keep nothing, and live.
//
// Only what abi.h and ops.def state is tried. Where the fault lies in no op, or could be seen at several, no index is
// asked for.
#include "open_program.hpp"
#include "raw_host.hpp"

#include <thrt/graph/tensor_ops.hpp>

#include <array>
#include <limits>

namespace thrt::conformance {
namespace {

// A null array is as much a wrong argument as a malformed program.
const std::vector<thrt_status> kInvalidOrArgument = {THRT_INVALID_PROGRAM, THRT_INVALID_ARGUMENT};
// What a later version may mean by it is not known here, so both words fit.
const std::vector<thrt_status> kInvalidOrIncompatible = {THRT_INVALID_PROGRAM, THRT_INCOMPATIBLE};

using Arrays = std::function<void(OpenProgram&)>;
using Header = std::function<void(thrt_program&)>;

struct Damage {
  const char* name;
  std::uint32_t op;  // the one to blame, or THRT_NONE: not asked for
  Arrays arrays;
  Header header = {};
  std::vector<thrt_status> allowed = {THRT_INVALID_PROGRAM};
};

// The good program. Slots x [2,3], w [3,4] (state), y [2,4], z [2,2]; values and ops:
//   v0 x, v1 w, op 0: v2 constant [2,4], op 1: v3 matmul(x, w), op 2: v4 add(v3, v2), op 3: v5 reduce_sum(v4) over axis 1,
//   op 4: v6 broadcast(v5) to [2,4], op 5: v7 slice(v4) [2,2], op 6: v8 mul(w, w), op 7: v9 transpose(v7)
enum : std::uint32_t { kConstant, kMatmul, kAdd, kReduce, kBroadcast, kSlice, kMul, kTranspose, kOpCount };
constexpr std::uint32_t kSum = 4;  // the value of op 2

Graph good_graph() {
  Graph graph("good");
  const Tensor x = graph.input("x", {DType::kF32, {2, 3}});
  const Tensor w = graph.state("w", {DType::kF32, {3, 4}}, Init::zeros());
  const std::array<float, 8> numbers = {1, 2, 3, 4, 5, 6, 7, 8};
  const Tensor constant = constant_f32(graph, {2, 4}, numbers);
  const Tensor product = graph.append(OpKind::MATMUL, {x, w}, {0, 0});
  const Tensor added = graph.append(OpKind::ADD, {product, constant});
  const Tensor reduced = graph.append(OpKind::REDUCE_SUM, {added}, {1});
  const Tensor wide = graph.append(OpKind::BROADCAST, {reduced}, {0}, Type{DType::kF32, {2, 4}});
  const Tensor part = graph.append(OpKind::SLICE, {added}, {0, 1, 2, 2, 1, 1});
  graph.update("w", graph.append(OpKind::MUL, {w, w}));
  graph.output("y", wide);
  graph.output("z", graph.append(OpKind::TRANSPOSE, {part}, {1, 0}));
  return graph;
}

void require_program_refused(const RawContext& context, const thrt_program& program, std::uint32_t op,
                             const std::vector<thrt_status>& allowed) {
  const thrt_stats before = context.stats();
  std::array<thrt_verdict, 4> verdicts{};
  std::uint32_t count = 0;
  Answer check, compile;
  check.require_refused(context.api().check(context.handle(), &program, verdicts.data(),
                                            static_cast<std::uint32_t>(verdicts.size()), &count, check.slot()),
                        allowed, "check");
  const thrt_compile_options options{sizeof options, 0};
  thrt_executable* executable = poison<thrt_executable>();
  compile.require_refused(
      context.api().compile(context.handle(), &program, &options, &executable, nullptr, compile.slot()), allowed,
      "compile");
  require(executable == nullptr, "compile: failed and did not set the executable to null");
  for (Answer* answer : {&check, &compile}) {
    const thrt_error& error = answer->error();
    const char* function = answer == &check ? "check" : "compile";
    require(op == THRT_NONE || error.code != THRT_INVALID_PROGRAM || error.op_index == op,
            "{}: blames op {}, op {} is at fault ({})", function, error.op_index, op, error.message);
  }
  const thrt_stats after = context.stats();
  require(after.executables == before.executables && after.bytes_allocated == before.bytes_allocated,
          "a refused program leaves {} executables and {} bytes behind", after.executables - before.executables,
          after.bytes_allocated - before.bytes_allocated);
}

// ------------------------------------------------------------------------------------------------------ the single faults

std::vector<Damage> value_damages() {
  return {
      {"value_dtype_zero", THRT_NONE, [](auto& p) { p.values[0].dtype = 0; }},
      {"value_dtype_unknown", THRT_NONE, [](auto& p) { p.values[0].dtype = 9; }},
      {"value_dtype_huge", THRT_NONE, [](auto& p) { p.values[kSum].dtype = 0x7fffffff; }},
      {"value_rank_seven", THRT_NONE, [](auto& p) { p.values[0].rank = THRT_MAX_RANK + 1; }},
      {"value_rank_huge", THRT_NONE, [](auto& p) { p.values[0].rank = UINT32_MAX; }},
      {"value_negative_dim", THRT_NONE, [](auto& p) { p.values[0].dims[0] = -1; }},
      {"value_smallest_dim", THRT_NONE,
       [](auto& p) { p.values[0].dims[1] = std::numeric_limits<std::int64_t>::min(); }},
      {"value_dim_beyond_rank", THRT_NONE, [](auto& p) { p.values[0].dims[2] = 1; }},
      {"value_never_defined", THRT_NONE, [](auto& p) { p.values.push_back(p.values[0]); }},
      {"value_elements_overflow", THRT_NONE,
       [](auto& p) {
         for (int d = 0; d < 2; ++d) p.values[0].dims[d] = std::int64_t{1} << 62;
       }},
  };
}

std::vector<Damage> op_damages() {
  return {
      {"op_kind_zero", kAdd, [](auto& p) { p.ops[kAdd].kind = 0; }, {}, kInvalidOrIncompatible},
      {"op_kind_unknown", kAdd, [](auto& p) { p.ops[kAdd].kind = 9999; }, {}, kInvalidOrIncompatible},
      {"op_kind_huge", kAdd, [](auto& p) { p.ops[kAdd].kind = UINT32_MAX; }, {}, kInvalidOrIncompatible},
      {"op_version_zero", kMul, [](auto& p) { p.ops[kMul].version = 0; }, {}, kInvalidOrIncompatible},
      {"op_version_unknown", kMul, [](auto& p) { p.ops[kMul].version = 77; }, {}, kInvalidOrIncompatible},
      {"op_first_operand_out_of_range", kAdd, [](auto& p) { p.ops[kAdd].first_operand = 1000; }},
      {"op_operands_overflow", kAdd, [](auto& p) { p.ops[kAdd].first_operand = UINT32_MAX - 1; }},
      {"op_operand_count_too_small", kAdd, [](auto& p) { p.ops[kAdd].operand_count = 1; }},
      {"op_operand_count_too_large", kAdd, [](auto& p) { p.ops[kAdd].operand_count = 3; }},
      {"op_operand_count_huge", kAdd, [](auto& p) { p.ops[kAdd].operand_count = UINT32_MAX; }},
      {"op_operand_out_of_range", kAdd, [](auto& p) { p.operand(kAdd, 1) = 1000; }},
      {"op_operand_none", kAdd, [](auto& p) { p.operand(kAdd, 0) = THRT_NONE; }},
      {"op_operand_is_own_result", kAdd, [](auto& p) { p.operand(kAdd, 0) = p.ops[kAdd].first_result; }},
      {"op_operand_defined_later", kAdd, [](auto& p) { p.operand(kAdd, 0) = p.ops[kBroadcast].first_result; }},
      {"op_result_out_of_range", kMul, [](auto& p) { p.ops[kMul].first_result = 1000; }},
      {"op_result_none", kMul, [](auto& p) { p.ops[kMul].first_result = THRT_NONE; }},
      {"op_result_defined_twice", THRT_NONE,
       [](auto& p) { p.ops[kTranspose].first_result = p.ops[kSlice].first_result; }},
      {"op_result_is_an_input", THRT_NONE, [](auto& p) { p.ops[kMul].first_result = 1; }},
      {"op_result_count_zero", kMul, [](auto& p) { p.ops[kMul].result_count = 0; }},
      {"op_result_count_two", kSlice, [](auto& p) { p.ops[kSlice].result_count = 2; }},
      {"op_attributes_out_of_range", kMatmul, [](auto& p) { p.ops[kMatmul].first_attribute = 1000; }},
      {"op_attributes_overflow", kMatmul, [](auto& p) { p.ops[kMatmul].first_attribute = UINT32_MAX; }},
      {"op_attribute_count_too_small", kMatmul, [](auto& p) { p.ops[kMatmul].attribute_count = 1; }},
      {"op_attribute_count_too_large", kMatmul, [](auto& p) { p.ops[kMatmul].attribute_count = 3; }},
      {"op_subprogram_without_repeat", kAdd, [](auto& p) { p.ops[kAdd].subprogram = 0; }},
      {"op_group_out_of_range", kAdd, [](auto& p) { p.ops[kAdd].group = 1000; }},
      {"op_location_out_of_range", kAdd, [](auto& p) { p.ops[kAdd].location = 100'000; }},
  };
}

std::vector<Damage> rule_damages() {
  return {
      {"result_shape_wrong", kReduce, [](auto& p) { p.values[5].dims[0] = 3; }},
      {"result_rank_wrong", kReduce, [](auto& p) { p.values[5] = p.values[kSum]; }},
      {"result_dtype_wrong", kReduce, [](auto& p) { p.values[5].dtype = THRT_DTYPE_I32; }},
      {"operand_types_differ", kAdd, [](auto& p) { p.operand(kAdd, 1) = 0; }},
      {"dtype_the_op_does_not_take", kMul, [](auto& p) { p.ops[kMul].kind = THRT_OP_AND; }},
      {"constant_offset_negative", kConstant, [](auto& p) { p.attribute(kConstant, 0) = -64; }},
      {"constant_offset_unaligned", kConstant, [](auto& p) { p.attribute(kConstant, 0) = 4; }},
      {"constant_beyond_the_end", kConstant, [](auto& p) { p.attribute(kConstant, 0) = 64; }},
      {"constant_offset_huge", kConstant,
       [](auto& p) { p.attribute(kConstant, 0) = std::numeric_limits<std::int64_t>::max() - 63; }},
      {"matmul_inner_dimensions_differ", kMatmul, [](auto& p) { p.attribute(kMatmul, 1) = 1; }},
      {"matmul_flag_two", kMatmul, [](auto& p) { p.attribute(kMatmul, 0) = 2; }},
      {"reduce_axis_outside", kReduce, [](auto& p) { p.attribute(kReduce, 0) = 2; }},
      {"reduce_axis_negative", kReduce, [](auto& p) { p.attribute(kReduce, 0) = -1; }},
      {"broadcast_axis_outside", kBroadcast, [](auto& p) { p.attribute(kBroadcast, 0) = 6; }},
      {"broadcast_to_another_size", kBroadcast, [](auto& p) { p.attribute(kBroadcast, 0) = 1; }},
      {"slice_start_negative", kSlice, [](auto& p) { p.attribute(kSlice, 1) = -1; }},
      {"slice_beyond_the_end", kSlice, [](auto& p) { p.attribute(kSlice, 1) = 3; }},
      {"slice_stride_zero", kSlice, [](auto& p) { p.attribute(kSlice, 5) = 0; }},
      {"slice_size_overflows", kSlice,
       [](auto& p) { p.attribute(kSlice, 5) = std::numeric_limits<std::int64_t>::max(); }},
      {"transpose_axis_twice", kTranspose, [](auto& p) { p.attribute(kTranspose, 0) = 0; }},
      {"transpose_axis_outside", kTranspose, [](auto& p) { p.attribute(kTranspose, 0) = 40; }},
  };
}

std::vector<Damage> slot_damages() {
  return {
      {"slot_name_out_of_range", THRT_NONE, [](auto& p) { p.slots[0].name = 100'000; }},
      {"slot_names_equal", THRT_NONE, [](auto& p) { p.slots[1].name = p.slots[0].name; }},
      {"slot_input_out_of_range", THRT_NONE, [](auto& p) { p.slots[0].input_value = 1000; }},
      {"slot_output_out_of_range", THRT_NONE, [](auto& p) { p.slots[2].output_value = 1000; }},
      {"slot_neither_read_nor_written", THRT_NONE, [](auto& p) { p.slots[2].output_value = THRT_NONE; }},
      {"slot_state_of_two_types", THRT_NONE, [](auto& p) { p.slots[1].output_value = kSum; }},
      {"slot_input_defined_twice", THRT_NONE, [](auto& p) { p.slots[0].input_value = p.slots[1].input_value; }},
      {"slot_input_is_an_ops_result", THRT_NONE, [](auto& p) { p.slots[2].input_value = p.slots[2].output_value; }},
  };
}

std::vector<Damage> header_damages() {
  return {
      {"values_null", THRT_NONE, {}, [](auto& h) { h.values = nullptr; }, kInvalidOrArgument},
      {"ops_null", THRT_NONE, {}, [](auto& h) { h.ops = nullptr; }, kInvalidOrArgument},
      {"slots_null", THRT_NONE, {}, [](auto& h) { h.slots = nullptr; }, kInvalidOrArgument},
      {"operands_null", THRT_NONE, {}, [](auto& h) { h.operands = nullptr; }, kInvalidOrArgument},
      {"attributes_null", THRT_NONE, {}, [](auto& h) { h.attributes = nullptr; }, kInvalidOrArgument},
      {"constants_null", THRT_NONE, {}, [](auto& h) { h.constants = nullptr; }, kInvalidOrArgument},
      {"constants_not_aligned", THRT_NONE, {}, [](auto& h) { ++h.constants; }, kInvalidOrArgument},
      {"strings_null", THRT_NONE, {}, [](auto& h) { h.strings = nullptr; }, kInvalidOrArgument},
      {"strings_not_terminated", THRT_NONE, [](auto& p) { p.strings.back() = 'x'; }},
      {"strings_without_the_empty_one", THRT_NONE, [](auto& p) { p.strings.front() = 'x'; }},
      {"name_out_of_range", THRT_NONE, {}, [](auto& h) { h.name = 100'000; }},
      {"opset_zero", THRT_NONE, {}, [](auto& h) { h.opset = 0; }, kInvalidOrIncompatible},
      {"opset_of_the_future", THRT_NONE, {}, [](auto& h) { h.opset = 1000; }, kInvalidOrIncompatible},
      {"op_count_without_ops", THRT_NONE, {}, [](auto& h) { h.op_count = 0; }},
      {"value_count_too_small", THRT_NONE, {}, [](auto& h) { h.value_count = 3; }},
      {"operand_count_too_small", THRT_NONE, {}, [](auto& h) { h.operand_count = 2; }},
      {"attribute_count_too_small", THRT_NONE, {}, [](auto& h) { h.attribute_count = 1; }},
      {"constant_bytes_too_few", kConstant, {}, [](auto& h) { h.constant_bytes = 16; }},
  };
}

Case damage_case(const Damage& damage) {
  return contract_case(std::string("malformed/") + damage.name, [damage](const Bench& bench) {
    const RawHost host(bench);
    const RawContext context = host.context();
    OpenProgram program(good_graph());
    context.api().executable_destroy(context.handle(), context.compile(program.abi()));  // the undamaged one is good
    if (damage.arrays) damage.arrays(program);
    thrt_program& abi = program.abi();
    if (damage.header) damage.header(abi);
    require_program_refused(context, abi, damage.op, damage.allowed);
    require_works(context);
  });
}

// ----------------------------------------------------------------------------------------------------------------- repeat

// op 0: repeat of { op 1: add(s, a); op 2: mul(op 1, a) }; op 3: neg of its result. The body's values: iteration, s, a,
// sum, product.
Graph good_loop() {
  auto body = std::make_shared<Graph>("body");
  body->input("iteration", {DType::kI32, {}});
  const Tensor s = body->state("s", {DType::kF32, {3}}, Init::zeros());
  const Tensor a = body->input("a", {DType::kF32, {3}});
  const Tensor sum = body->append(OpKind::ADD, {s, a});
  body->update("s", body->append(OpKind::MUL, {sum, a}));
  Graph graph("loop");
  const std::array<Tensor, 1> carried = {graph.input("start", {DType::kF32, {3}})};
  const std::array<Tensor, 1> invariants = {graph.input("a", {DType::kF32, {3}})};
  const Tensor last = graph.append_repeat(5, carried, invariants, body)[0];
  graph.output("y", graph.append(OpKind::NEG, {last}));
  return graph;
}

std::vector<Damage> loop_damages() {
  return {
      {"repeat_body_null",
       THRT_NONE,
       {},
       [](auto& h) { const_cast<const thrt_program**>(h.subprograms)[0] = nullptr; },
       kInvalidOrArgument},
      {"repeat_without_subprogram", 0, [](auto& p) { p.ops[0].subprogram = THRT_NONE; }},
      {"repeat_subprogram_out_of_range", 0, [](auto& p) { p.ops[0].subprogram = 1; }},
      {"repeat_negative_trip_count", 0, [](auto& p) { p.attribute(0, 0) = -1; }},
      {"repeat_carries_nothing", 0, [](auto& p) { p.attribute(0, 1) = 0; }},
      {"repeat_carries_too_many", 0, [](auto& p) { p.attribute(0, 1) = 3; }},
      {"repeat_carries_huge", 0, [](auto& p) { p.attribute(0, 1) = std::numeric_limits<std::int64_t>::max(); }},
      {"repeat_iteration_of_another_type", 0, [](auto& p) { p.subprograms[0]->values[0].dtype = THRT_DTYPE_U32; }},
      {"repeat_slots_missing", THRT_NONE, [](auto& p) { p.subprograms[0]->slots.pop_back(); }},
      {"op_in_a_body_is_numbered", 2, [](auto& p) { p.subprograms[0]->operand(1, 0) = 1000; }},
      {"op_after_a_body_is_numbered", 3, [](auto& p) { p.operand(1, 0) = 1000; }},
      {"body_malformed", THRT_NONE, [](auto& p) { p.subprograms[0]->values[1].rank = 9; }},
      {"body_of_another_opset",
       THRT_NONE,
       {},
       [](auto& h) { const_cast<thrt_program*>(h.subprograms[0])->opset = 1000; },
       kInvalidOrIncompatible},
      // No end of it: whoever follows sub-programs without a limit runs out of stack.
      {"repeat_inside_itself",
       THRT_NONE,
       {},
       [](auto& h) {
         auto* body = const_cast<thrt_program*>(h.subprograms[0]);
         auto* ops = const_cast<thrt_op*>(body->ops);
         ops[0].kind = THRT_OP_REPEAT;
         ops[0].subprogram = 0;
         ops[0].attribute_count = 2;
         body->attributes = h.attributes;
         body->attribute_count = h.attribute_count;
         body->subprograms = h.subprograms;
         body->subprogram_count = 1;
       },
       {THRT_INVALID_PROGRAM, THRT_UNSUPPORTED}},
  };
}

// Repeat is no core op: a backend without it need not look into its sub-program.
Case loop_case(const Damage& damage) {
  const auto body = [damage](const Bench& bench) {
    const RawHost host(bench);
    const RawContext context = host.context();
    OpenProgram program(good_loop());
    std::array<thrt_verdict, 8> verdicts{};
    std::uint32_t refusals = 0;
    Answer answer;
    answer.require_ok(context.api().check(context.handle(), &program.abi(), verdicts.data(),
                                          static_cast<std::uint32_t>(verdicts.size()), &refusals, answer.slot()),
                      "check of the undamaged program");
    if (refusals > 0) throw Declined(verdicts[0].reason);
    if (damage.arrays) damage.arrays(program);
    thrt_program& abi = program.abi();
    if (damage.header) damage.header(abi);
    require_program_refused(context, abi, damage.op, damage.allowed);
    require_works(context);
  };
  return contract_case(std::string("malformed/") + damage.name, body, Level::kTraining);
}

}  // namespace

std::vector<Case> malformed_program_cases() {
  std::vector<Case> cases;
  for (const auto& damages : {value_damages(), op_damages(), rule_damages(), slot_damages(), header_damages()}) {
    for (const Damage& damage : damages) cases.push_back(damage_case(damage));
  }
  for (const Damage& damage : loop_damages()) cases.push_back(loop_case(damage));
  return cases;
}

}  // namespace thrt::conformance
