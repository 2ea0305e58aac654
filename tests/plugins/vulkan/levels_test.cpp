// Levels against the definition: a command's level is one above the highest level of what it conflicts with, 0 without.
#include "../../../plugins/vulkan/record.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace thrt_vulkan {
namespace {

using Accesses = std::vector<Levels::Access>;

bool overlap(const Place& a, const Place& b) {
  if (a.bytes == 0 || b.bytes == 0) return false;
  return a.space == b.space && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

bool conflict(const Accesses& a, const Accesses& b) {
  for (const Levels::Access& x : a) {
    for (const Levels::Access& y : b) {
      if ((x.written || y.written) && overlap(x.place, y.place)) return true;
    }
  }
  return false;
}

TEST(LevelsTest, AreOneAboveWhatACommandConflictsWith) {
  std::mt19937 random(20240917);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  for (int trial = 0; trial < 200; ++trial) {
    Levels levels;
    std::vector<Accesses> all;
    std::vector<std::uint32_t> given;
    for (int c = 0; c < 60; ++c) {
      Accesses accesses;
      const std::uint64_t count = 1 + below(4);
      for (std::uint64_t i = 0; i < count; ++i) {
        const Place place{static_cast<std::uint32_t>(below(3)), below(100), below(12)};  // some without bytes
        accesses.push_back({place, below(3) == 0});
      }
      std::uint32_t expected = 0;
      for (std::size_t k = 0; k < all.size(); ++k) {
        if (conflict(all[k], accesses)) expected = std::max(expected, given[k] + 1);
      }
      ASSERT_EQ(levels.add(accesses), expected) << "trial " << trial << ", command " << c;
      all.push_back(accesses);
      given.push_back(expected);
    }
  }
}

TEST(LevelsTest, ReadersOfTheSameBytesStandSideBySide) {
  Levels levels;
  const Place x{0, 0, 64}, y{0, 64, 64};
  EXPECT_EQ(levels.add({{x, false}, {y, true}}), 0u);
  EXPECT_EQ(levels.add({{x, false}}), 0u);
  EXPECT_EQ(levels.add({{x, true}}), 1u);   // after those that read it
  EXPECT_EQ(levels.add({{y, false}}), 1u);  // after the one that wrote it
  EXPECT_EQ(levels.add({{x, false}, {y, false}}), 2u);
  levels.clear();
  EXPECT_EQ(levels.add({{x, false}}), 0u);
}

TEST(GridTest, HasARowForEveryGroupAndNoneMore) {
  for (const std::uint32_t row : {1u, 7u, 65535u, 0x7fffffffu, 0xffffffffu}) {
    for (const std::uint32_t groups : {1u, 2u, 6u, 7u, 8u, 65535u, 65536u, 131070u, 131071u, 0x7fffffffu}) {
      const Grid grid = grid_of(groups, row);
      EXPECT_LE(grid.columns, row);
      EXPECT_GE(std::uint64_t{grid.columns} * grid.rows, groups) << groups << " in rows of " << row;
      EXPECT_LT(std::uint64_t{grid.columns} * (grid.rows - 1), groups) << groups << " in rows of " << row;
      EXPECT_EQ(grid.rows == 1, grid.columns == groups);
    }
  }
}

TEST(LevelsTest, ACommandMayReadWhatItWrites) {
  Levels levels;
  const Place x{2, 128, 4};
  for (std::uint32_t i = 0; i < 5; ++i) EXPECT_EQ(levels.add({{x, false}, {x, true}}), i);
}

}  // namespace
}  // namespace thrt_vulkan
