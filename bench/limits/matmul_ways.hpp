// One matrix product in the ways that the libraries offer.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace thrt::bench {

// c [rows, columns] = a [rows, depth] * b [depth, columns], row-major f32; a transposed operand is stored the other way.
struct Product {
  std::int64_t rows = 0, depth = 0, columns = 0;
  bool transpose_a = false, transpose_b = false;
};

struct Way {
  std::string name;
  std::function<void()> run;  // owns its operands
};

// dnnl_sgemm, oneDNN's matmul primitive, Eigen.
std::vector<Way> ways_of(const Product& product);

}  // namespace thrt::bench
