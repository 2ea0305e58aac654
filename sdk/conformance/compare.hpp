// A program on the backend under test against the reference and the error model.
#pragma once

#include "case.hpp"
#include "device_program.hpp"

#include <map>
#include <string>

namespace thrt::conformance {

// The bytes of each input and state slot, by name.
using Contents = std::map<std::string, Bytes>;

struct CompareOptions {
  std::uint32_t runs = 1;   // one after another, state carried on
  std::uint32_t flags = 0;  // THRT_COMPILE_...
  // Of an output's elements, how many may be without a bound (error_bound.hpp) before the case proves too little.
  double may_skip = 0.0;
};

// Runs `graph` on the plugin, twice from the same contents, and on the reference. Passed: all outputs and states lie within
// the bounds of the error model; both runs gave the same bits; inputs and the bytes around all slots are untouched.
Outcome compare_with_reference(const Bench& bench, const Graph& graph, const Contents& contents,
                               const CompareOptions& options = {});

// What the slot's written value should be: the exact result and how far from it a backend may be.
struct Expected {
  Bytes value;                       // f64 for floats, else the slot's dtype
  std::vector<double> bound;         // floats; empty: exact
  std::vector<std::byte> undecided;  // others; empty: decided
};
using ExpectedSlots = std::map<std::string, Expected>;

ExpectedSlots expected(const Bench& bench, const Graph& graph, const Contents& contents, std::uint32_t runs,
                       bool flushes_denormals);

// The first element of a slot that is not as expected, as a sentence; empty when all are.
std::string first_difference(const std::string& slot, const Type& type, const Bytes& got, const Expected& expected,
                             double may_skip = 0.0);

}  // namespace thrt::conformance
