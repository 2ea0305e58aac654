// Behind emit.hpp: steps that need nothing of each other become one, and their kernels of one stage become as few as their limits allow.
// An optimiser's update of all tensors is a kernel or two; two networks beside each other are launched layer by layer.
//
// A joined step spans the stages in which any of its steps runs, so that steps of several stages (partial sums first) run beside others.
// It may then hold steps that need each other, at different stages: whether a result may lie in an operand's memory is
// judged by who reads it when.
#pragma once

#include <thrt/emit/levels.hpp>
#include <thrt/emit/part.hpp>
#include <thrt/emit/plan.hpp>
#include <thrt/sdk/plan_memory.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace thrt::emit::detail {

// A step before its kernels are put together.
struct Draft {
  Step step;
  std::vector<Part> parts;
};

// One kernel for each part.
inline Step finished(const Dialect& dialect, Draft&& draft, const Options& options) {
  for (const Part& part : draft.parts) {
    draft.step.kernels.push_back(assemble(dialect, {&part}, options.group_size));
    draft.step.kernels.back().stage = part.stage;
  }
  std::stable_sort(draft.step.kernels.begin(), draft.step.kernels.end(),
                   [](const Kernel& a, const Kernel& b) { return a.stage < b.stage; });
  return std::move(draft.step);
}

// Parts that share a kernel.
class SharedKernel {
 public:
  // PoCL 3.1, for processors, compiles what follows a barrier behind a condition wrongly: such parts stay alone there.
  SharedKernel(const Options& options, const Dialect& dialect)
      : options_(&options), barriers_alone_(options.device == DeviceKind::kProcessor && !dialect.blocks) {}

