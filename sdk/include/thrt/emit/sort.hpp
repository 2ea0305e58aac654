// Behind emit.hpp: argsort by work-groups. A group has a block of a row in its memory and sorts it by Batcher's bitonic network (Batcher,
// "Sorting networks and their applications", AFIPS 1968): log2(P) * (log2(P) + 1) / 2 steps of P / 2 comparisons for a block of P.
// Elements become u32 keys in the same order, NaN last, and are compared together with their indices: no two are equal, so the result
// is the stable one whatever the network does.
//
// A row that does not fit is sorted in blocks, which go to the step's scratch memory; in a second stage each element finds its
// place by a binary search in every block: n / P * log2(P) steps for each of n elements. That is quadratic: a row of a million
// elements takes 5 * 10^9 loads in one launch, one of ten million 6 * 10^11, for which a display's watchdog may end the device.
// Rounds that merge blocks in pairs would take n * log2(n / P) * log2(n) instead.
#pragma once

#include <thrt/emit/kernel_impl.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace thrt::emit::detail {

// One more than the logarithm of a power of two: how often a search in so many halves them.
inline double halvings(std::int64_t size) {
  double count = 1;
  for (; size > 1; size /= 2) ++count;
  return count;
}

struct Sorting {
  std::int64_t rows, length;
  std::int64_t block = 1;  // a power of two, at most `most`

  Sorting(std::int64_t row_count, std::int64_t row_length, std::int64_t most) : rows(row_count), length(row_length) {
    while (block < std::min(length, most)) block *= 2;
  }
  std::int64_t blocks() const { return (length + block - 1) / block; }
};

// As many elements as a group's memory holds, at 8 bytes each.
inline std::int64_t most_sorted(const Options& options) {
  std::int64_t block = options.sorted_block;
  while (block > 1 && 8 * static_cast<std::uint64_t>(block) > options.max_shared_bytes) block /= 2;
  return block;
}

// The u32 whose order is that of the elements.
inline std::string sort_key(const Dialect& d, ir::DType dtype, const std::string& x) {
  if (dtype == ir::DType::kU32) return x;
  if (dtype == ir::DType::kI32) return cast(d, d.u32, x) + " ^ 2147483648u";
  const std::string bits = d.float_to_bits + "(" + x + ")";
  // A negative number's bits count down; both zeros are one.
  const std::string number = x + " < 0.0f ? ~" + bits + " : (" + x + " == 0.0f ? 0u : " + bits + ") ^ 2147483648u";
  return x + " != " + x + " ? 4294967295u : " + number;
}

inline Indices PartPrinter::sorted_place(const sdk::OpView& op, const Index& row, const Index& place) {
  const ir::Shape whole = op.operand_type(0).shape;
  const auto axis = static_cast<int>(op.attribute(0));
  ir::Shape others;
  for (int d = 0; d < whole.rank(); ++d) {
    if (d != axis) others.push_back(whole[d]);
  }
  Indices at = body_.unflatten(row, others);
  at.insert(at.begin() + axis, place);
  return at;
}

// Each group sorts a block of elements of the dtype, which `element` gives for a row and a place in it. `sorted` gets a row and a place
// where in the group's memory, @s0[u] and @s1[u], the key and the index are that belong there.
template <typename Element, typename Sorted>
void PartPrinter::sort_blocks(const Sorting& sorting, std::int64_t group_size, ir::DType dtype, Element&& element,
                              Sorted&& sorted) {
  const std::string u32 = d_.u32, index = body_.index_type();
  const auto unsigned_text = [](std::int64_t n) { return std::to_string(n) + "u"; };
  const std::string blocks = unsigned_text(sorting.blocks()), size = unsigned_text(sorting.block);
  const Index row = sorting.rows == 1 ? Index(0) : body_.variable(cast(d_, index, "group / " + blocks), sorting.rows);
  body_.line("const " + u32 + " first = " + (sorting.blocks() == 1 ? "0u" : "group % " + blocks + " * " + size) + ";");
  const double turns = static_cast<double>((sorting.block + group_size - 1) / group_size);
  const double logarithm = halvings(sorting.block) - 1;
  // `each` gets a place that is in the row.
  const auto places = [&](const std::string& before, const std::string& after, auto&& each) {
    const std::string step = unsigned_text(group_size);
    body_.counted_block("for (" + u32 + " u = item; u < " + size + "; u += " + step + ")", turns, [&] {
      body_.line("const " + u32 + " p = first + u;");
      if (!before.empty()) body_.line(before);
      body_.block("if (p < " + unsigned_text(sorting.length) + ")",
                  [&] { each(sorting.length == 1 ? Index(0) : body_.variable(cast(d_, index, "p"), sorting.length)); });
      if (!after.empty()) body_.line(after);
    });
  };
  places(u32 + " key = 4294967295u;", "@s0[u] = key; @s1[u] = p;", [&](const Index& place) {
    const std::string x = element(row, place);
    body_.line("key = " + sort_key(d_, dtype, x) + ";");
  });
  body_.counted_block("for (" + u32 + " run = 2u; run <= " + size + "; run <<= 1u)", logarithm, [&] {
    const double steps = (logarithm + 1) / 2;  // in the mean
    body_.counted_block("for (" + u32 + " step = run >> 1u; step > 0u; step >>= 1u)", steps, [&] {
      body_.line(d_.barrier);
      const std::string pairs = unsigned_text(sorting.block / 2), step = unsigned_text(group_size);
      body_.counted_block("for (" + u32 + " u = item; u < " + pairs + "; u += " + step + ")", turns, [&] {
        body_.line("const " + u32 + " x = 2u * u - (u & (step - 1u)), y = x + step;");
        body_.line("const " + u32 + " key_x = @s0[x], key_y = @s0[y], at_x = @s1[x], at_y = @s1[y];");
        body_.line("const bool after = key_x > key_y || (key_x == key_y && at_x > at_y);");
        body_.block("if (after == ((x & run) == 0u))", [&] {
          body_.line("@s0[x] = key_y;");
          body_.line("@s1[x] = at_y;");
          body_.line("@s0[y] = key_x;");
          body_.line("@s1[y] = at_x;");
        });
      });
    });
  });
  body_.line(d_.barrier);
  places("", "", [&](const Index& place) { sorted(row, place); });
}

