// Behind emit.hpp: reductions by work-groups. A kernel with few results that loops over many terms is slow with one work-item for each
// result. Here a team of work-items shares each loop: every one of them folds each `lanes`-th term, and what they have is
// folded in the group's memory, always in the same tree, so that the bits are the same each time. The terms are whatever the
// kernel computes per term, pulled by Body, and all of the team know the result, from which one of them computes the
// kernel's results. Several reductions of one kernel follow each other.
//
// Neighbouring work-items take neighbouring terms of one result, or, where the operand's last axis stays (a sum over the rows of
// a matrix), the same terms of neighbouring results: both ways neighbours read neighbouring memory.
//
// Where that leaves the device mostly idle, a reduction comes in pieces: parts of an earlier stage leave a result for each
// piece in the step's scratch memory, and the kernel folds those.
//
// An error bound: a sum of n terms has n - 1 additions in any tree, which is what ops.def allows.
#pragma once

#include <thrt/emit/cost.hpp>
#include <thrt/emit/kernel_impl.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace thrt::emit::detail {

inline bool is_fold(const sdk::OpView& op) {
  return op.kind() == ir::OpKind::REDUCE_SUM || op.kind() == ir::OpKind::REDUCE_MAX || op.kind() == ir::OpKind::ARGMAX;
}

inline std::int64_t power_of_two_up_to(std::int64_t n) {
  std::int64_t power = 1;
  while (2 * power <= n) power *= 2;
  return power;
}

// How the groups of a part share work: `lanes` work-items for each of `results`, several results per group.
struct Team {
  std::int64_t results = 1, lanes = 1, group_size = 64;
  bool columns = false;  // neighbouring work-items have neighbouring results
  std::int64_t splits = 1;

  std::int64_t per_group() const { return group_size / lanes; }
  std::int64_t blocks() const { return (results + per_group() - 1) / per_group(); }
};

// Prints the head of a team's part and its reductions.
class TeamLoop {
 public:
  TeamLoop(Body& body, const Dialect& dialect, const Team& team) : body_(body), d_(dialect), team_(team) {}

  // Group memory, in the order of its names.
  std::vector<Part::Shared> shared;

  // Declares who this work-item is; the flat index of its result. Those beyond the last result work on the last, for the barriers.
  Index begin() {
    const std::string index = body_.index_type();
    const std::string width = std::to_string(team_.columns ? team_.per_group() : team_.lanes) + "u";
    lane_ = number(cast(d_, index, team_.columns ? "item / " + width : "item % " + width), team_.lanes);
    std::string block = "group";
    if (team_.splits > 1) {
      const std::string splits = std::to_string(team_.splits) + "u";
      split_ = number(cast(d_, index, "group % " + splits), team_.splits);
      block += " / " + splits;
    }
    if (team_.results == 1) return Index(0);
    const std::string within = team_.columns ? "item % " + width : "item / " + width;
    const std::string place =
        cast(d_, index, block) + " * " + std::to_string(team_.per_group()) + " + " + cast(d_, index, within);
    if (team_.blocks() * team_.per_group() == team_.results) return number(place, team_.results);
    const std::string last = std::to_string(team_.results - 1);
    body_.line("const " + index + " place = " + place + ";");
    has_rest_ = true;
    return number("place > " + last + " ? " + last + " : place", team_.results);
  }

  const Index& split() const { return split_; }

  // The condition under which a work-item stores its team's result.
  std::string stores() const {
    std::vector<std::string> conditions;
    if (team_.lanes > 1) conditions.push_back(body_.variables.text(lane_) + " == 0");
    if (has_rest_) conditions.push_back("place < " + std::to_string(team_.results));
    if (team_.results == 1 && team_.per_group() > 1)
      conditions.push_back("item < " + std::to_string(team_.lanes) + "u");
    return Body::all(conditions);
  }

  // The result of `op` at `at`, in all work-items of the team. The accumulator of a sum is not yet rounded to the op's dtype.
  std::string fold(const sdk::OpView& op, const Indices& at) {
    if (op.kind() == ir::OpKind::ARGMAX) return argmax(op, at);
    const std::vector<std::int64_t> dims = Body::folded_dims(op);
    ir::Shape terms;
    for (const std::int64_t dim : dims) terms.push_back(dim);
    const std::string sum = body_.accumulator(op.operand_type(0).dtype, body_.fold_start(op));
    loop(terms.elements(), [&](const Index& term) {
      const Indices place = Body::folded_place(op, at, body_.unflatten(term, terms));
      body_.fold(op, sum, body_.element(op.operand(0), place));
    });
    tree_of(op, sum);
    return sum;
  }

  // Folds `count` terms, each an expression of its index.
  template <typename Term>
  std::string fold_terms(const sdk::OpView& op, std::int64_t count, Term&& term) {
    const std::string sum = body_.accumulator(op.operand_type(0).dtype, body_.fold_start(op));
    loop(count, [&](const Index& index) { body_.fold(op, sum, term(index)); });
    tree_of(op, sum);
    return sum;
  }

 private:
  Index number(const std::string& expression, std::int64_t extent) {
    return extent == 1 ? Index(0) : body_.variable(expression, extent);
  }

