#include "loaded_backend.hpp"

#include <thrt/ir/float16.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace thrt::testing {
namespace {

using Doubles = std::vector<double>;

class ReferenceLinear : public ReferenceTest {
 protected:
  Array random_array(const Shape& shape) {
    Doubles values;
    for (std::int64_t i = 0; i < shape.elements(); ++i) values.push_back(uniform(random));
    return f64(shape, values);
  }
  std::mt19937 random{11};
  std::uniform_real_distribution<double> uniform{-1, 1};
};

double dot(const Array& a, const Array& b) {
  const Doubles x = a.as<double>(), y = b.as<double>();
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

TEST_F(ReferenceLinear, MatmulByHand) {
  const Array a = f64({2, 3}, {1, 2, 3, 4, 5, 6}), b = f64({3, 2}, {7, 8, 9, 10, 11, 12});
  EXPECT_EQ(session.op(OpKind::MATMUL, {a, b}, {0, 0}).as<double>(), (Doubles{58, 64, 139, 154}));
  const Array at = session.op(OpKind::TRANSPOSE, {a}, {1, 0}), bt = session.op(OpKind::TRANSPOSE, {b}, {1, 0});
  EXPECT_EQ(session.op(OpKind::MATMUL, {at, b}, {1, 0}).as<double>(), (Doubles{58, 64, 139, 154}));
  EXPECT_EQ(session.op(OpKind::MATMUL, {a, bt}, {0, 1}).as<double>(), (Doubles{58, 64, 139, 154}));
  EXPECT_EQ(session.op(OpKind::MATMUL, {at, bt}, {1, 1}).as<double>(), (Doubles{58, 64, 139, 154}));
}

TEST_F(ReferenceLinear, MatmulInBatches) {
  const Array a = random_array({2, 3, 2, 4}), b = random_array({2, 3, 4, 5});
  const Doubles y = session.op(OpKind::MATMUL, {a, b}, {0, 0}).as<double>();
  const Doubles x = a.as<double>(), w = b.as<double>();
  for (std::size_t n = 0; n < 6; ++n) {
    for (std::size_t r = 0; r < 2; ++r) {
      for (std::size_t c = 0; c < 5; ++c) {
        double sum = 0;
        for (std::size_t k = 0; k < 4; ++k) sum += x[(n * 2 + r) * 4 + k] * w[(n * 4 + k) * 5 + c];
        EXPECT_NEAR(y[(n * 2 + r) * 5 + c], sum, 1e-14);
      }
    }
  }
}

TEST_F(ReferenceLinear, MatmulOverNothingIsZero) {
  EXPECT_EQ(session.op(OpKind::MATMUL, {f32({2, 0}, {}), f32({0, 1}, {})}, {0, 0}).as<float>(),
            (std::vector<float>{0, 0}));
}

TEST_F(ReferenceLinear, MatmulSumsWideAndRoundsOnce) {
  const Array row = f32({1, 3}, {16777216, 1, 1}), ones = f32({3, 1}, {1, 1, 1});
  EXPECT_EQ(session.op(OpKind::MATMUL, {row, ones}, {0, 0}).as<float>()[0], 16777218.0f);
  const std::vector<std::uint16_t> one_half(2048, ir::f32_to_f16(1.0f));  // f16 itself cannot count beyond 2048
  const Array a = array(DType::kF16, {1, 2048}, one_half), b = array(DType::kF16, {2048, 1}, one_half);
  EXPECT_EQ(session.op(OpKind::MATMUL, {a, b}, {0, 0}).as<std::uint16_t>()[0], ir::f32_to_f16(2048.0f));
}

TEST_F(ReferenceLinear, ConvolutionByHand) {
  // A 3 x 3 image, a 2 x 2 filter, no padding: four sums by hand.
  const Array x = f64({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), filter = f64({1, 1, 2, 2}, {1, 10, 100, 1000});
  EXPECT_EQ(session.op(OpKind::CONV2D, {x, filter}, {1, 1, 0, 0, 0, 0}).as<double>(),
            (Doubles{5421, 6532, 8754, 9865}));
  // One row of zeros on top and one column on the left, stride 2.
  EXPECT_EQ(session.op(OpKind::CONV2D, {x, filter}, {2, 2, 1, 0, 1, 0}).as<double>(),
            (Doubles{1000, 3200, 7040, 9865}));
}

struct Geometry {
  Shape x, filter;
  std::vector<std::int64_t> attributes;
};
const std::vector<Geometry> kGeometries = {
    {{2, 3, 7, 6}, {4, 3, 3, 2}, {1, 1, 0, 0, 0, 0}},
    {{1, 2, 8, 9}, {3, 2, 3, 4}, {2, 3, 1, 2, 0, 1}},
    {{2, 1, 5, 5}, {2, 1, 5, 1}, {3, 2, 2, 1, 1, 2}},
    {{1, 1, 6, 6}, {1, 1, 2, 2}, {4, 4, 0, 0, 0, 0}},  // rows that no window reads
};

// Padded by hand, then the definition with plain indices: another way than the backend's.
Doubles naive_conv(const Array& x, const Array& filter, const std::vector<std::int64_t>& a, const Shape& out) {
  const Shape& xs = x.type.shape;
  const Shape& fs = filter.type.shape;
  const std::int64_t ph = xs[2] + a[2] + a[3], pw = xs[3] + a[4] + a[5];
  const Doubles xv = x.as<double>(), fv = filter.as<double>();
  Doubles padded(static_cast<std::size_t>(xs[0] * xs[1] * ph * pw), 0.0);
  for (std::int64_t nc = 0; nc < xs[0] * xs[1]; ++nc) {
    for (std::int64_t h = 0; h < xs[2]; ++h) {
      for (std::int64_t w = 0; w < xs[3]; ++w) {
        padded[static_cast<std::size_t>((nc * ph + h + a[2]) * pw + w + a[4])] =
            xv[static_cast<std::size_t>((nc * xs[2] + h) * xs[3] + w)];
      }
    }
  }
  Doubles y;
  for (std::int64_t n = 0; n < out[0]; ++n) {
    for (std::int64_t o = 0; o < out[1]; ++o) {
      for (std::int64_t p = 0; p < out[2]; ++p) {
        for (std::int64_t q = 0; q < out[3]; ++q) {
          double sum = 0;
          for (std::int64_t k = 0; k < fs[1] * fs[2] * fs[3]; ++k) {
            const std::int64_t c = k / (fs[2] * fs[3]), i = k / fs[3] % fs[2], j = k % fs[3];
            sum += padded[static_cast<std::size_t>(((n * xs[1] + c) * ph + p * a[0] + i) * pw + q * a[1] + j)] *
                   fv[static_cast<std::size_t>(o * fs[1] * fs[2] * fs[3] + k)];
          }
          y.push_back(sum);
        }
      }
    }
  }
  return y;
}

TEST_F(ReferenceLinear, ConvolutionEqualsItsDefinition) {
  for (const Geometry& g : kGeometries) {
    const Array x = random_array(g.x), filter = random_array(g.filter);
    const Array y = session.op(OpKind::CONV2D, {x, filter}, g.attributes);
    const Doubles wanted = naive_conv(x, filter, g.attributes, y.type.shape);
    const Doubles got = y.as<double>();
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-13);
  }
}

// The convolution is linear in each operand, so a difference quotient with step 1 is exact but for rounding.
TEST_F(ReferenceLinear, ConvolutionGradientsEqualDifferences) {
  for (const Geometry& g : kGeometries) {
    const Array x = random_array(g.x), filter = random_array(g.filter);
    const Array y = session.op(OpKind::CONV2D, {x, filter}, g.attributes);
    const Array dy = random_array(y.type.shape);
    const Doubles dx = session.op(OpKind::CONV2D_GRAD_INPUT, {dy, filter}, g.attributes, x.type).as<double>();
    const Doubles df = session.op(OpKind::CONV2D_GRAD_FILTER, {dy, x}, g.attributes, filter.type).as<double>();
    const double base = dot(y, dy);
    for (std::size_t i = 0; i < dx.size(); ++i) {
      Doubles moved = x.as<double>();
      moved[i] += 1;
      const Array y2 = session.op(OpKind::CONV2D, {f64(g.x, moved), filter}, g.attributes);
      ASSERT_NEAR(dx[i], dot(y2, dy) - base, 1e-12) << i;
    }
    for (std::size_t i = 0; i < df.size(); ++i) {
      Doubles moved = filter.as<double>();
      moved[i] += 1;
      const Array y2 = session.op(OpKind::CONV2D, {x, f64(g.filter, moved)}, g.attributes);
      ASSERT_NEAR(df[i], dot(y2, dy) - base, 1e-12) << i;
    }
  }
}

}  // namespace
}  // namespace thrt::testing