// To scratch memory.
inline void PartPrinter::keep_sorted(const Sorting& sorting, const Index& row, const Index& place) {
  const std::string at = body_.variables.text(row * sorting.length + place);
  body_.line("@keys[" + at + "] = @s0[u];");
  body_.line("@order[" + at + "] = @s1[u];");
}

inline Part PartPrinter::finish_sorted(const Sorting& sorting, bool has_roots) {
  Part part = finish(sorting.rows * sorting.length, has_roots);
  part.groups = sorting.rows * sorting.blocks();
  part.shared = {{d_.u32, sorting.block}, {d_.u32, sorting.block}};
  if (!has_roots) add_sorted(part, sorting, true);
  return part;
}

// Rows of one block are the result.
inline Part PartPrinter::sorted_blocks(const Sorting& sorting, std::int64_t group_size) {
  const sdk::OpView& op = *producers_.of(unit_.roots[0]);
  const bool whole = sorting.blocks() == 1;
  const auto element = [&](const Index& row, const Index& place) {
    return body_.element(op.operand(0), sorted_place(op, row, place));
  };
  sort_blocks(sorting, group_size, op.operand_type(0).dtype, element, [&](const Index& row, const Index& place) {
    if (!whole) return keep_sorted(sorting, row, place);
    const Index at = body_.flatten(sorted_place(op, row, place), op.result_type().shape);
    store(unit_.roots[0], 0, at, cast(d_, d_.i32, "@s1[u]"));
  });
  return finish_sorted(sorting, whole);
}

// Each element of a sorted block finds how many of the row come before it.
inline Part PartPrinter::sorted_places(const Sorting& sorting) {
  const sdk::OpView& op = *producers_.of(unit_.roots[0]);
  const std::int64_t length = sorting.length;
  const std::string u32 = d_.u32, end = std::to_string(length) + "u", size = std::to_string(sorting.block) + "u";
  const Index own = work_item(sorting.rows * length);
  const Indices at = body_.unflatten(own, {sorting.rows, length});
  const std::string base = body_.variables.text(at[0] * length), mine = body_.variables.text(own);
  body_.line("const " + u32 + " key = @keys[" + mine + "], index = @order[" + mine + "];");
  body_.line(u32 + " before = 0u;");
  const std::string head = "for (" + u32 + " first = 0u; first < " + end + "; first += " + size + ")";
  body_.counted_block(head, static_cast<double>(sorting.blocks()), [&] {
    body_.line(u32 + " low = first, high = first + " + size + " < " + end + " ? first + " + size + " : " + end + ";");
    body_.counted_block("while (low < high)", halvings(sorting.block), [&] {
      body_.line("const " + u32 + " middle = (low + high) >> 1u;");
      const std::string place = base + " + " + cast(d_, body_.index_type(), "middle");
      body_.line("const " + u32 + " other = @keys[" + place + "];");
      body_.block("if (other < key || (other == key && @order[" + place + "] < index))",
                  [&] { body_.line("low = middle + 1u;"); });
      body_.block("else", [&] { body_.line("high = middle;"); });
    });
    body_.line("before += low - first;");
  });
  const Index place = body_.variable(cast(d_, body_.index_type(), "before"), length);
  store(unit_.roots[0], 0, body_.flatten(sorted_place(op, at[0], place), op.result_type().shape),
        cast(d_, d_.i32, "index"));
  Part part = finish(sorting.rows * length);
  part.stage = 1;
  add_sorted(part, sorting, false);
  return part;
}

// Keys and indices in scratch memory.
inline void PartPrinter::add_sorted(Part& part, const Sorting& sorting, bool written) const {
  const std::uint64_t bytes = 4 * static_cast<std::uint64_t>(sorting.rows * sorting.length);
  const std::uint64_t second = (bytes + sdk::kPlanAlignment - 1) / sdk::kPlanAlignment * sdk::kPlanAlignment;
  part.parameters.push_back({{THRT_NONE, written, 0, bytes}, d_.u32, "keys"});
  part.parameters.push_back({{THRT_NONE, written, second, bytes}, d_.u32, "order"});
}

// `memory` gets what the parts need between their stages.
inline std::vector<Part> argsort_parts(const sdk::ProgramView& program, const Producers& producers,
                                       const Dialect& dialect, const Unit& unit, const Options& options,
                                       sdk::PlanStep& memory) {
  const sdk::OpView& op = *producers.of(unit.roots[0]);
  const auto printer = [&] { return PartPrinter(program, producers, dialect, unit); };
  const std::int64_t length = op.operand_type(0).shape[static_cast<int>(op.attribute(0))];
  const Sorting sorting(op.operand_type(0).elements() / length, length, most_sorted(options));
  std::vector<Part> parts;
  if (sorting.length <= options.counted_row) {
    parts.push_back(printer().argsort());
    return parts;
  }
  parts.push_back(printer().sorted_blocks(sorting, options.group_size));
  if (sorting.blocks() > 1) {
    parts.push_back(printer().sorted_places(sorting));
    const Argument& last = parts.back().parameters.back().argument;
    memory.scratch_bytes = last.offset + last.bytes;
  }
  return parts;
}

}  // namespace thrt::emit::detail
