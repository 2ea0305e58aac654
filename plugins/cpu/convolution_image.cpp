#include "convolution_image.hpp"

#include <algorithm>
#include <cstring>

namespace thrt::cpu {
namespace {

constexpr std::int64_t kFloatsPerLine = 16;  // of 64 bytes

std::uint64_t lines(std::int64_t floats) {
  return static_cast<std::uint64_t>(round_up(floats, kFloatsPerLine));
}

void clear(float* to, std::int64_t floats) {
  std::memset(to, 0, static_cast<std::size_t>(floats) * sizeof(float));
}
void copy(float* to, const float* from, std::int64_t floats) {
  std::memcpy(to, from, static_cast<std::size_t>(floats) * sizeof(float));
}

}  // namespace

ImageReader::ImageReader(const ImageShape& shape, const ImageValue& value, std::int64_t row)
    : shape_(shape),
      value_(value),
      row_(row),
      copies_(!value.channels_last || value.u8_scale.has_value() || shape.is_padded() || row != shape.channels) {}

std::uint64_t ImageReader::copy_floats() const {
  return lines(shape_.padded_pixels() * row_);
}
std::uint64_t ImageReader::bytes_floats() const {
  return value_.u8_scale ? lines(shape_.elements()) : 0;
}

void ImageReader::start(float* scratch) const {
  // What no image writes: the frame, and what is beyond the channels.
  if (copies_ && (shape_.is_padded() || row_ != shape_.channels)) clear(scratch, shape_.padded_pixels() * row_);
}

const float* ImageReader::read(const ConvolutionKernels& kernels, const std::byte* data, std::int64_t image,
                               float* scratch) const {
  const std::int64_t first = image * shape_.elements();
  const float* from = nullptr;
  if (value_.u8_scale) {
    float* widened = scratch + copy_floats();
    kernels.scale_u8(widened, reinterpret_cast<const std::uint8_t*>(data) + first, *value_.u8_scale, shape_.elements());
    from = widened;
  } else {
    from = reinterpret_cast<const float*>(data) + first;
  }
  if (!copies_) return from;
  float* to = scratch + (shape_.top * shape_.padded_w() + shape_.left) * row_;
  if (value_.channels_last) {
    for (std::int64_t h = 0; h < shape_.height; ++h) {
      for (std::int64_t w = 0; w < shape_.width; ++w) {
        copy(to + (h * shape_.padded_w() + w) * row_, from + (h * shape_.width + w) * shape_.channels, shape_.channels);
      }
    }
  } else if (!shape_.is_padded()) {
    kernels.transpose(to, row_, from, shape_.pixels(), shape_.channels, shape_.pixels());
  } else {
    for (std::int64_t h = 0; h < shape_.height; ++h) {
      kernels.transpose(to + h * shape_.padded_w() * row_, row_, from + h * shape_.width, shape_.pixels(),
                        shape_.channels, shape_.width);
    }
  }
  return scratch;
}

ImageWriter::ImageWriter(const ImageShape& shape, bool channels_last, std::int64_t row)
    : shape_(shape),
      channels_last_(channels_last),
      row_(row),
      copies_(!channels_last || shape.is_padded() || row != shape.channels) {}

std::uint64_t ImageWriter::scratch_floats() const {
  return copies_ ? lines(shape_.padded_pixels() * row_) : 0;
}

float* ImageWriter::place(float* data, std::int64_t image, float* scratch) const {
  return copies_ ? scratch : data + image * shape_.elements();
}

void ImageWriter::write(const ConvolutionKernels& kernels, float* data, std::int64_t image,
                        const float* scratch) const {
  if (!copies_) return;
  float* to = data + image * shape_.elements();
  const float* from = scratch + (shape_.top * shape_.padded_w() + shape_.left) * row_;
  if (channels_last_) {
    for (std::int64_t h = 0; h < shape_.height; ++h) {
      for (std::int64_t w = 0; w < shape_.width; ++w) {
        copy(to + (h * shape_.width + w) * shape_.channels, from + (h * shape_.padded_w() + w) * row_, shape_.channels);
      }
    }
  } else if (!shape_.is_padded()) {
    kernels.transpose(to, shape_.pixels(), from, row_, shape_.pixels(), shape_.channels);
  } else {
    for (std::int64_t h = 0; h < shape_.height; ++h) {
      kernels.transpose(to + h * shape_.width, shape_.pixels(), from + h * shape_.padded_w() * row_, row_, shape_.width,
                        shape_.channels);
    }
  }
}

void pack_filter(const ConvolutionKernels& kernels, const FilterShape& shape, const float* filter, float* to) {
  if (shape.depth != shape.c || shape.row != shape.o) clear(to, shape.taps * shape.depth * shape.row);
  for (std::int64_t c = 0; c < shape.c; ++c) {
    kernels.transpose(to + c * shape.row, shape.depth * shape.row, filter + c * shape.taps, shape.c * shape.taps,
                      shape.o, shape.taps);
  }
}

void pack_filter_for_input(const ConvolutionKernels& kernels, const FilterShape& shape, const float* filter,
                           float* to) {
  if (shape.depth != shape.o || shape.row != shape.c) clear(to, shape.taps * shape.depth * shape.row);
  for (std::int64_t o = 0; o < shape.o; ++o) {
    kernels.transpose(to + o * shape.row, shape.depth * shape.row, filter + o * shape.c * shape.taps, shape.taps,
                      shape.c, shape.taps);
  }
}

void unpack_filter(const ConvolutionKernels& kernels, const FilterShape& shape, const float* from, float* filter) {
  for (std::int64_t c = 0; c < shape.c; ++c) {
    kernels.transpose(filter + c * shape.taps, shape.c * shape.taps, from + c * shape.row, shape.depth * shape.row,
                      shape.taps, shape.o);
  }
}

void pair_rows(const ConvolutionKernels& kernels, const float* from, std::int64_t depth, std::int64_t row, float* to) {
  for (std::int64_t k = 0; k < depth; k += 2) {
    kernels.pair_bf16(reinterpret_cast<std::uint16_t*>(to + k / 2 * row), from + k * row, from + (k + 1) * row, row);
  }
}

void pair_channels(const ConvolutionKernels& kernels, const float* from, std::int64_t pixels, std::int64_t channels,
                   float* to) {
  if (channels % 2 == 0) {
    kernels.round_bf16(reinterpret_cast<std::uint16_t*>(to), from, pixels * channels);
    return;
  }
  const std::int64_t units = (channels + 1) / 2;
  clear(to, pixels * units);
  for (std::int64_t p = 0; p < pixels; ++p) {
    kernels.round_bf16(reinterpret_cast<std::uint16_t*>(to + p * units), from + p * channels, channels);
  }
}

}  // namespace thrt::cpu