  // `draft`: whose scratch the part's is.
  bool has_room(const Part& part, std::size_t draft) const {
    if (parts_.empty()) return true;
    if (barriers_alone_ && (part.groups > 0 || parts_[0].first->groups > 0)) return false;
    if (text_ + part.body.size() > kMostText) return false;
    if (options_->runs_all_branches && masked_after(part) - masked_ > kWorthALaunch) return false;
    // Group memory bounds how many groups a processor holds: parts of many work-items that need none stay apart.
    const std::uint64_t shared = std::max(shared_, bytes(part));
    const auto suffers = [&](std::uint64_t own, std::int64_t work_items) {
      return 2 * own < shared && work_items > kManyWorkItems;
    };
    if (suffers(bytes(part), part.work_items) || suffers(least_shared_, most_work_items_)) return false;
    return has_arguments(part, draft) && bytes(with_arrays(part)) <= shared;
  }
  void add(const Part& part, std::size_t draft) {
    parts_.emplace_back(&part, draft);
    for (const Part::Parameter& parameter : part.parameters) {
      if (parameter.argument.written || reads_.insert(key(parameter, draft)).second) ++arguments_;
    }
    masked_ = masked_after(part);
    groups_ += groups(part);
    text_ += part.body.size();
    shared_ = std::max(shared_, bytes(part));
    least_shared_ = std::min(least_shared_, bytes(part));
    most_work_items_ = std::max(most_work_items_, part.work_items);
    arrays_ = with_arrays(part);
  }
  // `scratch`: where each draft's begins.
  Kernel kernel(const Dialect& dialect, const std::map<std::size_t, std::uint64_t>& scratch) const {
    std::vector<Part> moved;
    for (const auto& [part, draft] : parts_) {
      Part& copy = moved.emplace_back(*part);
      for (Part::Parameter& parameter : copy.parameters) {
        if (parameter.argument.value == THRT_NONE) parameter.argument.offset += scratch.at(draft);
      }
    }
    std::vector<const Part*> parts;
    for (const Part& part : moved) parts.push_back(&part);
    // The longest first: what is left at the end is short.
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Part* a, const Part* b) { return a->work_items > b->work_items; });
    return assemble(dialect, parts, options_->group_size);
  }

 private:
  static constexpr std::size_t kMostText =
      32768;  // bytes of bodies: what takes long to compile gains nothing from company
  static constexpr std::int64_t kManyWorkItems = 1 << 16;
  // A line of 60 bytes takes a group of 64 work-items about 8 ns, a launch 15 us (llvmpipe, AMD Zen 4).
  static constexpr double kWorthALaunch = 60 * 15000 / 8.0;
  using Key = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t, std::string, std::size_t>;

  bool has_arguments(const Part& part, std::size_t draft) const {
    std::size_t arguments = arguments_;
    if (arguments + part.parameters.size() <= options_->max_arguments) return true;
    std::set<Key> reads;
    for (const Part::Parameter& parameter : part.parameters) {
      const Key wanted = key(parameter, draft);
      if (parameter.argument.written || (reads_.count(wanted) == 0 && reads.insert(wanted).second)) ++arguments;
    }
    return arguments <= options_->max_arguments;
  }

  double groups(const Part& part) const {
    return static_cast<double>(part.groups > 0 ? part.groups : part.work_items / options_->group_size + 1);
  }
  // Bytes of text, each once for every group that runs them for nothing.
  double masked_after(const Part& part) const {
    return masked_ + groups(part) * static_cast<double>(text_) + groups_ * static_cast<double>(part.body.size());
  }

  static Key key(const Part::Parameter& parameter, std::size_t draft) {
    const Argument& a = parameter.argument;
    return {a.value, a.offset, a.bytes, parameter.type, a.value == THRT_NONE ? draft : 0};
  }
  using Arrays = std::map<std::string, std::vector<std::int64_t>>;  // elements of each, by type

  // What SharedArrays declares for these parts and one more.
  Arrays with_arrays(const Part& part) const {
    Arrays all = arrays_, own;
    for (const Part::Shared& array : part.shared) own[array.type].push_back(array.elements);
    for (const auto& [type, sizes] : own) {
      std::vector<std::int64_t>& known = all[type];
      known.resize(std::max(known.size(), sizes.size()));
      for (std::size_t n = 0; n < sizes.size(); ++n) known[n] = std::max(known[n], sizes[n]);
    }
    return all;
  }
  static std::uint64_t bytes(const Arrays& arrays) {
    std::uint64_t total = 0;
    for (const auto& [type, sizes] : arrays) {
      for (const std::int64_t size : sizes) total += 4 * static_cast<std::uint64_t>(size);
    }
    return total;
  }
  static std::uint64_t bytes(const Part& part) {
    std::uint64_t total = 0;
    for (const Part::Shared& array : part.shared) total += 4 * static_cast<std::uint64_t>(array.elements);
    return total;
  }

  const Options* options_;
  bool barriers_alone_;
  std::vector<std::pair<const Part*, std::size_t>> parts_;  // with the draft
  std::set<Key> reads_;
  std::size_t arguments_ = 0, text_ = 0;
  double groups_ = 0, masked_ = 0;
  std::uint64_t shared_ = 0, least_shared_ = UINT64_MAX;
  std::int64_t most_work_items_ = 0;
  Arrays arrays_;
};

class Joining {
 public:
  // The drafts come in an order in which they can run.
  Joining(const sdk::ProgramView& program, const Dialect& dialect, const Options& options,
          const std::vector<Draft>& drafts)
      : program_(program), d_(dialect), options_(options), drafts_(drafts), class_(program.value_count()) {
    for (std::uint32_t v = 0; v < program.value_count(); ++v) class_[v] = v;
    writer_.assign(program.value_count(), kNone);
    for (std::size_t i = 0; i < drafts.size(); ++i) {
      for (const auto& [result, operand] : drafts[i].step.memory.views) class_[result] = class_[operand];
      if (is_view(drafts[i])) continue;
      for (const std::uint32_t value : drafts[i].step.memory.writes) writer_[value] = work_.size();
      work_.push_back(i);
    }
  }

