#include "loaded_backend.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace thrt::testing {
namespace {

class ReferenceReduce : public ReferenceTest {};
using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();
const Array kGrid = f32({2, 3}, {1, 5, 3, 4, 2, 6});

TEST_F(ReferenceReduce, SumsOverAxes) {
  EXPECT_EQ(session.op(OpKind::REDUCE_SUM, {kGrid}, {0}).as<float>(), (Floats{5, 7, 9}));
  EXPECT_EQ(session.op(OpKind::REDUCE_SUM, {kGrid}, {1}).as<float>(), (Floats{9, 12}));
  EXPECT_EQ(session.op(OpKind::REDUCE_SUM, {kGrid}, {0, 1}).as<float>(), (Floats{21}));
  EXPECT_EQ(session.op(OpKind::REDUCE_SUM, {kGrid}, {}).as<float>(), kGrid.as<float>());
  Ints numbers(24);
  std::iota(numbers.begin(), numbers.end(), 0);
  // numpy.arange(24).reshape(2, 3, 4).sum((0, 2))
  EXPECT_EQ(session.op(OpKind::REDUCE_SUM, {i32({2, 3, 4}, numbers)}, {0, 2}).as<std::int32_t>(), (Ints{60, 92, 124}));
}

TEST_F(ReferenceReduce, SumsAreWideAndWrap) {
  EXPECT_EQ(session.op(OpKind::REDUCE_SUM, {f32({4}, {16777216, 1, 1, -16777216})}, {0}).as<float>(), (Floats{2}));
  EXPECT_EQ(session.op(OpKind::REDUCE_SUM, {i32({2}, {INT32_MAX, 1})}, {0}).as<std::int32_t>(), (Ints{INT32_MIN}));
}

TEST_F(ReferenceReduce, NothingReducesToTheNeutralElement) {
  EXPECT_EQ(session.op(OpKind::REDUCE_SUM, {f32({0, 2}, {})}, {0}).as<float>(), (Floats{0, 0}));
  EXPECT_EQ(session.op(OpKind::REDUCE_MAX, {f32({0, 2}, {})}, {0}).as<float>(), (Floats{-kInf, -kInf}));
  EXPECT_EQ(session.op(OpKind::REDUCE_MAX, {i32({0}, {})}, {0}).as<std::int32_t>(), (Ints{INT32_MIN}));
  EXPECT_EQ(session.op(OpKind::REDUCE_MAX, {u32({0}, {})}, {0}).as<std::uint32_t>()[0], 0u);
  EXPECT_EQ(session.op(OpKind::REDUCE_SUM, {f32({2, 0}, {})}, {0}).bytes.size(), 0u);
}

TEST_F(ReferenceReduce, MaximaLetNanThrough) {
  EXPECT_EQ(session.op(OpKind::REDUCE_MAX, {kGrid}, {1}).as<float>(), (Floats{5, 6}));
  EXPECT_EQ(session.op(OpKind::REDUCE_MAX, {f32({2}, {-3, -4})}, {0}).as<float>(), (Floats{-3}));
  for (const auto& row : {Floats{1, kNan, 3}, Floats{kNan, 1, 3}, Floats{1, 3, kNan}}) {
    EXPECT_TRUE(std::isnan(session.op(OpKind::REDUCE_MAX, {f32({3}, row)}, {0}).as<float>()[0]));
  }
}

TEST_F(ReferenceReduce, ArgmaxTakesTheFirst) {
  EXPECT_EQ(session.op(OpKind::ARGMAX, {kGrid}, {1}).as<std::int32_t>(), (Ints{1, 2}));
  EXPECT_EQ(session.op(OpKind::ARGMAX, {kGrid}, {0}).as<std::int32_t>(), (Ints{1, 0, 1}));
  EXPECT_EQ(session.op(OpKind::ARGMAX, {f32({4}, {1, 7, 7, 2})}, {0}).as<std::int32_t>(), (Ints{1}));
  EXPECT_EQ(session.op(OpKind::ARGMAX, {f32({4}, {1, kNan, kInf, kNan})}, {0}).as<std::int32_t>(), (Ints{1}));
}

TEST_F(ReferenceReduce, ArgsortIsStableWithNanLast) {
  EXPECT_EQ(session.op(OpKind::ARGSORT, {f32({7}, {3, kNan, 1, 3, -kInf, kNan, kInf})}, {0}).as<std::int32_t>(),
            (Ints{4, 2, 0, 3, 6, 1, 5}));
  EXPECT_EQ(session.op(OpKind::ARGSORT, {f32({2}, {0.0f, -0.0f})}, {0}).as<std::int32_t>(), (Ints{0, 1}));
  EXPECT_EQ(session.op(OpKind::ARGSORT, {kGrid}, {0}).as<std::int32_t>(), (Ints{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(session.op(OpKind::ARGSORT, {u32({3}, {0x80000000u, 1, 0})}, {0}).as<std::int32_t>(), (Ints{2, 1, 0}));
}

TEST_F(ReferenceReduce, ArgsortEqualsTheStandardLibrarys) {
  std::mt19937 random(5);
  for (const std::int64_t length : {0, 1, 2, 3, 64, 1000, 1023}) {
    Ints values;
    for (std::int64_t i = 0; i < length; ++i) values.push_back(static_cast<std::int32_t>(random() % 50));
    Ints wanted(values.size());
    std::iota(wanted.begin(), wanted.end(), 0);
    std::stable_sort(wanted.begin(), wanted.end(), [&](std::int32_t a, std::int32_t b) {
      return values[static_cast<std::size_t>(a)] < values[static_cast<std::size_t>(b)];
    });
    EXPECT_EQ(session.op(OpKind::ARGSORT, {i32({length}, values)}, {0}).as<std::int32_t>(), wanted);
  }
}

}  // namespace
}  // namespace thrt::testing
