// Which thread does what, and when it has to wait for another: settled before the first launch. List scheduling by the
// longest way to the end (HEFT of Topcuoglu, Hariri and Wu, 2002, for processors of one speed). A schedule says nothing
// about values: whichever lane runs a unit, it computes the same bits.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace thrt::cpu {

// What one thread runs in one go, or several threads at once.
struct Unit {
  double cost = 0;                   // ns, from start to end
  std::vector<std::uint32_t> after;  // earlier units that must be complete
  std::uint32_t together = 0;        // n > 0: on lanes 0 to n - 1, complete when all have ended; 0: on any one lane
};

struct Wait {
  std::uint32_t lane;
  std::uint32_t count;  // of that lane's items, complete
};

struct Item {
  std::uint32_t unit;
  std::vector<Wait> waits;
  bool awaited = false;  // another lane waits for this one
};

struct Schedule {
  std::vector<std::vector<Item>> lanes;  // those that have anything to do, and lane 0
  std::vector<double> start, finish;     // by unit, as estimated, ns
  double makespan = 0;                   // ns
};

// From the end of a unit on one lane until another lane that waits for it goes on, ns: the line with the counter moves
// between two cores, and the data's first lines follow. About 100 on cores that share a third-level cache (Zen 4), more
// over a mesh.
inline constexpr double kHop = 250;

Schedule make_schedule(std::span<const Unit> units, int lanes, double hop = kHop);

// Memory that a step touches. `space` tells apart what cannot overlap: a slot's buffer, the workspace.
struct Extent {
  std::uint32_t space;
  std::uint64_t begin, end;  // in bytes
};

// Finds what has to come before a step from the memory it touches, as steps are told one after another in an order that
// is right for one thread: after the last writers of what it reads, and after the last writers and the readers since of
// what it writes.
class Hazards {
 public:
  // The earlier ids that must be complete before `id` starts; sorted, once each.
  std::vector<std::uint32_t> add(std::uint32_t id, std::span<const Extent> reads, std::span<const Extent> writes);

 private:
  struct Segment {
    std::uint64_t end;
    std::vector<std::uint32_t> writers;  // one at most, kept as a list for the empty case
    std::vector<std::uint32_t> readers;
  };
  using Segments = std::map<std::uint64_t, Segment>;  // by where they begin; without gaps where anything was touched

  template <class Visit>
  void for_each_segment(const Extent& extent, const Visit& visit);

  std::map<std::uint32_t, Segments> spaces_;
};

}  // namespace thrt::cpu
