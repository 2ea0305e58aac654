// One convolution in the ways that oneDNN offers: the layout that it chooses itself, and channels last.
#pragma once

#include "matmul_ways.hpp"

#include <thrt/ir/type.hpp>

#include <cstdint>
#include <vector>

namespace thrt::bench {

// Shapes and attributes as ops.def has them. Forward with a bias and a ReLU, the filter's gradient with the bias's: the
// library does these in the same call.
struct Convolution {
  enum class Kind { kForward, kGradInput, kGradFilter };
  Kind kind = Kind::kForward;
  ir::Shape x, filter, y;
  std::vector<std::int64_t> attributes;  // stride_h, stride_w, pad_top, pad_bottom, pad_left, pad_right
};

// Operands lie in the layout that is asked for: no reorder is timed. With bf16 images and filters are stored in it, sums
// and the filter's gradient are f32.
std::vector<Way> ways_of(const Convolution& convolution, bool bf16);

// oneDNN's matmul on operands stored in bf16, with an f32 result, and its weights in the layout that it chooses.
std::vector<Way> bf16_ways_of(const Product& product);

}  // namespace thrt::bench
