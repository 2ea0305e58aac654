// Matrix products and convolutions, summed in double.
#include "kernel.hpp"

#include <algorithm>

namespace thrt::reference {

template <>
void kernel<OpKind::MATMUL>(const Call& call) {
  const Shape& a = call.in(0).type.shape;
  const Shape& y = call.out().type.shape;
  const bool transpose_a = call.attributes[0] == 1, transpose_b = call.attributes[1] == 1;
  const int rank = y.rank();
  const std::int64_t rows = y[rank - 2], columns = y[rank - 1], inner = a[transpose_a ? rank - 2 : rank - 1];
  std::int64_t batches = 1;
  for (int d = 0; d < rank - 2; ++d) batches *= y[d];
  with_float(call.out().type.dtype, [&](auto type) {
    using Stored = decltype(type);
    for (std::int64_t n = 0; n < batches; ++n) {
      const Stored* left = elements<Stored>(call.in(0)) + n * rows * inner;
      const Stored* right = elements<Stored>(call.in(1)) + n * inner * columns;
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < columns; ++c) {
          double sum = 0;
          for (std::int64_t k = 0; k < inner; ++k) {
            sum += widen(left[transpose_a ? k * rows + r : r * inner + k]) *
                   widen(right[transpose_b ? c * inner + k : k * columns + c]);
          }
          elements<Stored>(call.out())[(n * rows + r) * columns + c] = narrow<Stored>(sum);
        }
      }
    }
  });
}

namespace {

// The geometry of y = conv2d(x, filter), and which taps of the filter meet which elements.
struct Convolution {
  std::int64_t images, channels, height, width;  // x [N, C, H, W]
  std::int64_t outputs, kernel_h, kernel_w;      // filter [O, C, KH, KW]
  std::int64_t out_h, out_w;                     // y [N, O, OH, OW]
  std::int64_t stride_h, stride_w, top, left;

  Convolution(const Shape& x, const Shape& filter, const Shape& y, const std::vector<std::int64_t>& attributes)
      : images(x[0]),
        channels(x[1]),
        height(x[2]),
        width(x[3]),
        outputs(filter[0]),
        kernel_h(filter[2]),
        kernel_w(filter[3]),
        out_h(y[2]),
        out_w(y[3]),
        stride_h(attributes[0]),
        stride_w(attributes[1]),
        top(attributes[2]),
        left(attributes[4]) {}

