// Behind emit.hpp: which values go to memory, and which kernel computes which others. Ops are visited from the last to the first,
// so that each value is decided when all its readers are.
//
// A reader is a kernel together with a place: the flat index, relative to the work-item's, at which that kernel wants the value.
// Reads of one kernel at one place are one evaluation, whatever the number of ops that ask for it. A value is computed inside its
// readers if that repeats little work (Options::launch_cost), lets no few work-items do the work of many (serial_cost) and keeps
// kernels small. Otherwise it goes to memory: as a further result of a reader that has it at its own place anyway, or
// from a kernel of its own.
#pragma once

#include <thrt/emit/contraction_tiles.hpp>
#include <thrt/emit/cost.hpp>
#include <thrt/emit/kernel_impl.hpp>
#include <thrt/emit/plan.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace thrt::emit::detail {

class Fusion {
 public:
  enum class Kind : std::uint8_t { kKernel, kView, kRepeat };
  struct Group {
    Kind kind = Kind::kKernel;
    Unit unit;                     // of a kernel; otherwise roots are the results
    std::set<std::uint32_t> read;  // from memory, numbers left out
    double work_items = 0;
    std::size_t size = 0;  // evaluations of ops
    double repeated = 0;   // additions that other groups, or more of its own evaluations, do as well
    bool closed = false;   // takes nothing more in
    bool product = false;  // has one: its sums may be cut to pieces, which are an argument more
    bool tiled = false;    // has a product at its own place that work-groups compute in tiles
  };

  Fusion(const sdk::ProgramView& program, const Producers& producers, const Options& options)
      : program_(program),
        producers_(producers),
        options_(options),
        must_(program.value_count(), false),
        is_state_(program.value_count(), false),
        readers_(program.value_count()),
        group_of_(program.value_count(), kNone) {
    for (std::uint32_t s = 0; s < program.slot_count(); ++s) {
      const sdk::SlotView slot = program.slot(s);
      if (!slot.written()) continue;
      must_[slot.output_value] = true;
      if (slot.read()) is_state_[slot.output_value] = true;
    }
    for (std::size_t i = program.ops().size(); i-- > 0;) visit(program.ops()[i]);
  }

  // Every group after those it reads from.
  std::vector<const Group*> ordered() const {
    std::vector<const Group*> order;
    std::vector<bool> done(groups_.size(), false);
    // From the last group made to the first is nearly the program's order; a stack instead of recursion, for long chains.
    for (std::size_t g = groups_.size(); g-- > 0;) {
      std::vector<std::pair<std::size_t, bool>> stack = {{g, false}};
      while (!stack.empty()) {
        const auto [at, expanded] = stack.back();
        stack.pop_back();
        if (done[at]) continue;
        if (expanded) {
          done[at] = true;
          order.push_back(&groups_[at]);
          continue;
        }
        stack.emplace_back(at, true);
        for (const std::uint32_t value : groups_[at].read) {
          if (group_of_[value] != kNone && !done[group_of_[value]]) stack.emplace_back(group_of_[value], false);
        }
      }
    }
    return order;
  }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;
  struct Place {
    std::size_t group;
    int place;  // kOwn, or a number that stands for another flat index
    friend bool operator<(const Place& a, const Place& b) {
      return std::pair(a.group, a.place) < std::pair(b.group, b.place);
    }
  };
  static constexpr int kOwn = 0;

  bool is_number(std::uint32_t value) const {
    const sdk::OpView* op = producers_.of(value);
    return op != nullptr && is_splat(*op);
  }

  void visit(const sdk::OpView& op) {
    if (op.kind() == ir::OpKind::CONSTANT) return;
    if (op.kind() == ir::OpKind::REPEAT) return visit_repeat(op);
    const std::uint32_t value = op.result();
    const std::map<Place, double>& readers = readers_[value];
    if (readers.empty() && !must_[value]) return;  // nobody wants it
    if (op.result_type().elements() == 0) return;
    if (!must_[value] && options_.fuse && op.kind() != ir::OpKind::ARGSORT && pays(op, readers) &&
        has_room(op, readers)) {
      for (const auto& [place, evaluations] : readers) {
        groups_[place.group].repeated += repeated(op, readers, evaluations);
        take_in(op, place, evaluations);
      }
      return;
    }
    if (op.kind() == ir::OpKind::RESHAPE) return make_view(op);
    const std::size_t host = options_.fuse ? joinable(op, readers) : kNone;
    if (host != kNone) {
      Group& group = groups_[host];
      group.unit.roots.push_back(value);
      group_of_[value] = host;
      take_in(op, {host, kOwn}, group.work_items);
      return;
    }
    make_kernel(op);
  }

