// A routine and its addresses -> what runs: the tasks in order, and their schedule for several threads. And the order of
// steps that makes such a schedule possible.
#include "lanes.hpp"
#include "schedule.hpp"
#include "step.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

namespace thrt::cpu {
namespace {

using Where = sdk::Placement::Where;

constexpr std::uint32_t kWorkspaceSpace = UINT32_MAX;

// More threads than one must promise this much, for estimates are rough.
constexpr double kWorthwhile = 0.9;

class Binder {
 public:
  Binder(const Routine& routine, std::span<std::byte* const> slots, std::byte* workspace)
      : routine_(routine), addresses_(routine.plan, slots, workspace, routine.constants.get()) {}

  BoundRoutine bind(const Task& first) {
    if (first) {
      Extent slot{0, 0, sizeof(std::int32_t)};
      add(Work(first), 1, {}, {&slot, 1});
    }
    for (std::size_t i = 0; i < routine_.steps.size(); ++i) {
      const Step& step = routine_.steps[i];
      if (!step.bind) continue;
      Work work = step.bind(addresses_, addresses_.scratch(i));
      if (work.parts.empty()) continue;
      std::vector<Extent> reads, writes;
      for (const std::uint32_t value : step.memory.reads) add_extent(reads, value);
      for (const std::uint32_t value : step.memory.writes) add_extent(writes, value);
      add_extent(writes, {Where::kWorkspace, THRT_NONE, routine_.plan.scratch[i]}, step.memory.scratch_bytes);
      add(std::move(work), step.cost, reads, writes);
    }
    for (const sdk::PlanCopy& copy : routine_.plan.final_copies) {
      std::byte* to = addresses_.of(copy.to);
      const std::byte* from = addresses_.of(copy.from);
      if (copy.bytes == 0 || to == from) continue;
      std::vector<Extent> reads, writes;
      add_extent(reads, copy.from, copy.bytes);
      add_extent(writes, copy.to, copy.bytes);
      add(Work([to, from, bytes = copy.bytes] { std::memcpy(to, from, bytes); }), static_cast<double>(copy.bytes) / 10,
          reads, writes);
    }
    spread();
    return std::move(bound_);
  }

 private:
  static constexpr std::size_t kTogether = std::size_t{1} << 63;  // marks an index into together_

  void add_extent(std::vector<Extent>& list, std::uint32_t value) const {
    add_extent(list, routine_.plan.values[value], routine_.value_bytes[value]);
  }
  static void add_extent(std::vector<Extent>& list, const sdk::Placement& placement, std::uint64_t bytes) {
    if (placement.where == Where::kSlot) {
      list.push_back({placement.slot, placement.offset, placement.offset + bytes});
    } else if (placement.where == Where::kWorkspace) {
      list.push_back({kWorkspaceSpace, placement.offset, placement.offset + bytes});
    }
  }

  void add(Work work, double cost, std::span<const Extent> reads, std::span<const Extent> writes) {
    bound_.sequence_cost += cost;
    if (routine_.threads > 1) add_units(work, cost, reads, writes);
    for (Task& part : work.parts) bound_.sequence.push_back(std::move(part));
    if (work.finish) bound_.sequence.push_back(std::move(work.finish));
  }

  // To be called before the tasks join the sequence: they will have the next places in it.
  void add_units(Work& work, double cost, std::span<const Extent> reads, std::span<const Extent> writes) {
    const auto step = static_cast<std::uint32_t>(units_of_step_.size());
    std::vector<std::uint32_t> after;
    for (const std::uint32_t before : hazards_.add(step, reads, writes)) {
      const auto& units = units_of_step_[before];
      after.insert(after.end(), units.begin(), units.end());
    }
    const auto first_unit = static_cast<std::uint32_t>(units_.size());
    std::size_t place = bound_.sequence.size();
    if (!work.together.empty()) {
      std::vector<std::size_t> places;
      for (Task& task : work.together) {
        places.push_back(kTogether | together_.size());
        together_.push_back(std::move(task));
      }
      units_.push_back({work.together_cost, after, static_cast<std::uint32_t>(places.size())});
      places_.push_back(std::move(places));
      units_of_step_.push_back({first_unit});
      return;
    }
    std::vector<std::uint32_t> units;
    for (std::size_t part = 0; part < work.parts.size(); ++part) {
      units.push_back(static_cast<std::uint32_t>(units_.size()));
      units_.push_back({cost / static_cast<double>(work.parts.size()), after, 0});
      places_.push_back({place++});
    }
    if (work.finish) {
      units_.push_back({0, units, 0});
      units = {static_cast<std::uint32_t>(units_.size() - 1)};
      places_.push_back({place});
    }
    units_of_step_.push_back(std::move(units));
  }

