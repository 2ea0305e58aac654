#include "loaded_backend.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace thrt::testing {
namespace {

class ReferenceIndex : public ReferenceTest {};
using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;

const Array kGrid = f32({3, 2}, {1, 2, 3, 4, 5, 6});

TEST_F(ReferenceIndex, GatherTakesSlicesAndClamps) {
  EXPECT_EQ(session.op(OpKind::GATHER, {kGrid, i32({4}, {2, 0, -5, 9})}, {0}).as<float>(),
            (Floats{5, 6, 1, 2, 1, 2, 5, 6}));
  EXPECT_EQ(session.op(OpKind::GATHER, {kGrid, i32({2}, {1, 1})}, {1}).as<float>(), (Floats{2, 2, 4, 4, 6, 6}));
  const Array nested = session.op(OpKind::GATHER, {kGrid, i32({1, 2}, {1, 0})}, {0});
  EXPECT_EQ(nested.type.shape, (Shape{1, 2, 2}));
  EXPECT_EQ(nested.as<float>(), (Floats{3, 4, 1, 2}));
  EXPECT_EQ(session.op(OpKind::GATHER, {kGrid, i32({}, {2})}, {0}).as<float>(), (Floats{5, 6}));
}

TEST_F(ReferenceIndex, ScatterAddSumsRepeatsAndDropsStrangers) {
  EXPECT_EQ(
      session.op(OpKind::SCATTER_ADD, {kGrid, i32({4}, {2, 0, 2, 3}), f32({4, 2}, {1, 1, 10, 10, 5, 5, 99, 99})}, {0})
          .as<float>(),
      (Floats{11, 12, 3, 4, 11, 12}));
  EXPECT_EQ(
      session.op(OpKind::SCATTER_ADD, {kGrid, i32({2}, {-1, 1}), f32({3, 2}, {9, 1, 9, 2, 9, 3})}, {1}).as<float>(),
      (Floats{1, 3, 3, 6, 5, 9}));
  EXPECT_EQ(session.op(OpKind::SCATTER_ADD, {i32({1}, {INT32_MAX}), i32({2}, {0, 0}), i32({2}, {1, 1})}, {0})
                .as<std::int32_t>(),
            (Ints{INT32_MIN + 1}));
}

TEST_F(ReferenceIndex, ScatterAddRoundsOnce) {
  // 2^24 + 1 + 1 in f32 steps stays 2^24; the exact sum is 2^24 + 2.
  EXPECT_EQ(
      session.op(OpKind::SCATTER_ADD, {f32({1}, {16777216}), i32({2}, {0, 0}), f32({2}, {1, 1})}, {0}).as<float>(),
      (Floats{16777218}));
}

TEST_F(ReferenceIndex, DynamicSliceClampsItsStart) {
  EXPECT_EQ(session.op(OpKind::DYNAMIC_SLICE, {kGrid, i32({2}, {1, 0})}, {2, 1}).as<float>(), (Floats{3, 5}));
  EXPECT_EQ(session.op(OpKind::DYNAMIC_SLICE, {kGrid, i32({2}, {7, -3})}, {2, 1}).as<float>(), (Floats{3, 5}));
  EXPECT_EQ(session.op(OpKind::DYNAMIC_SLICE, {kGrid, i32({2}, {0, 0})}, {3, 2}).as<float>(), kGrid.as<float>());
}

TEST_F(ReferenceIndex, DynamicUpdateSliceClampsItsStart) {
  const Array update = f32({1, 2}, {8, 9});
  EXPECT_EQ(session.op(OpKind::DYNAMIC_UPDATE_SLICE, {kGrid, update, i32({2}, {1, 0})}).as<float>(),
            (Floats{1, 2, 8, 9, 5, 6}));
  EXPECT_EQ(session.op(OpKind::DYNAMIC_UPDATE_SLICE, {kGrid, update, i32({2}, {100, 1})}).as<float>(),
            (Floats{1, 2, 3, 4, 8, 9}));
}

TEST_F(ReferenceIndex, UpdatesAStateInPlace) {
  ProgramBuilder program;
  const std::uint32_t ring = program.input("ring", {DType::kF32, {4}});
  const std::uint32_t at = program.input("at", {DType::kI32, {1}});
  const std::uint32_t x = program.input("x", {DType::kF32, {2}});
  program.state_output(0, program.op(OpKind::DYNAMIC_UPDATE_SLICE, {ring, x, at}));
  const auto out =
      session.run(program.build(), {{"ring", f32({4}, {1, 2, 3, 4})}, {"at", i32({1}, {1})}, {"x", f32({2}, {7, 8})}});
  EXPECT_EQ(out.at("ring").as<float>(), (Floats{1, 7, 8, 4}));
}

}  // namespace
}  // namespace thrt::testing
