// Behind emit.hpp: when each of a program's steps runs. Time is counted in stages: what a stage does needs no order, and the next
// one waits for all of it. A repeat is a time of its own, between two segments of the program.
//
// No order of steps takes fewer stages than the longest chain of steps that need each other; this one takes as many. A step on that
// chain has no choice; the others go where their kernels find company.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace thrt::emit::detail {

class Levels {
 public:
  explicit Levels(std::size_t steps) : steps_(steps) {}

  void set_stages(std::size_t step, std::int64_t stages) { steps_[step].stages = stages; }
  void set_repeat(std::size_t step) { steps_[step].is_repeat = true; }

  // `then` waits for `first`.
  void need(std::size_t first, std::size_t then) {
    if (first == then) return;
    std::vector<std::size_t>& after = steps_[first].after;
    if (std::find(after.begin(), after.end(), then) != after.end()) return;
    after.push_back(then);
    steps_[then].before.push_back(first);
    // Often the two are that far apart anyway, and all chains stay as long as they are.
    const Step &a = steps_[first], &b = steps_[then];
    is_measured_ = is_measured_ && b.head >= a.head + a.stages && a.tail >= a.stages + b.tail;
  }
  // The same where that is possible and the longest chain stays within `longest`. False if it is not.
  bool prefer(std::size_t first, std::size_t then, std::int64_t longest) {
    if (first == then) return true;
    if (!is_measured_) measure();
    if (steps_[then].head < steps_[first].head + steps_[first].stages && reaches(then, first)) return false;
    if (steps_[first].head + steps_[first].stages + steps_[then].tail > longest) return false;
    need(first, then);
    return true;
  }
  // In stages.
  std::int64_t longest() {
    if (!is_measured_) measure();
    return longest_;
  }

  struct Segment {
    std::vector<std::size_t> steps;   // without its repeat; each after what it needs
    std::vector<std::int64_t> start;  // of each, in stages from the segment's first
    std::int64_t stages = 0;
    std::size_t repeat = SIZE_MAX;  // that runs after them
  };
  // Calls place(segment, step, earliest, latest) for each step but repeats, which says when it starts: first for those without a
  // choice, then for the others, each after what it needs.
  template <typename Place>
  std::vector<Segment> schedule(Place&& place) {
    std::vector<Segment> segments = cut();
    for (std::size_t s = 0; s < segments.size(); ++s) run(segments[s], s, place);
    return segments;
  }

 private:
  struct Step {
    std::vector<std::size_t> before, after;
    std::int64_t stages = 1;
    bool is_repeat = false;
    std::int64_t head = 0, tail = 1;  // longest chains: before it; from its start on
    std::size_t segment = 0;
    std::int64_t start = 0;
  };

  // Each after those it waits for, otherwise in their own order.
  std::vector<std::size_t> order() const {
    std::vector<std::size_t> waits(steps_.size()), list;
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      waits[i] = steps_[i].before.size();
      if (waits[i] == 0) ready.push(i);
    }
    while (!ready.empty()) {
      const std::size_t at = ready.top();
      ready.pop();
      list.push_back(at);
      for (const std::size_t next : steps_[at].after) {
        if (--waits[next] == 0) ready.push(next);
      }
    }
    return list;
  }

  void measure() {
    const std::vector<std::size_t> list = order();
    longest_ = 0;
    for (const std::size_t i : list) {
      steps_[i].head = 0;
      for (const std::size_t b : steps_[i].before)
        steps_[i].head = std::max(steps_[i].head, steps_[b].head + steps_[b].stages);
    }
    for (auto at = list.rbegin(); at != list.rend(); ++at) {
      std::int64_t rest = 0;
      for (const std::size_t a : steps_[*at].after) rest = std::max(rest, steps_[a].tail);
      steps_[*at].tail = steps_[*at].stages + rest;
      longest_ = std::max(longest_, steps_[*at].head + steps_[*at].tail);
    }
    is_measured_ = true;
  }

  bool reaches(std::size_t from, std::size_t to) const {
    std::vector<std::size_t> stack = {from};
    std::vector<bool> seen(steps_.size(), false);
    while (!stack.empty()) {
      const std::size_t at = stack.back();
      stack.pop_back();
      if (at == to) return true;
      for (const std::size_t next : steps_[at].after) {
        if (!seen[next]) stack.push_back(next);
        seen[next] = true;
      }
    }
    return false;
  }

  // Every repeat ends a segment; a step is in the first one where all that it waits for is there.
  std::vector<Segment> cut() {
    std::vector<Segment> segments(1);
    std::size_t repeats = 0;
    for (const std::size_t i : order()) {
      Step& step = steps_[i];
      step.segment = step.is_repeat ? repeats : 0;
      for (const std::size_t b : step.before)
        step.segment = std::max(step.segment, steps_[b].segment + (steps_[b].is_repeat ? 1u : 0u));
      if (step.is_repeat) {
        repeats = step.segment + 1;
        segments.resize(std::max(segments.size(), repeats + 1));
        segments[step.segment].repeat = i;
      } else {
        segments.resize(std::max(segments.size(), step.segment + 1));
        segments[step.segment].steps.push_back(i);
      }
    }
    return segments;
  }

  template <typename Place>
  void run(Segment& segment, std::size_t number, Place& place) {
    const auto is_here = [&](std::size_t i) { return steps_[i].segment == number && !steps_[i].is_repeat; };
    const auto earliest = [&](std::size_t i) {
      std::int64_t time = 0;
      for (const std::size_t b : steps_[i].before) {
        if (is_here(b)) time = std::max(time, steps_[b].start + steps_[b].stages);
      }
      return time;
    };
    for (const std::size_t i : segment.steps) {
      steps_[i].start = earliest(i);
      segment.stages = std::max(segment.stages, steps_[i].start + steps_[i].stages);
    }
    std::vector<std::int64_t> latest(segment.steps.size());
    std::vector<std::size_t> number_of(steps_.size());
    for (std::size_t k = segment.steps.size(); k-- > 0;) {
      const Step& step = steps_[segment.steps[k]];
      number_of[segment.steps[k]] = k;
      latest[k] = segment.stages - step.stages;
      for (const std::size_t a : step.after) {
        if (is_here(a)) latest[k] = std::min(latest[k], latest[number_of[a]] - step.stages);
      }
    }
    std::vector<std::size_t> free;
    for (std::size_t k = 0; k < segment.steps.size(); ++k) {
      const std::size_t i = segment.steps[k];
      if (steps_[i].start < latest[k]) {
        free.push_back(k);
      } else {
        place(number, i, latest[k], latest[k]);
      }
    }
    for (const std::size_t k : free) {
      const std::size_t i = segment.steps[k];
      steps_[i].start = place(number, i, earliest(i), latest[k]);
    }
    for (const std::size_t i : segment.steps) segment.start.push_back(steps_[i].start);
  }

  std::vector<Step> steps_;
  std::int64_t longest_ = 0;
  bool is_measured_ = false;
};

}  // namespace thrt::emit::detail