  void spread() {
    if (routine_.threads < 2 || units_.empty()) return;
    const Schedule schedule = make_schedule(units_, routine_.threads, routine_.always_spread ? 0 : kHop);
    if (schedule.lanes.size() < 2) return;
    if (!routine_.always_spread && schedule.makespan > kWorthwhile * bound_.sequence_cost) return;
    bound_.together = std::make_shared<const std::vector<Task>>(std::move(together_));
    std::vector<std::vector<const Task*>> tasks;
    for (const std::vector<std::size_t>& places : places_) {
      std::vector<const Task*>& list = tasks.emplace_back();
      for (const std::size_t place : places) {
        list.push_back((place & kTogether) != 0 ? &(*bound_.together)[place & ~kTogether] : &bound_.sequence[place]);
      }
    }
    bound_.lanes = std::make_shared<Lanes>(schedule, tasks);
    bound_.lanes_cost = schedule.makespan;
  }

  const Routine& routine_;
  const Addresses addresses_;
  BoundRoutine bound_;
  Hazards hazards_;
  std::vector<Unit> units_;
  std::vector<std::vector<std::size_t>> places_;           // by unit: its tasks in the sequence, or in together_
  std::vector<std::vector<std::uint32_t>> units_of_step_;  // by step: those whose end is its end
  std::vector<Task> together_;
};

}  // namespace

void order_for_threads(std::vector<Step>& list, std::uint32_t value_count, int threads) {
  std::vector<std::uint32_t> maker(value_count, THRT_NONE);
  std::vector<Unit> units;
  std::vector<std::uint32_t> first_unit, last_unit;  // by step
  for (std::uint32_t i = 0; i < list.size(); ++i) {
    const sdk::PlanStep& memory = list[i].memory;
    std::vector<std::uint32_t> after;
    const auto wait_for = [&](std::uint32_t value) {
      if (maker[value] != THRT_NONE) after.push_back(last_unit[maker[value]]);
    };
    for (const std::uint32_t value : memory.reads) wait_for(value);
    for (const auto& [result, operand] : memory.views) wait_for(operand);
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    for (const std::uint32_t value : memory.writes) maker[value] = i;
    for (const auto& [result, operand] : memory.views) maker[result] = i;
    const std::uint32_t parts = std::max(1u, list[i].parts);
    first_unit.push_back(static_cast<std::uint32_t>(units.size()));
    for (std::uint32_t part = 0; part < parts; ++part) units.push_back({list[i].cost / parts, after, 0});
    if (parts > 1) {
      Unit end;
      for (std::uint32_t part = 0; part < parts; ++part) end.after.push_back(first_unit.back() + part);
      units.push_back(std::move(end));
    }
    last_unit.push_back(static_cast<std::uint32_t>(units.size() - 1));
  }
  const Schedule schedule = make_schedule(units, threads);
  std::vector<std::uint32_t> order(list.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto start = [&](std::uint32_t step) { return schedule.start[first_unit[step]]; };
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return start(a) < start(b); });
  std::vector<Step> steps;
  std::vector<double> starts;
  for (const std::uint32_t i : order) {
    steps.push_back(std::move(list[i]));
    starts.push_back(start(i));
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double end = schedule.finish[last_unit[order[i]]];
    const auto later = std::lower_bound(starts.begin(), starts.end(), end);
    steps[i].memory.runs_beside =
        static_cast<std::uint32_t>(later - starts.begin()) - (later == starts.begin() ? 0 : 1);
  }
  list = std::move(steps);
}

double Routine::cost() const {
  double sum = 0;
  for (const Step& step : steps) sum += step.cost;
  return sum;
}

std::string Routine::describe() const {
  std::string text;
  for (const Step& step : steps) {
    if (!step.bind || step.kernels == 0) continue;
    text += step.what + "\n";
    for (std::size_t begin = 0; begin < step.inside.size();) {
      const std::size_t end = step.inside.find('\n', begin) + 1;
      text += "  " + step.inside.substr(begin, end - begin);
      begin = end;
    }
  }
  for (const sdk::PlanCopy& copy : plan.final_copies) text += "copy of " + std::to_string(copy.bytes) + " bytes\n";
  return text;
}

BoundRoutine Routine::bind(std::span<std::byte* const> slots, std::byte* workspace, const Task& first) const {
  return Binder(*this, slots, workspace).bind(first);
}

}  // namespace thrt::cpu
