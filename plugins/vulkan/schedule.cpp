#include "schedule.hpp"

#include "compile.hpp"

#include <algorithm>
#include <iterator>

namespace thrt_vulkan {

using namespace thrt;

Levels::Space::iterator Levels::cut(Space& space, std::uint64_t at) {
  const auto next = space.lower_bound(at);
  if (next != space.end() && next->first == at) return next;
  const Piece piece = next == space.begin() ? Piece{} : std::prev(next)->second;
  return space.emplace_hint(next, at, piece);
}

std::uint32_t Levels::add(const std::vector<Access>& accesses) {
  std::uint32_t level = 1;
  for (const Access& access : accesses) {
    if (access.place.bytes == 0) continue;
    Space& space = spaces_[access.place.space];
    const auto end = cut(space, access.place.offset + access.place.bytes);
    for (auto at = cut(space, access.place.offset); at != end; ++at) {
      level = std::max(level, at->second.written + 1);
      if (access.written) level = std::max(level, at->second.read + 1);
    }
  }
  for (const Access& access : accesses) {
    if (access.place.bytes == 0) continue;
    Space& space = spaces_[access.place.space];
    const auto end = space.find(access.place.offset + access.place.bytes);
    for (auto at = space.find(access.place.offset); at != end; ++at) {
      std::uint32_t& last = access.written ? at->second.written : at->second.read;
      last = std::max(last, level);
    }
  }
  return level - 1;
}

namespace {

struct LaunchHash {
  std::size_t operator()(const Schedule::Launch& launch) const {
    std::uint64_t h = launch.kernel;
    for (const Place& place : launch.arguments) {
      h = (h ^ (place.offset + (std::uint64_t{place.space} << 48))) * 0x9fb21c651e98df25u;
      h ^= h >> 29;
    }
    return h;
  }
};

class Builder {
 public:
  explicit Builder(const ScheduleOptions& options) : options_(options) {}

  Schedule build(const Program& program) {
    nodes_ = &schedule_.nodes;
    std::vector<Place> slots;
    for (std::uint32_t i = 0; i < program.slot_count; ++i) slots.push_back({Place::kFirstSlot + i, 0, 0});
    walk(program, slots, 0);
    close_segment();
    count(schedule_.nodes, 1);
    if (schedule_.counters.barriers > 0) --schedule_.counters.barriers;  // what runs first waits for other runs alone
    return std::move(schedule_);
  }

 private:
  // Slots and workspace say where the program's begin; what a place's bytes are is the value's to say.
  void walk(const Program& program, const std::vector<Place>& slots, std::uint64_t workspace) {
    const auto place = [&](const sdk::Placement& placement, std::uint64_t bytes) -> Place {
      switch (placement.where) {
        case sdk::Placement::Where::kSlot:
          return {slots[placement.slot].space, slots[placement.slot].offset + placement.offset, bytes};
        case sdk::Placement::Where::kWorkspace:
          return {Place::kWorkspace, workspace + placement.offset, bytes};
        case sdk::Placement::Where::kConstant:
          return {Place::kConstants, program.first_constant + placement.offset, bytes};
        case sdk::Placement::Where::kNowhere:
          break;
      }
      return {};
    };
    std::vector<Place> values(program.plan.values.size());
    for (std::size_t v = 0; v < values.size(); ++v) values[v] = place(program.plan.values[v], program.types[v].bytes());
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      const Program::Step& step = program.steps[i];
      const Place scratch{Place::kWorkspace, workspace + program.plan.scratch[i], 0};
      for (std::size_t k = 0; k < step.kernels.size(); ++k) {
        launch(step.step.kernels[k], step.kernels[k], values, scratch);
      }
      if (step.repeat != nullptr) repeat(*step.repeat, values, scratch);
      if (options_.op_by_op) close_segment(&step, &values);
    }
    for (const sdk::PlanCopy& last : program.plan.final_copies) {
      copy(place(last.from, last.bytes), place(last.to, last.bytes));
    }
    if (options_.op_by_op) close_segment();
  }

  void launch(const emit::Kernel& kernel, std::uint32_t number, const std::vector<Place>& values,
              const Place& scratch) {
    if (kernel.groups == 0) return;
    Schedule::Launch launch{number, static_cast<std::uint32_t>(kernel.groups), {}};
    accesses_.clear();
    for (const emit::Argument& argument : kernel.arguments) {
      const Place place = argument.value != THRT_NONE
                              ? values[argument.value]
                              : Place{scratch.space, scratch.offset + argument.offset, argument.bytes};
      launch.arguments.push_back(place);
      accesses_.push_back({place, argument.written});
    }
    add(std::move(launch));
  }

  // With accesses_ filled.
  void add(Schedule::Launch launch) {
    const auto next = static_cast<std::uint32_t>(schedule_.launches.size());
    const auto [at, is_new] = numbers_.try_emplace(launch, next);
    if (is_new) schedule_.launches.push_back(std::move(launch));
    push(Schedule::Command::Kind::kLaunch, at->second);
  }

  void copy(const Place& from, const Place& to) {
    if (from == to || from.bytes == 0) return;
    accesses_ = {{from, false}, {to, true}};
    schedule_.copies.push_back({from, to});
    push(Schedule::Command::Kind::kCopy, static_cast<std::uint32_t>(schedule_.copies.size() - 1));
  }

