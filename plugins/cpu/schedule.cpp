#include "schedule.hpp"

#include <algorithm>
#include <queue>
#include <utility>

namespace thrt::cpu {
namespace {

// A longest way shorter than this by rounding is not shorter.
struct ByUrgency {
  const std::vector<double>& rank;
  bool operator()(std::uint32_t a, std::uint32_t b) const { return rank[a] != rank[b] ? rank[a] < rank[b] : a > b; }
};

class Scheduler {
 public:
  Scheduler(std::span<const Unit> units, int lanes, double hop)
      : units_(units),
        hop_(hop),
        lanes_(static_cast<std::size_t>(lanes)),
        free_at_(lanes_, 0),
        place_(units.size()),
        known_(lanes_, std::vector<std::uint32_t>(lanes_, 0)),
        known_at_(units.size()) {
    schedule_.lanes.resize(lanes_);
    schedule_.start.resize(units.size());
    schedule_.finish.resize(units.size());
  }

  Schedule run() {
    rank_units();
    std::vector<std::uint32_t> waits_for(units_.size());
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, ByUrgency> ready(ByUrgency{rank_});
    for (std::uint32_t u = 0; u < units_.size(); ++u) {
      waits_for[u] = static_cast<std::uint32_t>(units_[u].after.size());
      if (waits_for[u] == 0) ready.push(u);
    }
    while (!ready.empty()) {
      const std::uint32_t unit = ready.top();
      ready.pop();
      if (units_[unit].together > 0) {
        place_together(unit);
      } else {
        place(unit);
      }
      for (const std::uint32_t next : next_[unit]) {
        if (--waits_for[next] == 0) ready.push(next);
      }
    }
    while (schedule_.lanes.size() > 1 && schedule_.lanes.back().empty()) schedule_.lanes.pop_back();
    return std::move(schedule_);
  }

 private:
  struct Place {
    std::size_t lane = 0;
    std::vector<std::uint32_t> index;  // of its item: one, or one for each lane
  };

  // The longest way from the start of a unit to the end of all.
  void rank_units() {
    next_.resize(units_.size());
    for (std::uint32_t u = 0; u < units_.size(); ++u) {
      for (const std::uint32_t before : units_[u].after) next_[before].push_back(u);
    }
    rank_.resize(units_.size());
    for (std::size_t u = units_.size(); u-- > 0;) {  // units come after what they wait for
      double longest = 0;
      for (const std::uint32_t next : next_[u]) longest = std::max(longest, rank_[next]);
      rank_[u] = units_[u].cost + longest;
    }
  }

  double ready_at(std::uint32_t unit, std::size_t lane) const {
    double at = free_at_[lane];
    for (const std::uint32_t before : units_[unit].after) {
      const bool here = units_[before].together == 0 && place_[before].lane == lane;
      at = std::max(at, schedule_.finish[before] + (here ? 0 : hop_));
    }
    return at;
  }

  void place(std::uint32_t unit) {
    std::size_t best = 0;
    for (std::size_t lane = 1; lane < lanes_; ++lane) {
      if (ready_at(unit, lane) < ready_at(unit, best)) best = lane;
    }
    finish_at(unit, ready_at(unit, best));
    place_[unit].lane = best;
    place_[unit].index = {append(unit, best)};
    free_at_[best] = schedule_.finish[unit];
    known_at_[unit] = {known_[best]};
  }

  void place_together(std::uint32_t unit) {
    double start = 0;
    for (std::size_t lane = 0; lane < units_[unit].together; ++lane) start = std::max(start, ready_at(unit, lane));
    finish_at(unit, start);
    for (std::size_t lane = 0; lane < units_[unit].together; ++lane) {
      place_[unit].index.push_back(append(unit, lane));
      free_at_[lane] = schedule_.finish[unit];
      known_at_[unit].push_back(known_[lane]);
    }
  }

  void finish_at(std::uint32_t unit, double start) {
    schedule_.start[unit] = start;
    schedule_.finish[unit] = start + units_[unit].cost;
    schedule_.makespan = std::max(schedule_.makespan, schedule_.finish[unit]);
  }