  // Steps that use so many bytes or more keep their order: no more of them are alive at once than before.
  std::vector<Step> steps(std::uint64_t large) {
    Levels levels(work_.size());
    for (std::size_t i = 0; i < work_.size(); ++i) add_needs(levels, i);
    keep_order_of_large(levels, large);
    write_slots_last(levels);
    const std::vector<Levels::Segment> segments =
        levels.schedule([&](std::size_t segment, std::size_t i, std::int64_t earliest, std::int64_t latest) {
          return place(segment, i, earliest, latest);
        });
    std::vector<Step> steps;
    std::vector<bool> has_run(work_.size(), false);
    std::vector<std::size_t> views;
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
      if (is_view(drafts_[i])) views.push_back(i);
    }
    add_views(steps, views, has_run);
    for (std::size_t s = 0; s < segments.size(); ++s) {
      add_segment(steps, segments[s], s, views, has_run);
      if (segments[s].repeat == SIZE_MAX) continue;
      steps.push_back(draft(segments[s].repeat).step);
      has_run[segments[s].repeat] = true;
      add_views(steps, views, has_run);
    }
    return steps;
  }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  static bool is_view(const Draft& draft) { return !draft.step.memory.views.empty(); }
  const Draft& draft(std::size_t i) const { return drafts_[work_[i]]; }
  std::size_t writer(std::uint32_t value) const { return writer_[class_[value]]; }

  void add_needs(Levels& levels, std::size_t i) const {
    const Draft& own = draft(i);
    std::int64_t stages = 1;
    for (const Part& part : own.parts) stages = std::max<std::int64_t>(stages, part.stage + 1);
    levels.set_stages(i, stages);
    if (own.step.is_repeat) levels.set_repeat(i);
    for (const std::uint32_t value : own.step.memory.reads) {
      if (writer(value) != kNone) levels.need(writer(value), i);
    }
  }

  // Bytes that a step needs in the workspace.
  std::uint64_t bytes(std::size_t i) const {
    const sdk::PlanStep& memory = draft(i).step.memory;
    std::uint64_t total = memory.scratch_bytes;
    for (const std::uint32_t value : memory.writes) total += program_.type(value).bytes();
    for (const std::uint32_t value : memory.reads) {
      if (writer(value) != kNone) total += program_.type(value).bytes();
    }
    return total;
  }
  void keep_order_of_large(Levels& levels, std::uint64_t large) const {
    std::size_t before = kNone;
    for (std::size_t i = 0; i < work_.size(); ++i) {
      if (bytes(i) < large) continue;
      if (before != kNone) levels.need(before, i);
      before = i;
    }
  }

  // A slot's new value goes right into the slot if all that read the old one have run; it is copied there at the end otherwise. Since copies
  // take a stage of their own, the whole may become one longer if that spares all of them.
  void write_slots_last(Levels& levels) const {
    std::vector<std::vector<std::size_t>> readers(program_.value_count());
    for (std::size_t i = 0; i < work_.size(); ++i) {
      for (const std::uint32_t value : draft(i).step.memory.reads) readers[class_[value]].push_back(i);
    }
    const auto write_last = [&](Levels& wanted, std::int64_t longest) {
      bool all = true;
      for (std::uint32_t s = 0; s < program_.slot_count(); ++s) {
        const sdk::SlotView slot = program_.slot(s);
        if (!slot.read() || !slot.written() || writer(slot.output_value) == kNone) continue;
        for (const std::size_t reader : readers[slot.input_value])
          all = wanted.prefer(reader, writer(slot.output_value), longest) && all;
      }
      return all;
    };
    const std::int64_t longest = levels.longest();
    if (write_last(levels, longest)) return;
    Levels longer = levels;
    if (write_last(longer, longest + 1)) levels = longer;
  }

  // Where the fewest kernels are added. With room in one, early; otherwise late, where others find it, unless it is large.
  std::int64_t place(std::size_t segment, std::size_t i, std::int64_t earliest, std::int64_t latest) {
    const std::vector<Part>& parts = draft(i).parts;
    const auto added = [&](std::int64_t start) {
      return std::count_if(parts.begin(), parts.end(), [&](const Part& part) {
        const auto known = kernels_.find({segment, start + part.stage});
        if (known == kernels_.end()) return true;
        return std::none_of(known->second.begin(), known->second.end(),
                            [&](const SharedKernel& kernel) { return kernel.has_room(part, i); });
      });
    };
    constexpr std::uint64_t kSmall = 1 << 18;
    std::int64_t start = earliest;
    if (earliest < latest) {
      auto least = added(earliest);
      for (std::int64_t at = earliest + 1; at <= latest && least > 0; ++at) {
        const auto here = added(at);
        if (here < least || (here == least && bytes(i) < kSmall)) start = at;
        least = std::min(least, here);
      }
    }
    for (const Part& part : parts) {
      std::vector<SharedKernel>& kernels = kernels_[{segment, start + part.stage}];
      auto kernel = std::find_if(kernels.begin(), kernels.end(),
                                 [&](const SharedKernel& each) { return each.has_room(part, i); });
      if (kernel == kernels.end()) kernel = kernels.insert(kernels.end(), SharedKernel(options_, d_));
      kernel->add(part, i);
    }
    return start;
  }

  // Views of what is there by now; the others stay in the list.
  void add_views(std::vector<Step>& steps, std::vector<std::size_t>& views, const std::vector<bool>& has_run) const {
    const auto is_later = [&](std::size_t view) {
      const std::size_t source = writer(drafts_[view].step.memory.views[0].second);
      return source != kNone && !has_run[source];
    };
    for (const std::size_t view : views) {
      if (!is_later(view)) steps.push_back(drafts_[view].step);
    }
    views.erase(std::remove_if(views.begin(), views.end(), [&](std::size_t view) { return !is_later(view); }),
                views.end());
  }

  void add_segment(std::vector<Step>& steps, const Levels::Segment& segment, std::size_t number,
                   std::vector<std::size_t>& views, std::vector<bool>& has_run) {
    std::vector<std::vector<std::size_t>> starts(static_cast<std::size_t>(segment.stages));
    for (std::size_t k = 0; k < segment.steps.size(); ++k)
      starts[static_cast<std::size_t>(segment.start[k])].push_back(k);
    std::int64_t first = 0;
    std::vector<std::size_t> members;  // drafts that run in stages [first, end)
    std::int64_t end = 0;
    for (std::int64_t time = 0; time < segment.stages; ++time) {
      for (const std::size_t k : starts[static_cast<std::size_t>(time)]) {
        members.push_back(k);
        for (const Part& part : draft(segment.steps[k]).parts)
          end = std::max(end, time + static_cast<std::int64_t>(part.stage) + 1);
      }
      if (end > time + 1) continue;
      if (!members.empty()) steps.push_back(joined(segment, number, members, first, time + 1));
      for (const std::size_t k : members) has_run[segment.steps[k]] = true;
      add_views(steps, views, has_run);
      members.clear();
      first = time + 1;
    }
  }

  // When each value is read and written, by stage of the step.
  struct Uses {
    std::map<std::uint32_t, std::int64_t> first_write;                                 // by value
    std::map<std::uint32_t, std::vector<std::pair<std::size_t, std::int64_t>>> reads;  // by class: draft and stage
  };

  Step joined(const Levels::Segment& segment, std::size_t number, const std::vector<std::size_t>& members,
              std::int64_t first, std::int64_t end) {
    Step step;
    sdk::PlanStep& memory = step.memory;
    std::map<std::size_t, std::uint64_t> scratch;  // where a draft's begins
    Uses uses;
    std::set<std::uint32_t> read;
    for (const std::size_t k : members) {
      const std::size_t i = segment.steps[k];
      const Step& own = draft(i).step;
      step.ops.insert(step.ops.end(), own.ops.begin(), own.ops.end());
      read.insert(own.memory.reads.begin(), own.memory.reads.end());
      memory.writes.insert(memory.writes.end(), own.memory.writes.begin(), own.memory.writes.end());
      scratch[i] = memory.scratch_bytes;
      memory.scratch_bytes +=
          (own.memory.scratch_bytes + sdk::kPlanAlignment - 1) / sdk::kPlanAlignment * sdk::kPlanAlignment;
      for (const Part& part : draft(i).parts) note(uses, part, i, segment.start[k] - first + part.stage);
    }
    memory.reads.assign(read.begin(), read.end());
    add_in_place(memory, uses, segment, members);
    for (std::int64_t time = first; time < end; ++time) {
      const auto known = kernels_.find({number, time});
      if (known == kernels_.end()) continue;
      for (const SharedKernel& shared : known->second) {
        step.kernels.push_back(shared.kernel(d_, scratch));
        step.kernels.back().stage = static_cast<std::uint32_t>(time - first);
      }
    }
    return step;
  }

  void note(Uses& uses, const Part& part, std::size_t i, std::int64_t stage) const {
    for (const Part::Parameter& parameter : part.parameters) {
      const std::uint32_t value = parameter.argument.value;
      if (value == THRT_NONE) continue;
      if (parameter.argument.written) {
        const auto known = uses.first_write.emplace(value, stage).first;
        known->second = std::min(known->second, stage);
      } else {
        uses.reads[class_[value]].emplace_back(i, stage);
      }
    }
  }

  // A draft's own pairs hold if nobody else still reads the operand when the result is written, and so does any slot's new value
  // over the old one.
  void add_in_place(sdk::PlanStep& memory, const Uses& uses, const Levels::Segment& segment,
                    const std::vector<std::size_t>& members) const {
    const auto is_free = [&](std::uint32_t result, std::uint32_t operand, std::size_t except) {
      const auto reads = uses.reads.find(class_[operand]);
      const std::int64_t written = uses.first_write.at(result);
      return reads == uses.reads.end() ||
             std::all_of(reads->second.begin(), reads->second.end(),
                         [&](const auto& each) { return each.first == except || each.second < written; });
    };
    for (const std::size_t k : members) {
      const std::size_t i = segment.steps[k];
      for (const auto& [result, operand] : draft(i).step.memory.in_place) {
        if (is_free(result, operand, i)) memory.in_place.emplace_back(result, operand);
      }
    }
    for (std::uint32_t s = 0; s < program_.slot_count(); ++s) {
      const sdk::SlotView slot = program_.slot(s);
      if (!slot.read() || !slot.written() || uses.first_write.count(slot.output_value) == 0) continue;
      const bool is_read = std::count(memory.reads.begin(), memory.reads.end(), slot.input_value) != 0;
      const std::pair<std::uint32_t, std::uint32_t> pair(slot.output_value, slot.input_value);
      const bool is_known = std::count(memory.in_place.begin(), memory.in_place.end(), pair) != 0;
      if (is_read && !is_known && is_free(pair.first, pair.second, kNone)) memory.in_place.push_back(pair);
    }
  }

  const sdk::ProgramView& program_;
  const Dialect& d_;
  const Options& options_;
  const std::vector<Draft>& drafts_;
  std::vector<std::uint32_t> class_;  // by value: the one whose bytes it is
  std::vector<std::size_t> work_;     // the drafts that are no views; all else counts in these
  std::vector<std::size_t> writer_;   // by value
  std::map<std::pair<std::size_t, std::int64_t>, std::vector<SharedKernel>> kernels_;  // by segment and stage
};

}  // namespace thrt::emit::detail
