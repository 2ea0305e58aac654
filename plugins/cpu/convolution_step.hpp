// The three convolutions as steps, with what can be done while an image is in cache: bias and ReLU after a convolution,
// the gradient of a ReLU after the gradient by the input, the bias's gradient along with the filter's.
//
// Inside, images are [pixels, channels], channels last: then the products of convolution_block.hpp read them where they
// lie. A value of the program that only such steps make and read is kept in that order, in the same memory.
#pragma once

#include "step.hpp"

#include <cstdint>
#include <optional>

namespace thrt::cpu {

// Names as in ops.def: x [n, c, h, w], filter [o, c, kh, kw], y [n, o, oh, ow].
struct ConvolutionGeometry {
  std::int64_t n, c, h, w;
  std::int64_t o, kh, kw;
  std::int64_t oh, ow;
  std::int64_t stride_h, stride_w, pad_top, pad_bottom, pad_left, pad_right;

  static ConvolutionGeometry of(const sdk::OpView& op);  // CONV2D or one of its gradients

  std::int64_t padded_h() const { return h + pad_top + pad_bottom; }
  std::int64_t padded_w() const { return w + pad_left + pad_right; }
  bool is_padded() const { return padded_h() != h || padded_w() != w; }
  std::int64_t taps() const { return kh * kw; }
  std::int64_t pixels() const { return oh * ow; }  // of y
  double flops() const { return 2.0 * static_cast<double>(n * o * pixels()) * static_cast<double>(c * taps()); }
};

// Images [n, c, h, w] of the program and how they lie in memory.
struct ImageValue {
  std::uint32_t value = THRT_NONE;
  bool channels_last = false;
  std::optional<float> u8_scale = {};  // bytes, each to be multiplied by this
};

struct ConvolutionSpec {
  enum class Kind { kForward, kGradInput, kGradFilter };
  Kind kind;
  ConvolutionGeometry geometry;
  ImageValue x;                      // kGradInput: the result
  ImageValue y;                      // kForward: the result; else the gradient by it
  std::uint32_t filter = THRT_NONE;  // kGradFilter: the result
  std::uint32_t bias = THRT_NONE;    // kForward: [o], added
  bool relu = false;                 // kForward: then what is not above 0 becomes 0
  std::uint32_t positive =
      THRT_NONE;  // kGradInput: images like x, and in x's order; where they are not above 0, x becomes 0
  std::uint32_t bias_grad = THRT_NONE;  // kGradFilter: a second result [o], the sum of y over images and pixels
};

// `memory` holds what the spec names. Operands are rounded to bf16 when the settings ask for it; sums, and what is fused
// after them, are f32 in any case.
Step convolution_step(const ConvolutionSpec& spec, const CompileSettings& settings);

// y = positive > 0 ? x : 0, for x as the program says and the other two in either order.
struct MaskSpec {
  std::int64_t n, channels, pixels;
  std::uint32_t x;
  ImageValue positive, y;
};
Step convolution_mask_step(const MaskSpec& spec, const CompileSettings& settings);

}  // namespace thrt::cpu
