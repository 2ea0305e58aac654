#include "loaded_backend.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

namespace thrt::testing {
namespace {

class ReferenceMovement : public ReferenceTest {};
using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;

Array counting(const Shape& shape) {
  Ints values(static_cast<std::size_t>(shape.elements()));
  std::iota(values.begin(), values.end(), 0);
  return i32(shape, values);
}

TEST_F(ReferenceMovement, BroadcastAlongNewAndUnitAxes) {
  const Array row = f32({3}, {1, 2, 3});
  EXPECT_EQ(session.op(OpKind::BROADCAST, {row}, {1}, Type{DType::kF32, {2, 3}}).as<float>(),
            (Floats{1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(session.op(OpKind::BROADCAST, {row}, {0}, Type{DType::kF32, {3, 2}}).as<float>(),
            (Floats{1, 1, 2, 2, 3, 3}));
  const Array column = f32({2, 1}, {5, 6});
  EXPECT_EQ(session.op(OpKind::BROADCAST, {column}, {0, 2}, Type{DType::kF32, {2, 2, 3}}).as<float>(),
            (Floats{5, 5, 5, 5, 5, 5, 6, 6, 6, 6, 6, 6}));
  EXPECT_EQ(session.op(OpKind::BROADCAST, {f32({}, {7})}, {}, Type{DType::kF32, {2}}).as<float>(), (Floats{7, 7}));
  EXPECT_EQ(session.op(OpKind::BROADCAST, {f32({}, {7})}, {}, Type{DType::kF32, {0, 2}}).bytes.size(), 0u);
}

TEST_F(ReferenceMovement, ReshapeKeepsTheOrder) {
  EXPECT_EQ(session.op(OpKind::RESHAPE, {counting({2, 3})}, {}, Type{DType::kI32, {3, 1, 2}}).as<std::int32_t>(),
            (Ints{0, 1, 2, 3, 4, 5}));
}

TEST_F(ReferenceMovement, Transpose) {
  EXPECT_EQ(session.op(OpKind::TRANSPOSE, {counting({2, 3})}, {1, 0}).as<std::int32_t>(), (Ints{0, 3, 1, 4, 2, 5}));
  // numpy.arange(12).reshape(2, 3, 2).transpose(1, 2, 0)
  EXPECT_EQ(session.op(OpKind::TRANSPOSE, {counting({2, 3, 2})}, {1, 2, 0}).as<std::int32_t>(),
            (Ints{0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11}));
}

TEST_F(ReferenceMovement, Slice) {
  // numpy.arange(20).reshape(4, 5)[1:4:2, 0:5:3]
  EXPECT_EQ(session.op(OpKind::SLICE, {counting({4, 5})}, {1, 0, 2, 2, 2, 3}).as<std::int32_t>(), (Ints{5, 8, 15, 18}));
  EXPECT_EQ(session.op(OpKind::SLICE, {counting({4})}, {4, 0, 1}).bytes.size(), 0u);
}

TEST_F(ReferenceMovement, PadAroundAndBetween) {
  const Array value = i32({}, {9});
  EXPECT_EQ(session.op(OpKind::PAD, {i32({3}, {1, 2, 3}), value}, {1, 2, 1}).as<std::int32_t>(),
            (Ints{9, 1, 9, 2, 9, 3, 9, 9}));
  EXPECT_EQ(session.op(OpKind::PAD, {i32({2, 2}, {1, 2, 3, 4}), value}, {0, 1, 1, 0, 1, 0}).as<std::int32_t>(),
            (Ints{9, 1, 2, 9, 9, 9, 9, 3, 4, 9, 9, 9}));
  EXPECT_EQ(session.op(OpKind::PAD, {i32({0}, {}), value}, {1, 1, 5}).as<std::int32_t>(), (Ints{9, 9}));
}

TEST_F(ReferenceMovement, Concat) {
  EXPECT_EQ(session.op(OpKind::CONCAT, {i32({2, 1}, {1, 2}), i32({2, 2}, {3, 4, 5, 6}), i32({2, 0}, {})}, {1})
                .as<std::int32_t>(),
            (Ints{1, 3, 4, 2, 5, 6}));
  EXPECT_EQ(session.op(OpKind::CONCAT, {i32({1, 2}, {1, 2}), i32({2, 2}, {3, 4, 5, 6})}, {0}).as<std::int32_t>(),
            (Ints{1, 2, 3, 4, 5, 6}));
}

TEST_F(ReferenceMovement, MovesEveryDType) {
  for (const DType dtype : ir::kAllDTypes) {
    Array x{{dtype, {2, 3}}, {}};
    const auto size = static_cast<std::size_t>(ir::dtype_size(dtype));
    for (std::size_t i = 0; i < 6 * size; ++i)
      x.bytes.push_back(static_cast<std::byte>(i % size == 0 ? i / size % 2 : 0));
    const Array turned = session.op(OpKind::TRANSPOSE, {session.op(OpKind::TRANSPOSE, {x}, {1, 0})}, {1, 0});
    EXPECT_EQ(turned.bytes, x.bytes) << ir::dtype_name(dtype);
  }
}

TEST_F(ReferenceMovement, Iota) {
  EXPECT_EQ(session.op(OpKind::IOTA, {}, {1}, Type{DType::kI32, {2, 3}}).as<std::int32_t>(), (Ints{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(session.op(OpKind::IOTA, {}, {0}, Type{DType::kF32, {3, 2}}).as<float>(), (Floats{0, 0, 1, 1, 2, 2}));
}

}  // namespace
}  // namespace thrt::testing
