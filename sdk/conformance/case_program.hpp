// A program of a case with the contents of its slots: small tools for writing cases.
#pragma once

#include "compare.hpp"

#include <thrt/graph/tensor_ops.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thrt::conformance {

// Reproducible numbers: SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits();
  std::int64_t between(std::int64_t low, std::int64_t high);  // both included
  double uniform(double low, double high);
  std::vector<double> uniforms(std::int64_t count, double low, double high);

 private:
  std::uint64_t state_;
};

// The numbers as elements of a dtype, rounded as cast does.
Bytes encode(const std::vector<double>& numbers, DType dtype);

struct CaseProgram {
  explicit CaseProgram(const std::string& name, std::uint64_t seed = 1) : graph(name), numbers(seed) {}

  Graph graph;
  Contents contents;
  Numbers numbers;

  // An input of these numbers; they repeat when there are fewer than elements. Named x0, x1, ...
  Tensor given(const Type& type, const std::vector<double>& values);
  // An input of ordinary values: floats in [low, high), integers in what of that they hold, bools either way.
  Tensor random(const Type& type, double low = -4.0, double high = 4.0);
  // Numbers in [low, high), or this number, for the inputs and states whose names start with `prefix` and that have none yet.
  void fill(std::string_view prefix, double low, double high);
  void fill(std::string_view prefix, double value) { fill(prefix, value, value); }
  // An output whose name says what it is, for the failure's line; numbered when there is one of that name.
  void output(const std::string& name, Tensor value);

  Outcome compare(const Bench& bench, const CompareOptions& options = {}) const {
    return compare_with_reference(bench, graph, contents, options);
  }

 private:
  std::vector<double> numbers_for(const Type& type, double low, double high);

  std::size_t inputs_ = 0;
};

}  // namespace thrt::conformance