  void visit_repeat(const sdk::OpView& op) {
    Group group;
    group.kind = Kind::kRepeat;
    group.closed = true;
    for (std::uint32_t r = 0; r < op.result_count(); ++r) {
      group.unit.roots.push_back(op.result(r));
      group_of_[op.result(r)] = groups_.size();
    }
    for (const std::uint32_t operand : op.operands()) {
      group.read.insert(operand);
      must_[operand] = true;
    }
    groups_.push_back(std::move(group));
  }

  void make_view(const sdk::OpView& op) {
    Group group;
    group.kind = Kind::kView;
    group.closed = true;
    group.unit.roots = {op.result()};
    group.read = {op.operand(0)};
    must_[op.operand(0)] = true;
    group_of_[op.result()] = groups_.size();
    groups_.push_back(std::move(group));
  }

  void make_kernel(const sdk::OpView& op) {
    Group group;
    const std::size_t index = groups_.size();
    group.unit.roots = {op.result()};
    group.work_items = static_cast<double>(op.result_type().elements());
    // A row is sorted over and over, and a concat of many operands becomes several kernels: both read memory only.
    const bool is_wide = op.operands().size() + 1 > options_.max_arguments;
    group.closed = op.kind() == ir::OpKind::ARGSORT || is_wide;
    groups_.push_back(std::move(group));
    group_of_[op.result()] = index;
    take_in(op, {index, kOwn}, groups_[index].work_items);
  }

  // The op's result is computed in the group at this place.
  void take_in(const sdk::OpView& op, const Place& where, double evaluations) {
    Group& group = groups_[where.group];
    group.unit.inlined.insert(op.result());
    group.read.erase(op.result());
    ++group.size;
    const std::optional<Tiles> tiles = tiles_of(op, options_);
    group.product = group.product || is_contraction(op.kind());
    group.tiled = group.tiled || tiles.has_value();
    for (std::size_t i = 0; i < op.operands().size(); ++i) {
      const std::uint32_t operand = op.operand(i);
      if (is_number(operand)) continue;
      group.read.insert(operand);
      if (group.closed) must_[operand] = true;
      const int place = keeps_place(op, i) ? where.place : place_of(where, op.result(), i);
      const double reads = evaluations * (tiles.has_value() ? tiled_reads(op, i, *tiles, options_) : reads_of(op, i));
      double& known = readers_[operand][{where.group, place}];
      known = std::max(known, reads);
    }
  }

  int place_of(const Place& where, std::uint32_t value, std::size_t operand) {
    const auto key = std::tuple(where.group, where.place, value, operand);
    return places_.emplace(key, static_cast<int>(places_.size()) + 1).first->second;
  }

  // Computing it in all its readers: is that cheaper than a kernel and the memory?
  bool pays(const sdk::OpView& op, const std::map<Place, double>& readers) const {
    const double elements = static_cast<double>(op.result_type().elements()), cost = own_cost(op);
    const bool tiled = tiles_of(op, options_).has_value();
    double evaluations = 0;
    for (const auto& [place, count] : readers) {
      const Group& group = groups_[place.group];
      evaluations += count;
      // Where work-groups compute a product, it is the only one, at its own place, and what they load is no loop.
      if (tiled && (group.tiled || place.place != kOwn)) return false;
      if (group.tiled && place.place != kOwn && loop_length(op) > 8) return false;
      const double serial = cost * count / std::max(1.0, group.work_items);
      if (cost > 0 && count > group.work_items && serial > options_.serial_cost) return false;
      if (loop_length(op) > 8 && count > group.work_items) return false;
    }
    return std::all_of(readers.begin(), readers.end(), [&](const auto& reader) {
      const double before = groups_[reader.first.group].repeated;
      return before + repeated(op, readers, evaluations) <= options_.launch_cost + 2 * elements;
    });
  }

  // What `evaluations` of those that all readers make repeat, in additions: what is beyond one for each element.
  static double repeated(const sdk::OpView& op, const std::map<Place, double>& readers, double evaluations) {
    double all = 0;
    for (const auto& [place, count] : readers) all += count;
    const auto elements = static_cast<double>(op.result_type().elements());
    // Readers may want fewer than there are, as those of a slice do: that makes room for no other work.
    return all > elements ? own_cost(op) * (all - elements) * evaluations / all : 0;
  }

  bool has_room(const sdk::OpView& op, const std::map<Place, double>& readers) const {
    if (takes_many_arguments(op, readers)) return false;
    for (const auto& [place, count] : readers) {
      const Group& group = groups_[place.group];
      if (group.closed) return false;
      const std::size_t at = place.group;
      const auto places = static_cast<std::size_t>(
          std::count_if(readers.begin(), readers.end(), [at](const auto& other) { return other.first.group == at; }));
      if (group.size + places > options_.max_expression) return false;
      if (arguments_with(group, op, group.unit.roots.size()) > most_arguments(group, op)) return false;
    }
    return true;
  }