  std::int64_t x_at(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) const {
    return ((n * channels + c) * height + h) * width + w;
  }
  std::int64_t filter_at(std::int64_t o, std::int64_t c, std::int64_t i, std::int64_t j) const {
    return ((o * channels + c) * kernel_h + i) * kernel_w + j;
  }
  std::int64_t y_at(std::int64_t n, std::int64_t o, std::int64_t p, std::int64_t q) const {
    return ((n * outputs + o) * out_h + p) * out_w + q;
  }
  // The row and column of x that output (p, q) reads through tap (i, j); outside x they read zero.
  std::int64_t row(std::int64_t p, std::int64_t i) const { return p * stride_h - top + i; }
  std::int64_t column(std::int64_t q, std::int64_t j) const { return q * stride_w - left + j; }
  bool inside(std::int64_t h, std::int64_t w) const { return h >= 0 && h < height && w >= 0 && w < width; }
};

template <typename Stored>
double value(const Tensor& tensor, std::int64_t at) {
  return widen(elements<Stored>(tensor)[at]);
}

template <typename Stored>
double conv2d_element(const Call& call, const Convolution& g, std::int64_t n, std::int64_t o, std::int64_t p,
                      std::int64_t q) {
  double sum = 0;
  for (std::int64_t c = 0; c < g.channels; ++c) {
    for (std::int64_t i = 0; i < g.kernel_h; ++i) {
      for (std::int64_t j = 0; j < g.kernel_w; ++j) {
        const std::int64_t h = g.row(p, i), w = g.column(q, j);
        if (!g.inside(h, w)) continue;
        sum += value<Stored>(call.in(0), g.x_at(n, c, h, w)) * value<Stored>(call.in(1), g.filter_at(o, c, i, j));
      }
    }
  }
  return sum;
}

// dx[n,c,h,w]: every output and tap that read this element.
template <typename Stored>
double grad_input_element(const Call& call, const Convolution& g, std::int64_t n, std::int64_t c, std::int64_t h,
                          std::int64_t w) {
  double sum = 0;
  for (std::int64_t o = 0; o < g.outputs; ++o) {
    for (std::int64_t i = 0; i < g.kernel_h; ++i) {
      for (std::int64_t j = 0; j < g.kernel_w; ++j) {
        const std::int64_t down = h + g.top - i, right = w + g.left - j;  // = p * stride_h, q * stride_w
        if (down < 0 || right < 0 || down % g.stride_h != 0 || right % g.stride_w != 0) continue;
        const std::int64_t p = down / g.stride_h, q = right / g.stride_w;
        if (p >= g.out_h || q >= g.out_w) continue;
        sum += value<Stored>(call.in(0), g.y_at(n, o, p, q)) * value<Stored>(call.in(1), g.filter_at(o, c, i, j));
      }
    }
  }
  return sum;
}

// dfilter[o,c,i,j]: every image and output that used this tap.
template <typename Stored>
double grad_filter_element(const Call& call, const Convolution& g, std::int64_t o, std::int64_t c, std::int64_t i,
                           std::int64_t j) {
  double sum = 0;
  for (std::int64_t n = 0; n < g.images; ++n) {
    for (std::int64_t p = 0; p < g.out_h; ++p) {
      for (std::int64_t q = 0; q < g.out_w; ++q) {
        const std::int64_t h = g.row(p, i), w = g.column(q, j);
        if (!g.inside(h, w)) continue;
        sum += value<Stored>(call.in(0), g.y_at(n, o, p, q)) * value<Stored>(call.in(1), g.x_at(n, c, h, w));
      }
    }
  }
  return sum;
}

}  // namespace

template <>
void kernel<OpKind::CONV2D>(const Call& call) {
  const Convolution g(call.in(0).type.shape, call.in(1).type.shape, call.out().type.shape, call.attributes);
  with_float(call.out().type.dtype, [&](auto type) {
    using Stored = decltype(type);
    for_each_index(call.out().type.shape, [&](const auto& index, std::int64_t flat) {
      elements<Stored>(call.out())[flat] =
          narrow<Stored>(conv2d_element<Stored>(call, g, index[0], index[1], index[2], index[3]));
    });
  });
}

template <>
void kernel<OpKind::CONV2D_GRAD_INPUT>(const Call& call) {
  const Convolution g(call.out().type.shape, call.in(1).type.shape, call.in(0).type.shape, call.attributes);
  with_float(call.out().type.dtype, [&](auto type) {
    using Stored = decltype(type);
    for_each_index(call.out().type.shape, [&](const auto& index, std::int64_t flat) {
      elements<Stored>(call.out())[flat] =
          narrow<Stored>(grad_input_element<Stored>(call, g, index[0], index[1], index[2], index[3]));
    });
  });
}

template <>
void kernel<OpKind::CONV2D_GRAD_FILTER>(const Call& call) {
  const Convolution g(call.in(1).type.shape, call.out().type.shape, call.in(0).type.shape, call.attributes);
  with_float(call.out().type.dtype, [&](auto type) {
    using Stored = decltype(type);
    for_each_index(call.out().type.shape, [&](const auto& index, std::int64_t flat) {
      elements<Stored>(call.out())[flat] =
          narrow<Stored>(grad_filter_element<Stored>(call, g, index[0], index[1], index[2], index[3]));
    });
  });
}

}  // namespace thrt::reference