  void push(Schedule::Command::Kind kind, std::uint32_t index) {
    schedule_.commands.push_back({kind, index, levels_.add(accesses_)});
    for (const Levels::Access& access : accesses_) (access.written ? written_ : read_) += access.place.bytes;
  }

  void repeat(const Program::Repeat& repeat, const std::vector<Place>& values, const Place& scratch) {
    // The body's state lives where the results do; what stays is read where it is.
    std::vector<Place> body_slots(1);
    for (std::size_t k = 0; k < repeat.operands.size(); ++k) {
      const bool carried = k < repeat.results.size();
      const Place& operand = values[repeat.operands[k]];
      if (carried) copy(operand, values[repeat.results[k]]);
      body_slots.push_back(carried ? values[repeat.results[k]] : operand);
    }
    if (repeat.body->commands == 0) return;  // there may be 2^31 iterations of it
    const std::uint64_t workspace = scratch.offset + kCounterBytes;
    if (repeat.unrolled) {
      for (std::int64_t i = 0; i < repeat.trips; ++i) {
        body_slots[0] = {Place::kConstants,
                         options_.table_offset + static_cast<std::uint64_t>(i) * options_.table_stride, 0};
        walk(*repeat.body, body_slots, workspace);
      }
      return;
    }
    loop(repeat, body_slots, {scratch.space, scratch.offset, sizeof(std::int32_t)}, workspace);
  }

  void loop(const Program::Repeat& repeat, std::vector<Place>& body_slots, const Place& counter,
            std::uint64_t workspace) {
    if (repeat.trips == 0) return;
    body_slots[0] = counter;
    if (repeat.reads_iteration) {
      accesses_ = {{counter, true}};
      schedule_.zeros.push_back(counter);
      push(Schedule::Command::Kind::kZero, static_cast<std::uint32_t>(schedule_.zeros.size() - 1));
    }
    close_segment();
    const auto iteration = [&] {
      walk(*repeat.body, body_slots, workspace);
      if (!repeat.reads_iteration) return;
      accesses_ = {{counter, false}, {counter, true}};
      add({options_.increment_kernel, 1, {counter}});
    };
    // As many iterations in a segment as may be.
    std::int64_t together = 1;
    if (!options_.op_by_op && repeat.body->commands < kMostUnrolled) {
      const std::uint64_t each = std::max<std::uint64_t>(1, repeat.body->commands + 1);
      together = std::min(repeat.trips, static_cast<std::int64_t>(std::max<std::uint64_t>(1, kMostUnrolled / each)));
    }
    std::vector<Schedule::Node>* outside = nodes_;
    Schedule::Node node;
    node.trips = repeat.trips / together;
    nodes_ = &node.body;
    for (std::int64_t i = 0; i < together; ++i) iteration();
    close_segment();
    nodes_ = outside;
    nodes_->push_back(std::move(node));
    for (std::int64_t i = 0; i < repeat.trips % together; ++i) iteration();
  }

  // The commands since the last one become a command buffer; `step` says what it computes, with the values' places.
  void close_segment(const Program::Step* step = nullptr, const std::vector<Place>* values = nullptr) {
    Schedule::Node node;
    if (step != nullptr && !step->step.memory.writes.empty()) {
      for (const Program::Result& result : step->results) {
        if ((*values)[result.value].bytes > 0) node.results.push_back({&result, (*values)[result.value]});
      }
    }
    const std::size_t first = schedule_.segments.empty() ? 0 : schedule_.segments.back().last;
    const auto begin = schedule_.commands.begin() + static_cast<std::ptrdiff_t>(first), end = schedule_.commands.end();
    if (begin == end && node.results.empty()) return;
    std::stable_sort(begin, end, [](const Schedule::Command& a, const Schedule::Command& b) {
      return a.level < b.level;  // no level is empty: a command has a level because of one in the level before
    });
    const std::uint64_t barriers = begin == end ? 0 : std::prev(end)->level;
    node.segment = static_cast<std::uint32_t>(schedule_.segments.size());
    schedule_.segments.push_back({first, schedule_.commands.size(), barriers});
    traffic_.push_back({read_, written_});
    read_ = written_ = 0;
    levels_.clear();
    nodes_->push_back(std::move(node));
  }

  void count(const std::vector<Schedule::Node>& nodes, std::uint64_t times) {
    for (const Schedule::Node& node : nodes) {
      if (node.segment == UINT32_MAX) {
        count(node.body, times * static_cast<std::uint64_t>(node.trips));
        continue;
      }
      const Schedule::Segment& segment = schedule_.segments[node.segment];
      Schedule::Counters& all = schedule_.counters;
      all.launches += times * (segment.last - segment.first);
      all.barriers += times * (segment.barriers + 1);  // each begins with one
      all.bytes_read += times * traffic_[node.segment].first;
      all.bytes_written += times * traffic_[node.segment].second;
    }
  }

  const ScheduleOptions& options_;
  Schedule schedule_;
  std::vector<Schedule::Node>* nodes_ = nullptr;  // where nodes go
  Levels levels_;
  std::vector<Levels::Access> accesses_;  // of the command that is being added
  std::unordered_map<Schedule::Launch, std::uint32_t, LaunchHash> numbers_;
  std::uint64_t read_ = 0, written_ = 0;                          // bytes, by the open segment
  std::vector<std::pair<std::uint64_t, std::uint64_t>> traffic_;  // of each segment
};

}  // namespace

Schedule make_schedule(const Program& program, const ScheduleOptions& options) {
  return Builder(options).build(program);
}

}  // namespace thrt_vulkan
