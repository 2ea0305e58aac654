// Schedules for several threads: nothing runs before what it needs, and nobody waits for ever. Found out by following
// each lane, not from the schedule's own times.
#include "../../../plugins/cpu/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace thrt::cpu {
namespace {

using Edges = std::vector<std::vector<bool>>;

std::vector<Unit> random_units(std::mt19937& random, int lanes) {
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  std::vector<Unit> units(static_cast<std::size_t>(pick(1, 60)));
  for (std::size_t u = 0; u < units.size(); ++u) {
    units[u].cost = pick(0, 3) == 0 ? 0 : pick(50, 5000);
    std::set<std::uint32_t> after;
    for (int i = pick(0, 3); i > 0 && u > 0; --i)
      after.insert(static_cast<std::uint32_t>(pick(0, static_cast<int>(u) - 1)));
    units[u].after.assign(after.begin(), after.end());
    if (lanes > 1 && pick(0, 9) == 0) units[u].together = static_cast<std::uint32_t>(pick(2, lanes));
  }
  return units;
}

// Runs the lanes in a random interleaving that keeps to the waits; false when nothing can go on.
bool follow(const Schedule& schedule, const std::vector<Unit>& units, std::mt19937& random) {
  std::vector<std::size_t> complete(schedule.lanes.size(), 0);
  std::vector<std::uint32_t> left(units.size());
  for (std::size_t u = 0; u < units.size(); ++u) left[u] = std::max(1u, units[u].together);
  const auto may_go = [&](std::size_t lane) {
    if (complete[lane] == schedule.lanes[lane].size()) return false;
    const std::vector<Wait>& waits = schedule.lanes[lane][complete[lane]].waits;
    return std::all_of(waits.begin(), waits.end(), [&](const Wait& wait) { return complete[wait.lane] >= wait.count; });
  };
  for (;;) {
    std::vector<std::size_t> able;
    for (std::size_t lane = 0; lane < complete.size(); ++lane) {
      if (may_go(lane)) able.push_back(lane);
    }
    if (able.empty()) break;
    const std::size_t lane = able[std::uniform_int_distribution<std::size_t>(0, able.size() - 1)(random)];
    const std::uint32_t unit = schedule.lanes[lane][complete[lane]++].unit;
    for (const std::uint32_t before : units[unit].after) {
      EXPECT_EQ(left[before], 0u) << "unit " << unit << " on lane " << lane << " ran before unit " << before;
    }
    --left[unit];
  }
  return std::all_of(left.begin(), left.end(), [](std::uint32_t count) { return count == 0; });
}

TEST(CpuSchedule, KeepsTheOrderAndComesToAnEnd) {
  std::mt19937 random(1);
  for (int round = 0; round < 400; ++round) {
    const int lanes = 1 + round % 4;
    const std::vector<Unit> units = random_units(random, lanes);
    const Schedule schedule = make_schedule(units, lanes, round % 3 == 0 ? 0 : kHop);
    ASSERT_LE(schedule.lanes.size(), static_cast<std::size_t>(lanes));
    for (int order = 0; order < 5; ++order) ASSERT_TRUE(follow(schedule, units, random)) << "round " << round;
    if (HasFailure()) return;
  }
}

// What is waited for must be announced, and every announcement be waited for.
TEST(CpuSchedule, MarksWhatIsAwaited) {
  std::mt19937 random(2);
  for (int round = 0; round < 100; ++round) {
    const Schedule schedule = make_schedule(random_units(random, 3), 3);
    std::set<std::pair<std::size_t, std::size_t>> awaited, marked;
    for (std::size_t lane = 0; lane < schedule.lanes.size(); ++lane) {
      for (std::size_t i = 0; i < schedule.lanes[lane].size(); ++i) {
        for (const Wait& wait : schedule.lanes[lane][i].waits) awaited.emplace(wait.lane, wait.count - 1);
        if (schedule.lanes[lane][i].awaited) marked.emplace(lane, i);
      }
    }
    ASSERT_EQ(awaited, marked);
  }
}

TEST(CpuSchedule, IndependentChainsRunAtOnceAndSmallOnesStayTogether) {
  const auto two_chains = [](double cost) {
    std::vector<Unit> units;
    for (std::uint32_t i = 0; i < 20; ++i)
      units.push_back({cost, i < 2 ? std::vector<std::uint32_t>{} : std::vector{i - 2}, 0});
    units.push_back({cost, {18, 19}, 0});
    return units;
  };
  const Schedule large = make_schedule(two_chains(10'000), 2);
  ASSERT_EQ(large.lanes.size(), 2u);
  EXPECT_LE(large.makespan, 11 * 10'000 + 2 * kHop);
  // A chain has nothing to share.
  std::vector<Unit> chain;
  for (std::uint32_t i = 0; i < 20; ++i)
    chain.push_back({10'000, i == 0 ? std::vector<std::uint32_t>{} : std::vector{i - 1}, 0});
  EXPECT_EQ(make_schedule(chain, 2).lanes.size(), 1u);
}

// Two steps conflict when one writes what the other touches. All conflicts must be ordered, directly or by way of
// others, and nothing else be ordered directly.
TEST(CpuHazards, AreThoseOfComparingAllPairs) {
  std::mt19937 random(3);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int round = 0; round < 200; ++round) {
    struct Step {
      std::vector<Extent> reads, writes;
    };
    std::vector<Step> steps(30);
    Hazards hazards;
    const auto touch = [](const std::vector<Extent>& a, const std::vector<Extent>& b) {
      for (const Extent& x : a) {
        for (const Extent& y : b) {
          const bool empty = x.begin == x.end || y.begin == y.end;
          if (!empty && x.space == y.space && x.begin < y.end && y.begin < x.end) return true;
        }
      }
      return false;
    };
    const auto extents = [&](int most) {
      std::vector<Extent> list;
      for (int i = pick(0, most); i > 0; --i) {
        const auto begin = static_cast<std::uint64_t>(pick(0, 40));
        list.push_back(
            {static_cast<std::uint32_t>(pick(0, 1)), begin, begin + static_cast<std::uint64_t>(pick(0, 12))});
      }
      return list;
    };
    Edges reaches(steps.size(), std::vector<bool>(steps.size()));
    for (std::size_t i = 0; i < steps.size(); ++i) {
      steps[i] = {extents(3), extents(2)};
      for (const std::uint32_t before : hazards.add(static_cast<std::uint32_t>(i), steps[i].reads, steps[i].writes)) {
        ASSERT_LT(before, i);
        ASSERT_TRUE(touch(steps[i].reads, steps[before].writes) || touch(steps[i].writes, steps[before].writes) ||
                    touch(steps[i].writes, steps[before].reads));
        reaches[i][before] = true;
        for (std::size_t k = 0; k < before; ++k) reaches[i][k] = reaches[i][k] || reaches[before][k];
      }
      for (std::size_t k = 0; k < i; ++k) {
        const bool conflict = touch(steps[i].reads, steps[k].writes) || touch(steps[i].writes, steps[k].writes) ||
                              touch(steps[i].writes, steps[k].reads);
        ASSERT_TRUE(!conflict || reaches[i][k]) << i << " after " << k;
      }
    }
  }
}

}  // namespace
}  // namespace thrt::cpu
