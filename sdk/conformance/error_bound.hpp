// The error model of the suite: how far a backend's result may be from the exact one, by the contract of ops.def.
//
// It is a Graph -> Graph function. In the graph it makes every float is an f64, and beside each value runs the largest
// absolute error that a conforming backend may have made by then: what its operands' errors become, plus what the op itself
// may add (Wilkinson's running error analysis; Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., chapter
// 3.3). The reference backend runs it, so there is one definition of what an op means.
//
//   add, mul, ...     operands' errors propagated; a half ulp of the storage dtype, or what rounding really lost where the
//                     operands are exact: a chain of exact results stays exact
//   exp, tanh, ...    the function at both ends of the operand's interval; the ulps of ops.def
//   sums              the same op on absolute values: n * 2^-24 * sum|terms|, and its operands' errors likewise
//   comparisons, ...  undecided where the operands' intervals overlap; what depends on it may be any of the branches
//   f16, bf16         computed in f32, rounded to storage; a backend that keeps f32 between fused ops lies inside too
//
// An infinite bound says that nothing can be said; such elements are not compared.
#pragma once

#include <thrt/graph/graph.hpp>

#include <string>

namespace thrt::conformance {

struct ErrorModel {
  // Denormals of the storage dtype may become zero, as operands and as results.
  bool flushes_denormals = false;
  // State inputs have an error too: inputs named doubt_input_name(state), for running on from an earlier run's result.
  bool carries_state = false;
};

// Slots: each input and state as an input of its name, floats as f64. For each output and updated state S: S + "#value"; and
// doubt_name(S) unless it is exact whatever the inputs are: for floats an f64, the bound; for others a bool that says
// where the value is undecided.
Graph bounded(const Graph& graph, const ErrorModel& model = {});

std::string value_name(const std::string& slot);
std::string doubt_name(const std::string& slot);
std::string doubt_input_name(const std::string& slot);

}  // namespace thrt::conformance
