// Behind emit.hpp: a part for work-items from the values it computes.
#pragma once

#include <thrt/emit/body.hpp>
#include <thrt/emit/part.hpp>
#include <thrt/emit/plan.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace thrt::emit::detail {

// What a kernel computes: `roots` go to memory, `inlined` (roots included) are computed, all else is read.
struct Unit {
  std::vector<std::uint32_t> roots;
  std::set<std::uint32_t> inlined;
};

// Results and the operands in whose memory they may lie.
using InPlace = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

struct ProductPlan;
struct Reductions;
struct Sorting;
struct Team;

class PartPrinter {
 public:
  PartPrinter(const sdk::ProgramView& program, const Producers& producers, const Dialect& dialect, const Unit& unit)
      : program_(program),
        producers_(producers),
        d_(dialect),
        unit_(unit),
        body_(program, producers, dialect, unit.inlined) {}

  // All elements of the roots. `in_place` gets the pairs that plan_memory may use.
  Part pulled(InPlace& in_place) {
    const std::int64_t elements = program_.type(unit_.roots[0]).elements();
    const Index own = work_item(elements);
    body_.set_own({own});
    store_roots(own);
    add_in_place(in_place);
    return finish(elements);
  }

  // Behind contraction_part.hpp.
  inline Part whole_products(const ProductPlan& plan, const Options& options, InPlace& in_place);
  inline Part partial_sums(const ProductPlan& plan, const Options& options);
  inline Part total_sums(const ProductPlan& plan, InPlace& in_place);

  // Behind reduction_plan.hpp.
  inline std::vector<const sdk::OpView*> shared_folds();
  inline Part shared_loops(const Reductions& plan, InPlace& in_place);
  inline Part pieces(const Reductions& plan, const sdk::OpView& op, const Team& team);

  // Behind sort.hpp.
  inline Part sorted_blocks(const Sorting& sorting, std::int64_t group_size);
  inline Part sorted_places(const Sorting& sorting);

  // Behind scatter.hpp.
  inline Part sorted_indices(const sdk::OpView& op, const Sorting& sorting, std::int64_t group_size);
  inline std::optional<Part> scattered(const sdk::OpView& op, const Sorting& sorting, InPlace& in_place);

  // The part of a concat's result that lies in [first, last) along its axis.
  Part concat_part(std::int64_t first, std::int64_t last) {
    const std::uint32_t root = unit_.roots[0];
    const auto axis = static_cast<int>(producers_.of(root)->attribute(0));
    const ir::Shape whole = program_.type(root).shape;
    ir::Shape part = whole;
    part.set(axis, last - first);
    const Index own = work_item(part.elements());
    Indices at = body_.unflatten(own, part);
    at[static_cast<std::size_t>(axis)] = at[static_cast<std::size_t>(axis)] + Index(first);
    const std::string result = body_.element(root, at);
    store(root, 0, body_.flatten(at, whole), result);
    return finish(part.elements());
  }

  // A work-item counts how many elements of its row come before its own: that is where its index goes.
  Part argsort() {
    const sdk::OpView& op = *producers_.of(unit_.roots[0]);
    const ir::Type from = op.operand_type(0);
    const auto axis = static_cast<std::size_t>(op.attribute(0));
    const std::int64_t length = from.shape[static_cast<int>(axis)];
    const Index own = work_item(from.elements());
    Indices at = body_.unflatten(own, from.shape);
    const Index mine = at[axis];
    const std::string x = body_.element(op.operand(0), at), place = body_.name("s");
    body_.line(d_.i32 + " " + place + " = 0;");
    body_.loop(length, [&](const Index& other) {
      at[axis] = other;
      const std::string y = body_.element(op.operand(0), at);
      const bool is_float = ir::is_float(from.dtype);
      const std::string before =
          y + " < " + x + (is_float ? " || (" + x + " != " + x + " && " + y + " == " + y + ")" : "");
      const std::string equal =
          y + " == " + x + (is_float ? " || (" + x + " != " + x + " && " + y + " != " + y + ")" : "");
      body_.line("if (" + before + " || ((" + equal + ") && " + body_.variables.text(other) + " < " +
                 body_.variables.text(mine) + ")) ++" + place + ";");
    });
    at[axis] = length == 1 ? Index(0) : body_.variables.add(place, length);
    store(unit_.roots[0], 0, body_.flatten(at, from.shape), cast(d_, d_.i32, body_.variables.text(mine)));
    return finish(from.elements());
  }

