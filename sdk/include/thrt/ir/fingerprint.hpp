// 128 bits that stand for what a program means: types, ops, attributes, constants, slots, sub-programs. Names, locations and
// groups do not count, nor do the offsets at which things are stored. A cache key, not a proof: not made against an adversary.
#pragma once

#include <thrt/abi.h>
#include <thrt/ir/ops.hpp>
#include <thrt/ir/type.hpp>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace thrt::ir {

using Fingerprint = std::array<std::uint64_t, 2>;

namespace detail {

// Two 64-bit lanes, each word through the finaliser of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
// generators", OOPSLA 2014, variant 13 of David Stafford).
class FingerprintHash {
 public:
  void word(std::uint64_t w) {
    low_ = mix(low_ ^ w);
    high_ = mix(high_ + std::rotl(w, 32) + low_ * 0x9E3779B97F4A7C15u);
    ++words_;
  }
  void bytes(const std::uint8_t* data, std::uint64_t size) {
    word(size);
    for (std::uint64_t at = 0; at < size; at += 8) {
      std::uint64_t w = 0;
      std::memcpy(&w, data + at, static_cast<std::size_t>(size - at < 8 ? size - at : 8));
      word(w);
    }
  }
  Fingerprint done() const {
    const std::uint64_t low = mix(low_ ^ words_);
    return {low, mix(high_ + low)};
  }

 private:
  static std::uint64_t mix(std::uint64_t z) {
    z += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  std::uint64_t low_ = 0;
  std::uint64_t high_ = 0;
  std::uint64_t words_ = 0;
};

}  // namespace detail

// Of a well-formed program.
inline Fingerprint fingerprint(const thrt_program& program) {
  detail::FingerprintHash hash;
  hash.word(program.opset);
  hash.word(program.value_count);
  for (std::uint32_t v = 0; v < program.value_count; ++v) {
    const thrt_value& value = program.values[v];
    hash.word(std::uint64_t{value.dtype} << 32 | value.rank);
    for (std::uint32_t d = 0; d < value.rank; ++d) hash.word(static_cast<std::uint64_t>(value.dims[d]));
  }
  hash.word(program.slot_count);
  for (std::uint32_t s = 0; s < program.slot_count; ++s) {
    hash.word(std::uint64_t{program.slots[s].input_value} << 32 | program.slots[s].output_value);
  }
  hash.word(program.op_count);
  for (std::uint32_t i = 0; i < program.op_count; ++i) {
    const thrt_op& op = program.ops[i];
    hash.word(std::uint64_t{op.kind} << 32 | op.version);
    hash.word(std::uint64_t{op.first_result} << 32 | op.result_count);
    hash.word(op.operand_count);
    for (std::uint32_t k = 0; k < op.operand_count; ++k) hash.word(program.operands[op.first_operand + k]);
    hash.word(op.attribute_count);
    if (op.kind == THRT_OP_CONSTANT) {
      hash.bytes(program.constants + program.attributes[op.first_attribute],
                 type_of(program.values[op.first_result]).bytes());
    } else {
      for (std::uint32_t k = 0; k < op.attribute_count; ++k) {
        hash.word(static_cast<std::uint64_t>(program.attributes[op.first_attribute + k]));
      }
    }
    if (op.subprogram != THRT_NONE) {
      for (const std::uint64_t half : fingerprint(*program.subprograms[op.subprogram])) hash.word(half);
    }
  }
  return hash.done();
}

}  // namespace thrt::ir
