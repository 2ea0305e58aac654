// Several ops as one step: a product with its bias and activation, a chain of convolutions, an optimiser's update of
// many tensors. A finder looks for its pattern and claims the ops; compile.cpp makes each claim one node of the order in
// which the program runs.
//
// A claim's step names in memory.reads the values that it reads from outside, each of which is then there, dense and
// row-major, when the step runs (a finder that looks through broadcasts, transposes and slices itself names their
// roots), and in memory.writes those of its values that are outputs, that an op outside all claims has as operand, or
// that another claim names. Other values of claimed ops are never made and need no memory. What a claim waits for is
// what it names, not the operands of its ops.
//
// Dropped are claims that overlap one before them, leave out a value that is needed, or would have to run both before
// and after something else. An op whose results only claims had use for, and none names, is not run at all.
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
  std::uint32_t family = 0;  // claims of one number, but for 0, are accepted all or none: they share a layout, say
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

// Those that can be run, in the order they came.
std::vector<Claim> accept_claims(const ProgramFacts& facts, std::vector<Claim> proposed);

}  // namespace thrt::cpu
