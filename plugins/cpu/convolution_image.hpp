// Images and filters brought into the order that the products of convolution_block.hpp read, one image at a time, so
// that what is brought is still in cache when it is used.
#pragma once

#include "convolution_step.hpp"

#include <cstddef>
#include <cstdint>

namespace thrt::cpu {

// [images, channels, height, width] in memory and the frame of zeros to put around each.
struct ImageShape {
  std::int64_t channels, height, width;
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;

  std::int64_t pixels() const { return height * width; }
  std::int64_t elements() const { return channels * pixels(); }
  std::int64_t padded_w() const { return width + left + right; }
  std::int64_t padded_pixels() const { return (height + top + bottom) * padded_w(); }
  bool is_padded() const { return padded_pixels() != pixels(); }
};

// Hands out one image after another, f32, channels last, padded, `row` elements from pixel to pixel (row >= channels;
// what is beyond the channels is zero). In the value's own memory where it lies like that already.
class ImageReader {
 public:
  ImageReader(const ImageShape& shape, const ImageValue& value, std::int64_t row);

  std::uint64_t scratch_floats() const { return copies_ ? copy_floats() + bytes_floats() : 0; }
  // To be called before the first image that goes to this scratch.
  void start(float* scratch) const;
  const float* read(const ConvolutionKernels& kernels, const std::byte* data, std::int64_t image, float* scratch) const;

 private:
  std::uint64_t copy_floats() const;
  std::uint64_t bytes_floats() const;

  ImageShape shape_;
  ImageValue value_;
  std::int64_t row_;
  bool copies_;
};

// The way back: one padded f32 image, channels last, `row` elements from pixel to pixel, into the value.
class ImageWriter {
 public:
  ImageWriter(const ImageShape& shape, bool channels_last, std::int64_t row);

  std::uint64_t scratch_floats() const;
  // Where to compute the image.
  float* place(float* data, std::int64_t image, float* scratch) const;
  // After it has been computed there.
  void write(const ConvolutionKernels& kernels, float* data, std::int64_t image, const float* scratch) const;

 private:
  ImageShape shape_;
  bool channels_last_;
  std::int64_t row_;
  bool copies_;
};

// A filter [o, c, taps] for the product over its channels: [taps, c, row] with o along the row, or, the other way round
// for the gradient by the input, [taps, o, row] with c along it. `depth` >= c (or o): what is beyond is zero, as is what
// is beyond in the row.
struct FilterShape {
  std::int64_t o, c, taps;
  std::int64_t depth, row;
};
void pack_filter(const ConvolutionKernels& kernels, const FilterShape& shape, const float* filter, float* to);
void pack_filter_for_input(const ConvolutionKernels& kernels, const FilterShape& shape, const float* filter, float* to);
// [taps, c, row] -> [o, c, taps].
void unpack_filter(const ConvolutionKernels& kernels, const FilterShape& shape, const float* from, float* filter);

// Rows [depth, row] of floats -> [depth / 2, row] of pairs of bf16; depth is even.
void pair_rows(const ConvolutionKernels& kernels, const float* from, std::int64_t depth, std::int64_t row, float* to);
// [pixels, channels] of floats -> [pixels, (channels + 1) / 2] of pairs of bf16, an odd last one paired with 0.
void pair_channels(const ConvolutionKernels& kernels, const float* from, std::int64_t pixels, std::int64_t channels,
                   float* to);

inline std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace thrt::cpu