  // A number made from several others, as the norm of all gradients is, is one argument of each reader; what it is made from would be
  // several of each, and so fewer of them would share a kernel.
  bool takes_many_arguments(const sdk::OpView& op, const std::map<Place, double>& readers) const {
    if (op.result_type().elements() != 1) return false;
    std::map<std::size_t, std::size_t> added;  // by group
    for (const auto& [place, count] : readers) {
      const Group& group = groups_[place.group];
      const std::size_t before = group.read.size() + group.unit.roots.size();
      const std::size_t after = arguments_with(group, op, group.unit.roots.size());
      if (group.work_items > 1 && after > before) added[place.group] = after - before;
    }
    std::size_t total = 0;
    for (const auto& [group, count] : added) total += count;
    return added.size() > 1 && 8 * total > options_.max_arguments;
  }

  std::size_t most_arguments(const Group& group, const sdk::OpView& op) const {
    return options_.max_arguments - (group.product || is_contraction(op.kind()) ? 1 : 0);
  }
  std::size_t arguments_with(const Group& group, const sdk::OpView& op, std::size_t roots) const {
    std::size_t count = group.read.size() + roots - group.read.count(op.result());
    std::set<std::uint32_t> added;
    for (const std::uint32_t operand : op.operands()) {
      if (!is_number(operand) && group.read.count(operand) == 0) added.insert(operand);
    }
    return count + added.size();
  }

  // A reader that has the value at its own place for all its elements, and would not end up waiting for itself.
  std::size_t joinable(const sdk::OpView& op, const std::map<Place, double>& readers) const {
    if (op.kind() == ir::OpKind::ARGSORT) return kNone;
    for (const auto& [place, count] : readers) {
      const Group& group = groups_[place.group];
      if (group.closed || place.place != kOwn || group.kind != Kind::kKernel) continue;
      if (program_.type(group.unit.roots[0]).elements() != op.result_type().elements()) continue;
      if (group.tiled && tiles_of(op, options_).has_value()) continue;
      if (group.size + 1 > options_.max_expression) continue;
      if (arguments_with(group, op, group.unit.roots.size() + 1) > most_arguments(group, op)) continue;
      std::set<std::size_t> others;
      bool twice = false;
      for (const auto& [other, other_count] : readers) {
        if (other.group == place.group) {
          twice = twice || other.place != kOwn;
        } else {
          others.insert(other.group);
        }
      }
      // A number that an update of a state needs, and others too: those would run after the update, and some may read the old state.
      // In a kernel of its own it costs no launch where it can share one.
      if (options_.join && op.result_type().elements() == 1 && !others.empty() && updates_state(group)) continue;
      if (twice || waits_for(place.group, others, group_readers(op.result()))) continue;
      return place.group;
    }
    return kNone;
  }

  bool updates_state(const Group& group) const {
    return std::any_of(group.unit.roots.begin(), group.unit.roots.end(),
                       [&](std::uint32_t root) { return is_state_[root]; });
  }

  // Repeats and views read values without a place.
  std::set<std::size_t> group_readers(std::uint32_t value) const {
    std::set<std::size_t> found;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (groups_[g].kind != Kind::kKernel && groups_[g].read.count(value) != 0) found.insert(g);
    }
    return found;
  }

  bool waits_for(std::size_t start, const std::set<std::size_t>& a, const std::set<std::size_t>& b) const {
    if (a.empty() && b.empty()) return false;
    std::vector<std::size_t> stack = {start};
    std::set<std::size_t> seen = {start};
    while (!stack.empty()) {
      const std::size_t g = stack.back();
      stack.pop_back();
      for (const std::uint32_t value : groups_[g].read) {
        const std::size_t next = group_of_[value];
        if (next == kNone || !seen.insert(next).second) continue;
        if (a.count(next) != 0 || b.count(next) != 0) return true;
        stack.push_back(next);
      }
    }
    return false;
  }

  const sdk::ProgramView& program_;
  const Producers& producers_;
  const Options& options_;
  std::vector<bool> must_;                        // goes to memory, by value
  std::vector<bool> is_state_;                    // the new value of a slot that is read as well, by value
  std::vector<std::map<Place, double>> readers_;  // evaluations, by value
  std::vector<std::size_t> group_of_;             // that leaves a value in memory
  std::map<std::tuple<std::size_t, int, std::uint32_t, std::size_t>, int> places_;
  std::vector<Group> groups_;
};

}  // namespace thrt::emit::detail
