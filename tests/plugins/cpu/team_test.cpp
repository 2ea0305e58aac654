// The threads of a context: each job runs once on each lane, failures come back, sleeping and waking lose nothing.
#include "../../../plugins/cpu/team.hpp"
#include "../../../plugins/cpu/lanes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

namespace thrt::cpu {
namespace {

// Longer than any thread looks for work before it sleeps.
constexpr std::chrono::milliseconds kLong{5};

// Counters that only one thread at a time may touch if the order is kept: a chain that goes from lane to lane.
class Relay {
 public:
  explicit Relay(int lanes, int length = 12) {
    std::vector<Unit> units;
    Schedule schedule;
    schedule.lanes.resize(static_cast<std::size_t>(lanes));
    tasks_.reserve(static_cast<std::size_t>(length));
    for (int i = 0; i < length; ++i) {
      const auto lane = static_cast<std::size_t>(i % lanes);
      Item item{static_cast<std::uint32_t>(i), {}, true};
      if (i > 0) {
        const int before = i - 1;
        item.waits.push_back(
            {static_cast<std::uint32_t>(before % lanes), static_cast<std::uint32_t>(before / lanes + 1)});
      }
      schedule.lanes[lane].push_back(item);
      tasks_.emplace_back([this, i] {
        in_order_ = in_order_ && next_ == i;
        ++next_;
        ++total_;
        if (i == fails_at || i == fails_too_at) throw std::runtime_error("unit " + std::to_string(i));
      });
    }
    std::vector<std::vector<const Task*>> tasks;
    for (const Task& task : tasks_) tasks.push_back({&task});
    lanes_ = std::make_unique<Lanes>(schedule, tasks);
  }

  void run(Team& team) {
    next_ = 0;
    run_together(*lanes_, team);
  }
  long total() const { return total_; }
  bool in_order() const { return in_order_; }

  int fails_at = -1, fails_too_at = -1;

 private:
  std::vector<Task> tasks_;
  std::unique_ptr<Lanes> lanes_;
  int next_ = 0;
  long total_ = 0;
  bool in_order_ = true;
};

TEST(CpuTeam, RunsManyLaunches) {
  for (const int lanes : {2, 3}) {
    Team team(lanes);
    team.grow_to(lanes);
    Relay relay(lanes);
    for (int i = 0; i < 2000; ++i) relay.run(team);
    EXPECT_EQ(relay.total(), 2000 * 12);
    EXPECT_TRUE(relay.in_order());
  }
}

TEST(CpuTeam, SleepsAndWakes) {
  Team team(2);
  team.grow_to(2);
  Relay relay(2);
  for (int i = 0; i < 10; ++i) {
    for (int deadline = 0; deadline < 1000 && team.is_awake(2); ++deadline) std::this_thread::sleep_for(kLong);
    ASSERT_FALSE(team.is_awake(2));
    if (i % 2 == 0) team.wake(2);
    relay.run(team);
  }
  EXPECT_EQ(relay.total(), 10 * 12);
  EXPECT_TRUE(relay.in_order());
}

TEST(CpuTeam, WakingIsNoJob) {
  Team team(3);
  team.grow_to(3);
  Relay relay(3);
  for (int i = 0; i < 300; ++i) {
    team.wake(3);
    team.wake(3);
    relay.run(team);
    team.wake(2);
  }
  EXPECT_EQ(relay.total(), 300 * 12);
  EXPECT_TRUE(relay.in_order());
}

TEST(CpuTeam, MoreThreadsThanProcessorsComeToAnEnd) {
  const int lanes = 4 * static_cast<int>(std::max(2u, std::thread::hardware_concurrency()));
  Team team(lanes);
  team.grow_to(lanes);
  Relay relay(lanes, 3 * lanes);
  for (int i = 0; i < 20; ++i) relay.run(team);
  EXPECT_EQ(relay.total(), 20 * 3 * lanes);
  EXPECT_TRUE(relay.in_order());
}

std::string failure_of(Relay& relay, Team& team) {
  try {
    relay.run(team);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(CpuTeam, TheFirstFailureComesBackAndTheNextRunIsWhole) {
  Team team(2);
  team.grow_to(2);
  Relay relay(2);
  relay.fails_at = 7;  // on lane 1
  EXPECT_EQ(failure_of(relay, team), "unit 7");
  relay.fails_too_at = 4;  // on lane 0
  EXPECT_EQ(failure_of(relay, team), "unit 4");
  relay.fails_at = relay.fails_too_at = -1;
  EXPECT_EQ(failure_of(relay, team), "");
  EXPECT_EQ(relay.total(), 3 * 12);
  EXPECT_TRUE(relay.in_order());
}

TEST(CpuTeam, IsDestroyedUnusedIdleAndAsleep) {
  { Team unused(4); }
  {
    Team idle(4);
    idle.grow_to(4);
  }
  {
    Team worked(2);
    worked.grow_to(2);
    Relay(2).run(worked);
  }
  Team asleep(2);
  asleep.grow_to(2);
  std::this_thread::sleep_for(kLong);
}

TEST(CpuTeam, TwoContextsFromTwoThreads) {
  const auto work = [](long& total, bool& in_order) {
    Team team(2);
    team.grow_to(2);
    Relay relay(2);
    for (int i = 0; i < 500; ++i) relay.run(team);
    total = relay.total();
    in_order = relay.in_order();
  };
  long total[2] = {};
  bool in_order[2] = {};
  std::thread other([&] { work(total[1], in_order[1]); });
  work(total[0], in_order[0]);
  other.join();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(total[i], 500 * 12);
    EXPECT_TRUE(in_order[i]);
  }
}

}  // namespace
}  // namespace thrt::cpu