  // The item, with the waits that are not settled yet. What a lane knows to be complete is what it has waited for, what
  // the lanes it waited for knew then, and its own past.
  std::uint32_t append(std::uint32_t unit, std::size_t lane) {
    std::vector<Item>& items = schedule_.lanes[lane];
    std::vector<std::uint32_t>& known = known_[lane];
    std::vector<std::uint32_t> needed(lanes_, 0);
    const auto need = [&](std::uint32_t before, std::size_t other, std::size_t which) {
      if (other != lane) needed[other] = std::max(needed[other], place_[before].index[which] + 1);
    };
    for (const std::uint32_t before : units_[unit].after) {
      if (units_[before].together > 0) {
        for (std::size_t other = 0; other < units_[before].together; ++other) need(before, other, other);
      } else {
        need(before, place_[before].lane, 0);
      }
    }
    for (const std::uint32_t before : units_[unit].after) {
      for (std::size_t i = 0; i < known_at_[before].size(); ++i) {
        const std::size_t from = units_[before].together > 0 ? i : place_[before].lane;
        for (std::size_t other = 0; other < lanes_; ++other) {
          if (other != from) known[other] = std::max(known[other], known_at_[before][i][other]);
        }
      }
    }
    Item item{unit, {}, false};
    for (std::size_t other = 0; other < lanes_; ++other) {
      if (other == lane || needed[other] <= known[other]) continue;
      item.waits.push_back({static_cast<std::uint32_t>(other), needed[other]});
      schedule_.lanes[other][needed[other] - 1].awaited = true;
      known[other] = needed[other];
    }
    items.push_back(std::move(item));
    return static_cast<std::uint32_t>(items.size() - 1);
  }

  std::span<const Unit> units_;
  double hop_;
  std::size_t lanes_;
  std::vector<double> free_at_;                    // by lane
  std::vector<double> rank_;                       // by unit
  std::vector<std::vector<std::uint32_t>> next_;   // by unit
  std::vector<Place> place_;                       // by unit
  std::vector<std::vector<std::uint32_t>> known_;  // by lane: how many items of each lane it knows to be complete
  std::vector<std::vector<std::vector<std::uint32_t>>> known_at_;  // by unit, and by its lanes: the same when it ends
  Schedule schedule_;
};

void merge(std::vector<std::uint32_t>& into, const std::vector<std::uint32_t>& from) {
  into.insert(into.end(), from.begin(), from.end());
}

}  // namespace

Schedule make_schedule(std::span<const Unit> units, int lanes, double hop) {
  return Scheduler(units, lanes, hop).run();
}

// Splits segments so that they cover the extent exactly, and visits them.
template <class Visit>
void Hazards::for_each_segment(const Extent& extent, const Visit& visit) {
  if (extent.begin >= extent.end) return;
  Segments& segments = spaces_[extent.space];
  const auto split = [&](std::uint64_t at) {
    auto after = segments.upper_bound(at);
    if (after == segments.begin()) return;
    const auto inside = std::prev(after);
    if (inside->first == at || inside->second.end <= at) return;
    Segment right = inside->second;
    inside->second.end = at;
    segments.emplace(at, std::move(right));
  };
  split(extent.begin);
  split(extent.end);
  std::uint64_t at = extent.begin;
  while (at < extent.end) {
    auto next = segments.lower_bound(at);
    if (next == segments.end() || next->first != at) {
      const std::uint64_t end = next == segments.end() ? extent.end : std::min(extent.end, next->first);
      next = segments.emplace(at, Segment{end, {}, {}}).first;
    }
    visit(next->second);
    at = next->second.end;
  }
}

std::vector<std::uint32_t> Hazards::add(std::uint32_t id, std::span<const Extent> reads,
                                        std::span<const Extent> writes) {
  std::vector<std::uint32_t> before;
  for (const Extent& extent : reads) {
    for_each_segment(extent, [&](Segment& segment) {
      merge(before, segment.writers);
      segment.readers.push_back(id);
    });
  }
  for (const Extent& extent : writes) {
    for_each_segment(extent, [&](Segment& segment) {
      merge(before, segment.writers);
      merge(before, segment.readers);
      segment.writers = {id};
      segment.readers.clear();
    });
  }
  std::sort(before.begin(), before.end());
  before.erase(std::unique(before.begin(), before.end()), before.end());
  before.erase(std::remove(before.begin(), before.end(), id), before.end());
  return before;
}

}  // namespace thrt::cpu
