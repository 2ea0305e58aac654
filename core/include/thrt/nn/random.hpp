// Random numbers drawn on the device, from a Philox state that is a slot of the program (thrt/philox.h): the same state
// gives the same numbers on every backend, and a checkpoint of the slot resumes the stream.
#pragma once

#include <thrt/graph/tensor_ops.hpp>

#include <string>

namespace thrt::nn {

// Every draw reads the state's current value and advances it by {0, 0, 1, 0}. Two slots of different names draw
// different numbers (see Init::Kind::kRandomState in initialise.hpp).
class Random {
 public:
  explicit Random(Graph& graph, std::string slot = "rng");

  Tensor bits(const Shape& shape);                                     // u32
  Tensor uniform(const Shape& shape, DType dtype = DType::kF32);       // [0, 1): k * 2^-24
  Tensor uniform_open(const Shape& shape, DType dtype = DType::kF32);  // (0, 1): (k + 1/2) * 2^-23, for logarithms
  Tensor normal(const Shape& shape, DType dtype = DType::kF32);        // N(0, 1) (Box and Muller 1958); |x| < 5.8
  Tensor permutation(std::int64_t n);  // i32 [n], each order equally likely up to ties of 32-bit keys

 private:
  Graph* graph_;
  std::string slot_;
};

}  // namespace thrt::nn
