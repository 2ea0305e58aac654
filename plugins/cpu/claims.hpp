// Several ops as one step: a product with its bias and activation, a chain of convolutions, an optimiser's update of
// many tensors. A finder looks for its pattern and claims the ops; compile.cpp makes each claim one node of the order in
// which the program runs.
//
// A claim's step names in memory.reads the values that it reads from outside, each of which is then there, dense and
// row-major, when the step runs (a finder that looks through broadcasts, transposes and slices itself names their
// roots), and in memory.writes all its values that any op outside reads or that are outputs. Other values of claimed ops
// are never made and need no memory. A claimed op whose operands hang on another one only through ops outside the claim
// would have to run both before and after them: such a claim is dropped, as is one that leaves out a value that is read,
// and one that overlaps a claim accepted before it.
#pragma once

#include "step.hpp"
#include "strided.hpp"

#include <thrt/sdk/program.hpp>

#include <cstdint>
#include <vector>

namespace thrt::cpu {

struct Claim {
  std::vector<std::uint32_t> ops;
  Step step;
};

// What the finders look at. Roots and layouts are those of the program without claims: value v is, row by row, what its
// layout picks from the memory of its root; values that have memory of their own are their own roots.
struct ProgramFacts {
  const sdk::ProgramView& program;
  std::vector<std::vector<std::uint32_t>> readers;  // by value: ops, once per operand
  std::vector<bool> is_output;                      // by value
  std::vector<std::uint32_t> producer;              // by value: op, or THRT_NONE for inputs
  std::vector<std::uint32_t> roots;                 // by value
  std::vector<Layout> layouts;                      // by value: over its root
};

// In the order in which they are asked. Not asked under THRT_COMPILE_DEBUG and THRT_COMPILE_CHECK_FINITE, where each op
// is a step.
std::vector<Claim> find_convolution_claims(const ProgramFacts& facts, const CompileSettings& settings);
std::vector<Claim> find_matmul_claims(const ProgramFacts& facts, const CompileSettings& settings);
std::vector<Claim> find_optimiser_claims(const ProgramFacts& facts, const CompileSettings& settings);

// Those that can be run, earlier ones first.
std::vector<Claim> accept_claims(const ProgramFacts& facts, std::vector<Claim> proposed);

}  // namespace thrt::cpu