  // Those of [0, count) that are this work-item's. All work-items take the same number of turns, so that a compiler may let them
  // run in the lanes of one register.
  template <typename Inside>
  void loop(std::int64_t count, Inside&& inside) {
    const std::int64_t step = team_.lanes * team_.splits, turns = (count + step - 1) / step;
    const Index first = lane_ + split_ * team_.lanes;
    body_.loop(turns, [&](const Index& turn) {
      const Index index = turn * step + first;
      std::vector<std::string> conditions;
      if (!body_.require_inside(index, count, conditions)) return;
      const auto bounded = [&] { inside(body_.bounded(index, count)); };
      conditions.empty() ? bounded() : body_.block("if (" + Body::all(conditions) + ")", bounded);
    });
  }

  std::string shared_array(const std::string& type, std::size_t nth) {
    std::size_t seen = 0;
    for (std::size_t i = 0; i < shared.size(); ++i) {
      if (shared[i].type == type && seen++ == nth) return "@s" + std::to_string(i);
    }
    shared.push_back({type, team_.group_size});
    return "@s" + std::to_string(shared.size() - 1);
  }
  std::string slot(const std::string& array, const std::string& lane) const {
    const std::string stride = std::to_string(team_.columns ? team_.per_group() : 1);
    const std::string base = team_.columns ? cast(d_, d_.i32, "item") + " % " + stride
                                           : cast(d_, d_.i32, "item") + " / " + std::to_string(team_.lanes) + " * " +
                                                 std::to_string(team_.lanes);
    return array + "[" + base + " + (" + lane + ")" + (stride == "1" ? "" : " * " + stride) + "]";
  }

  // Eight into one, until no more than eight are left, which all fold for themselves. `put` writes what this work-item has for a
  // lane, `take` makes what a lane has its own, `into` folds what a lane has into its own.
  template <typename Put, typename Take, typename Into>
  void tree(Put&& put, Take&& take, Into&& into) {
    if (team_.lanes == 1) return;
    const std::string lane = cast(d_, d_.i32, body_.variables.text(lane_));
    if (used_) body_.line(d_.barrier);  // what lies there is still read
    used_ = true;
    put(lane);
    body_.line(d_.barrier);
    std::int64_t width = team_.lanes;
    while (width > kMost) {
      const std::int64_t next = std::max(width / kMost, kMost);
      body_.block("if (" + lane + " < " + std::to_string(next) + ")", [&] {
        for (std::int64_t i = 1; i < width / next; ++i) into(lane + " + " + std::to_string(i * next));
        put(lane);
      });
      body_.line(d_.barrier);
      width = next;
    }
    take("0");
    for (std::int64_t i = 1; i < width; ++i) into(std::to_string(i));
  }

  void tree_of(const sdk::OpView& op, const std::string& sum) {
    const ir::DType dtype = op.operand_type(0).dtype;
    const std::string array = shared_array(register_type(d_, dtype), 0);
    const auto take = [&](const std::string& lane) { body_.line(sum + " = " + slot(array, lane) + ";"); };
    const auto put = [&](const std::string& lane) { body_.line(slot(array, lane) + " = " + sum + ";"); };
    const auto into = [&](const std::string& lane) { body_.fold(op, sum, body_.assigned(dtype, slot(array, lane))); };
    tree(put, take, into);
  }

  // NaN is the largest; of equals the first.
  std::string argmax(const sdk::OpView& op, const Indices& at) {
    const ir::Type from = op.operand_type(0);
    const auto axis = static_cast<std::ptrdiff_t>(op.attribute(0));
    const std::int64_t length = from.shape[static_cast<int>(axis)];
    const auto element = [&](const Index& index) {
      Indices all = at;
      all.insert(all.begin() + axis, index);
      return body_.element(op.operand(0), all);
    };
    const bool is_float = ir::is_float(from.dtype);
    const std::string best = body_.accumulator(from.dtype, element(Index(0)));
    const std::string found = body_.accumulator(ir::DType::kI32, "0");
    const auto better = [&](const std::string& x, const std::string& index) {
      const std::string equal =
          x + " == " + best + (is_float ? " || (" + x + " != " + x + " && " + best + " != " + best + ")" : "");
      const std::string more =
          x + " > " + best + (is_float ? " || (" + x + " != " + x + " && " + best + " == " + best + ")" : "");
      body_.block("if (" + more + " || ((" + equal + ") && " + index + " < " + found + "))", [&] {
        body_.line(best + " = " + x + ";");
        body_.line(found + " = " + index + ";");
      });
    };
    loop(length, [&](const Index& index) {
      const std::string x = element(index);
      better(x, cast(d_, d_.i32, body_.variables.text(index)));
    });
    const std::string type = register_type(d_, from.dtype);
    const std::string values = shared_array(type, 0), places = shared_array(d_.i32, type == d_.i32 ? 1 : 0);
    const auto put = [&](const std::string& lane) {
      body_.line(slot(values, lane) + " = " + best + ";");
      body_.line(slot(places, lane) + " = " + found + ";");
    };
    const auto into = [&](const std::string& lane) {
      const std::string x = body_.assigned(from.dtype, slot(values, lane));
      better(x, body_.assigned(ir::DType::kI32, slot(places, lane)));
    };
    tree(put, into, into);
    return found;
  }

  static constexpr std::int64_t kMost = 8;
  Body& body_;
  const Dialect& d_;
  Team team_;
  Index lane_, split_;
  bool has_rest_ = false, used_ = false;
};

}  // namespace thrt::emit::detail
