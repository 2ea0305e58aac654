// Elementwise ops and column sums that run on the rows of a product as soon as these are final, while they are still in
// the first-level cache: bias and activation forward, the activation's gradient and the bias's gradient backward.
#pragma once

#include "step.hpp"

#include <optional>
#include <vector>

namespace thrt::cpu {

// What an instruction reads, over the product's [M, N]. All offsets in elements.
struct ChainSource {
  enum class Kind {
    kNone,
    kProduct,      // the product itself
    kInstruction,  // what another one made
    kDense,        // [M, N] in memory
    kRow,          // [N] in memory, the same for all rows
    kScalar,       // one element in memory
  };
  Kind kind = Kind::kNone;
  std::uint32_t index = 0;  // an instruction, or a value
  std::int64_t offset = 0;
  ir::DType dtype = ir::DType::kF32;
};

struct ChainInstruction {
  ElementwiseFn run = nullptr;
  ScalarOperand scalar = ScalarOperand::kNone;  // the source that `run` reads as one element
  bool third_is_scalar = false;                 // likewise the third source
  ChainSource inputs[3];
  std::uint32_t result = 0;  // a value
  ir::DType dtype = ir::DType::kF32;
  bool stored = false;  // in the value's memory; else only until the next rows
};

struct ChainSum {
  ChainSource source;        // kProduct or kInstruction
  std::uint32_t result = 0;  // a value, [N]
};

// Rows of one block are added one after another, then the blocks: so the bits of a sum depend on neither the number of
// threads nor the rows that were final at a time.
inline constexpr std::int64_t kSumRows = 64;

struct MatmulChain {
  std::int64_t m = 0, n = 0;
  std::uint32_t product = 0;  // a value
  // Where the product is put: its own memory, or that of a stored f32 instruction which is the last to read it.
  std::optional<std::uint32_t> product_at;  // an instruction
  std::vector<ChainInstruction> instructions;
  std::vector<ChainSum> sums;

  std::uint64_t part_scratch() const;  // bytes, for each part
  std::uint64_t sum_scratch() const;   // bytes, for all
};

// Several instructions as one, where there is a kernel for it. Before the product's place is chosen.
void fuse_instructions(MatmulChain& chain, const Kernels& kernels);

// A product with its chain.
Step chained_matmul(const MatmulShape& shape, std::uint32_t a, std::uint32_t b, MatmulChain chain,
                    const CompileSettings& settings);

}  // namespace thrt::cpu
