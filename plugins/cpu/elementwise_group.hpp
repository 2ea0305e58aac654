// Elementwise ops over the same number of elements, run tile by tile: what passes from one to the next stays in the
// first-level cache, and only what others read is written to memory.
#pragma once

#include "step.hpp"
#include "strided.hpp"

#include <map>
#include <optional>

namespace thrt::cpu {

// An operand of an elementwise op as it lies in memory.
struct Operand {
  std::uint32_t value;  // dense
  Layout layout;        // over `value`
  ir::DType dtype;
};

class ElementwiseGroup {
 public:
  ElementwiseGroup(std::int64_t elements, const CompileSettings& settings)
      : elements_(elements), kernels_(*settings.kernels), threads_(settings.threads) {}

  // Whether an op with these operands may join: what the group computes can be read only element by element.
  bool accepts(std::span<const Operand> operands) const;
  // `kind` without value: copies its operand.
  void add(std::optional<ir::OpKind> kind, std::span<const Operand> operands, std::uint32_t result, ir::DType dtype);

  // `escapes(v)`: whether something outside reads v. The group is used up.
  Step finish(const std::function<bool(std::uint32_t)>& escapes);

 private:
  struct Source {
    enum class Kind { kNone, kInstruction, kMemory, kScalar, kLoaded, kCopied };
    Kind kind = Kind::kNone;
    std::uint32_t index = 0;  // an instruction, a load, or (kMemory, kScalar, kCopied) a value
    std::int64_t offset = 0;  // kMemory, kScalar: in elements
    ir::DType dtype = ir::DType::kF32;
  };
  struct Instruction {
    ElementwiseFn run = nullptr;  // null: a copy of inputs[0], read through `layout`
    Layout layout;
    Source inputs[3];
    std::uint32_t result = 0;
    ir::DType dtype = ir::DType::kF32;
  };
  struct Load {
    std::uint32_t value;
    Layout layout;
    ir::DType dtype;
    std::uint32_t first_use;
  };
  struct Bound;
  struct Binding;

  Source source(const Operand& operand);
  Source load(const Operand& operand);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> in_place_pairs(const std::vector<bool>& stored) const;

  std::int64_t elements_;
  const Kernels& kernels_;
  int threads_;
  std::vector<Instruction> instructions_;
  std::vector<Load> loads_;
  std::map<std::uint32_t, std::uint32_t> defined_;  // value -> instruction
};

}  // namespace thrt::cpu
