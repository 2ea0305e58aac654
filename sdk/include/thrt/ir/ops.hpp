// The op table of ops.def as C++ data.
#pragma once

#include <thrt/abi.h>
#include <thrt/ir/type.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace thrt::ir {

enum class OpKind : std::uint32_t {
#define THRT_OP(ID, name, number, version, level, min_operands, max_operands, results, rule, dtypes, ulps, attributes) \
  ID = number,
#include <thrt/ops.def>
#undef THRT_OP
};

enum class OpLevel { kCore, kTraining, kVision };

// The classes of dtypes that ops.def names, as sets of bits 1 << THRT_DTYPE_X.
inline constexpr std::uint32_t dtype_bit(DType dtype) {
  return 1u << static_cast<std::uint32_t>(dtype);
}
inline constexpr std::uint32_t kDTypesInteger = dtype_bit(DType::kI32) | dtype_bit(DType::kU32);
inline constexpr std::uint32_t kDTypesBits = kDTypesInteger | dtype_bit(DType::kBool);
inline constexpr std::uint32_t kDTypesFloat =
    dtype_bit(DType::kF32) | dtype_bit(DType::kF16) | dtype_bit(DType::kBF16) | dtype_bit(DType::kF64);
inline constexpr std::uint32_t kDTypesNumber = kDTypesFloat | kDTypesInteger;
inline constexpr std::uint32_t kDTypesAny = kDTypesNumber | dtype_bit(DType::kBool) | dtype_bit(DType::kU8);

enum class Rule {
  kConstant,
  kIota,
  kUnary,
  kCast,
  kBinary,
  kCompare,
  kSelect,
  kBroadcast,
  kReshape,
  kTranspose,
  kSlice,
  kPad,
  kConcat,
  kGather,
  kScatterAdd,
  kDynamicSlice,
  kDynamicUpdateSlice,
  kReduce,

  kArgmax,
  kArgsort,
  kMatmul,
  kConv2d,
  kConv2dGradInput,
  kConv2dGradFilter,
  kRandomBits,
  kRepeat,
};

inline constexpr std::uint32_t kAnyCount = UINT32_MAX;
inline constexpr int kUlpsSum = -1;  // the error model of sums, see ops.def

struct OpInfo {
  OpKind kind;
  std::string_view name;
  std::uint32_t version;
  OpLevel level;
  std::uint32_t min_operands;
  std::uint32_t max_operands;  // or kAnyCount
  std::uint32_t results;       // or kAnyCount
  Rule rule;
  std::uint32_t dtypes;  // of the first operand, or of the result of an op without operands
  int ulps;              // or kUlpsSum
  std::string_view attributes;
};

namespace table {
inline constexpr OpLevel CORE = OpLevel::kCore, TRAINING = OpLevel::kTraining, VISION = OpLevel::kVision;
inline constexpr std::uint32_t ANY = kAnyCount;
inline constexpr int SUM = kUlpsSum;
namespace dtypes {
inline constexpr std::uint32_t FLOAT = kDTypesFloat, NUMBER = kDTypesNumber, BITS = kDTypesBits,
                               INTEGER = kDTypesInteger, ANY = kDTypesAny;
}
namespace rules {
inline constexpr Rule CONSTANT = Rule::kConstant, IOTA = Rule::kIota, UNARY = Rule::kUnary, CAST = Rule::kCast,
                      BINARY = Rule::kBinary, COMPARE = Rule::kCompare, SELECT = Rule::kSelect,
                      BROADCAST = Rule::kBroadcast, RESHAPE = Rule::kReshape, TRANSPOSE = Rule::kTranspose,
                      SLICE = Rule::kSlice, PAD = Rule::kPad, CONCAT = Rule::kConcat, GATHER = Rule::kGather,
                      SCATTER_ADD = Rule::kScatterAdd, DYNAMIC_SLICE = Rule::kDynamicSlice,
                      DYNAMIC_UPDATE_SLICE = Rule::kDynamicUpdateSlice, REDUCE = Rule::kReduce, ARGMAX = Rule::kArgmax,
                      ARGSORT = Rule::kArgsort, MATMUL = Rule::kMatmul, CONV2D = Rule::kConv2d,
                      CONV2D_GRAD_INPUT = Rule::kConv2dGradInput, CONV2D_GRAD_FILTER = Rule::kConv2dGradFilter,
                      RANDOM_BITS = Rule::kRandomBits, REPEAT = Rule::kRepeat;
}

inline constexpr OpInfo kOps[] = {
#define THRT_OP(ID, name, number, version, level, min_operands, max_operands, results, rule, dtypes_, ulps, \
                attributes)                                                                                 \
  {OpKind::ID, #name,       version,         level, min_operands, max_operands,                             \
   results,    rules::rule, dtypes::dtypes_, ulps,  attributes},
#include <thrt/ops.def>
#undef THRT_OP
};
}  // namespace table

inline constexpr std::span<const OpInfo> all_ops() {
  return table::kOps;
}

// Null for a number that is no op.
inline const OpInfo* find_op(std::uint32_t number) {
  for (const OpInfo& op : table::kOps) {
    if (static_cast<std::uint32_t>(op.kind) == number) return &op;
  }
  return nullptr;
}

inline const OpInfo& op_info(OpKind kind) {
  return *find_op(static_cast<std::uint32_t>(kind));
}

}  // namespace thrt::ir
