#include "op_parts.hpp"

#include <fmt/format.h>

namespace thrt::conformance {
namespace {

// No default: an op that is new in ops.def does not compile until it has cases.
Parts parts_of(OpKind kind, DType dtype) {
  switch (ir::op_info(kind).rule) {
    case ir::Rule::kConstant:
      return constant_parts(dtype);
    case ir::Rule::kIota:
      return iota_parts(dtype);
    case ir::Rule::kUnary:
      return unary_parts(kind, dtype);
    case ir::Rule::kCast:
      return cast_parts(dtype);
    case ir::Rule::kBinary:
      return binary_parts(kind, dtype);
    case ir::Rule::kCompare:
      return compare_parts(kind, dtype);
    case ir::Rule::kSelect:
      return select_parts(dtype);
    case ir::Rule::kBroadcast:
      return broadcast_parts(dtype);
    case ir::Rule::kReshape:
      return reshape_parts(dtype);
    case ir::Rule::kTranspose:
      return transpose_parts(dtype);
    case ir::Rule::kSlice:
      return slice_parts(dtype);
    case ir::Rule::kPad:
      return pad_parts(dtype);
    case ir::Rule::kConcat:
      return concat_parts(dtype);
    case ir::Rule::kGather:
      return gather_parts(dtype);
    case ir::Rule::kScatterAdd:
      return scatter_add_parts(dtype);
    case ir::Rule::kDynamicSlice:
      return dynamic_slice_parts(dtype);
    case ir::Rule::kDynamicUpdateSlice:
      return dynamic_update_slice_parts(dtype);
    case ir::Rule::kReduce:
      return reduce_parts(kind, dtype);
    case ir::Rule::kArgmax:
      return argmax_parts(dtype);
    case ir::Rule::kArgsort:
      return argsort_parts(dtype);
    case ir::Rule::kMatmul:
      return matmul_parts(dtype);
    case ir::Rule::kConv2d:
    case ir::Rule::kConv2dGradInput:
    case ir::Rule::kConv2dGradFilter:
      return convolution_parts(kind, dtype);
    case ir::Rule::kRandomBits:
      return random_bits_parts(dtype);
    case ir::Rule::kRepeat:
      return repeat_parts(dtype);
  }
  return {};
}

Parts all_parts_of(OpKind kind, DType dtype) {
  Parts parts = parts_of(kind, dtype);
  for (Parts more : {axes_parts(kind, dtype), sizes_parts(kind, dtype)})
    parts.insert(parts.end(), more.begin(), more.end());
  return parts;
}

Level level_of(const ir::OpInfo& op, DType dtype, const std::vector<DType>& also) {
  Level level = op.level == ir::OpLevel::kVision     ? Level::kVision
                : op.level == ir::OpLevel::kTraining ? Level::kTraining
                                                     : Level::kCore;
  std::vector<DType> dtypes = also;
  dtypes.push_back(dtype);
  for (const DType each : dtypes) {
    if (each == DType::kF64) return Level::kNone;
    if (each == DType::kF16 || each == DType::kBF16) level = Level::kMixedPrecision;
  }
  return level;
}

Outcome run_part(const Part& part, const std::string& name, std::uint64_t seed, const Bench& bench) {
  CaseProgram program(name, seed);
  part.build(program);
  const Outcome outcome = program.compare(bench, {.may_skip = part.may_skip});
  if (outcome.kind != Outcome::Kind::kPassed || !part.check) return outcome;
  return part.check(bench);
}

}  // namespace

std::vector<Case> op_cases() {
  std::vector<Case> cases;
  for (const ir::OpInfo& op : ir::all_ops()) {
    for (const DType dtype : ir::kAllDTypes) {
      if ((op.dtypes & ir::dtype_bit(dtype)) == 0) continue;
      for (const Part& part : all_parts_of(op.kind, dtype)) {
        const std::string name = fmt::format("{}/{}/{}", op.name, ir::dtype_name(dtype), part.name);
        const auto seed = static_cast<std::uint64_t>(op.kind) * 64 + static_cast<std::uint64_t>(dtype);
        cases.push_back({name, std::string(op.name), dtype, level_of(op, dtype, part.also),
                         [part, name, seed](const Bench& bench) { return run_part(part, name, seed, bench); }});
      }
    }
  }
  return cases;
}

}  // namespace thrt::conformance