 private:
  static inline Argument scratch(const Reductions& plan, bool written);
  inline Indices sorted_place(const sdk::OpView& op, const Index& row, const Index& place);
  inline void add_sorted(Part& part, const Sorting& sorting, bool written) const;
  template <typename Element, typename Sorted>
  void sort_blocks(const Sorting& sorting, std::int64_t group_size, ir::DType dtype, Element&& element,
                   Sorted&& sorted);
  inline void keep_sorted(const Sorting& sorting, const Index& row, const Index& place);
  inline Part finish_sorted(const Sorting& sorting, bool has_roots);
  inline std::string add_sorted_updates(const sdk::OpView& op, const Sorting& sorting, const Indices& at);

  Index work_item(std::int64_t count) { return count == 1 ? Index(0) : body_.variables.add("i", count); }

  template <typename Each>
  void print_products(const ProductPlan& plan, const Options& options, Part& part, Each&& each);

  void store(std::uint32_t root, std::size_t result, const Index& at, const std::string& element) {
    const std::string stored = to_memory(d_, program_.type(root).dtype, element, body_.functions);
    body_.line("@y" + std::to_string(result) + "[" + body_.variables.text(at) + "] = " + stored + ";");
  }

  // The roots' elements at this flat index. All are computed before one is stored: its memory may be what another reads.
  void store_roots(const Index& flat) {
    std::vector<std::string> results;
    for (const std::uint32_t root : unit_.roots)
      results.push_back(body_.element(root, body_.unflatten(flat, program_.type(root).shape)));
    for (std::size_t r = 0; r < unit_.roots.size(); ++r) store(unit_.roots[r], r, flat, results[r]);
  }

  void add_in_place(InPlace& in_place) const {
    for (const std::uint32_t root : unit_.roots) {
      for (const std::uint32_t value : body_.read) {
        if (body_.read_elsewhere.count(value) != 0) continue;
        const ir::Type from = program_.type(value), to = program_.type(root);
        const bool same_places =
            from.elements() == to.elements() && ir::dtype_size(from.dtype) == ir::dtype_size(to.dtype);
        if (same_places) in_place.emplace_back(root, value);
      }
    }
  }

  Part finish(std::int64_t count, bool has_roots = true) {
    Part part;
    part.title = title();
    part.body = std::move(body_.text);
    part.functions = body_.functions;
    part.work_items = count;
    part.wide = body_.index_type() == d_.i64;
    part.roots = unit_.roots;
    const auto add = [&](std::uint32_t value, const std::string& name, bool written) {
      part.parameters.push_back({{value, written}, stored_type(d_, program_.type(value).dtype), name});
    };
    for (std::size_t i = 0; i < body_.read.size(); ++i) add(body_.read[i], "a" + std::to_string(i), false);
    if (!has_roots) {
      part.roots.clear();
      return part;
    }
    for (std::size_t i = 0; i < unit_.roots.size(); ++i) add(unit_.roots[i], "y" + std::to_string(i), true);
    return part;
  }

  // The first root's op and the most costly other one, so that a profile can be read.
  std::string title() const {
    std::string text(producers_.of(unit_.roots[0])->name());
    for (const std::uint32_t value : unit_.inlined) {
      const sdk::OpView& op = *producers_.of(value);
      const bool is_loop = op.info().ulps == ir::kUlpsSum || op.kind() == ir::OpKind::REDUCE_MAX;
      if (is_loop && value != unit_.roots[0] && text.find(op.name()) == std::string::npos)
        text += "_" + std::string(op.name());
    }
    return text.substr(0, 48);
  }

  const sdk::ProgramView& program_;
  const Producers& producers_;
  const Dialect& d_;
  const Unit& unit_;
  Body body_;
};

}  // namespace thrt::emit::detail
