// Behind emit.hpp: scatter_add of many updates without atomics. A first stage sorts the indices (sort.hpp), stably, in blocks; then each
// element of the result finds the updates that are its own by a binary search in every block and adds them in their order:
// K / P * log2(P) steps and its own updates for each element, with K indices in blocks of P, instead of K.
#pragma once

#include <thrt/emit/cost.hpp>
#include <thrt/emit/sort.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace thrt::emit::detail {

inline Part PartPrinter::sorted_indices(const sdk::OpView& op, const Sorting& sorting, std::int64_t group_size) {
  const auto element = [&](const Index&, const Index& place) {
    return body_.element(op.operand(1), body_.unflatten(place, op.operand_type(1).shape));
  };
  sort_blocks(sorting, group_size, ir::DType::kI32, element,
              [&](const Index& row, const Index& place) { keep_sorted(sorting, row, place); });
  return finish_sorted(sorting, false);
}

inline std::string PartPrinter::add_sorted_updates(const sdk::OpView& op, const Sorting& sorting, const Indices& at) {
  const ir::DType dtype = op.result_type().dtype;
  const auto axis = static_cast<std::ptrdiff_t>(op.attribute(0));
  const std::string u32 = d_.u32, end = std::to_string(sorting.length) + "u",
                    size = std::to_string(sorting.block) + "u";
  const std::string sum = body_.accumulator(dtype, body_.element(op.operand(0), at));
  const std::string index = cast(d_, d_.i32, body_.variables.text(at[static_cast<std::size_t>(axis)]));
  body_.line("const " + u32 + " key = " + sort_key(d_, ir::DType::kI32, index) + ";");
  const std::string head = "for (" + u32 + " first = 0u; first < " + end + "; first += " + size + ")";
  const auto blocks = static_cast<double>(sorting.blocks());
  body_.counted_block(head, blocks, [&] {
    body_.line("const " + u32 + " last = first + " + size + " < " + end + " ? first + " + size + " : " + end + ";");
    body_.line(u32 + " low = first, high = last;");
    body_.counted_block("while (low < high)", halvings(sorting.block), [&] {
      body_.line("const " + u32 + " middle = (low + high) >> 1u;");
      body_.block("if (@keys[middle] < key)", [&] { body_.line("low = middle + 1u;"); });
      body_.block("else", [&] { body_.line("high = middle;"); });
    });
    // All updates may be of one element.
    const double updates = 1 + static_cast<double>(sorting.length) / blocks;
    body_.counted_block("for (" + u32 + " u = low; u < last; ++u)", updates, [&] {
      body_.line("if (@keys[u] != key) break;");
      const Index update =
          sorting.length == 1 ? Index(0) : body_.variable(cast(d_, body_.index_type(), "@order[u]"), sorting.length);
      const Indices place = body_.unflatten(update, op.operand_type(1).shape);
      Indices source(at.begin(), at.begin() + axis);
      source.insert(source.end(), place.begin(), place.end());
      source.insert(source.end(), at.begin() + axis + 1, at.end());
      body_.add_to(dtype, sum, body_.element(op.operand(2), source));
    });
  });
  return body_.finished(dtype, sum);
}

// Nothing if the op's result is only wanted inside loops or conditions, or several times.
inline std::optional<Part> PartPrinter::scattered(const sdk::OpView& op, const Sorting& sorting, InPlace& in_place) {
  int times = 0;
  body_.together = [&](const sdk::OpView& other, const Indices& at) -> std::optional<std::string> {
    if (&other != &op) return std::nullopt;
    ++times;
    return add_sorted_updates(op, sorting, at);
  };
  Part part = pulled(in_place);
  body_.together = nullptr;
  if (times != 1) return std::nullopt;
  part.stage = 1;
  add_sorted(part, sorting, false);
  return part;
}

// The parts of a kernel that adds up many updates; none if there is none such in it.
inline std::vector<Part> scatter_parts(const sdk::ProgramView& program, const Producers& producers,
                                       const Dialect& dialect, const Unit& unit, const Options& options,
                                       sdk::PlanStep& memory) {
  for (const std::uint32_t value : unit.inlined) {
    const sdk::OpView& op = *producers.of(value);
    if (op.kind() != ir::OpKind::SCATTER_ADD) continue;
    const std::int64_t indices = op.operand_type(1).elements(), results = op.result_type().elements();
    if (indices == 0 || results <= options.compared_indices / indices) continue;
    const Sorting sorting(1, indices, most_sorted(options));
    // All updates may be of one element.
    const double turns = static_cast<double>(indices) + 16.0 * static_cast<double>(sorting.blocks());
    if (dialect.most_turns > 0 && turns > static_cast<double>(dialect.most_turns) / 2) continue;
    InPlace in_place;
    std::optional<Part> adding = PartPrinter(program, producers, dialect, unit).scattered(op, sorting, in_place);
    if (!adding || adding->parameters.size() > options.max_arguments) continue;
    std::vector<Part> parts;
    parts.push_back(PartPrinter(program, producers, dialect, unit).sorted_indices(op, sorting, options.group_size));
    const Argument& last = parts.back().parameters.back().argument;
    memory.scratch_bytes = last.offset + last.bytes;
    parts.push_back(std::move(*adding));
    memory.in_place = std::move(in_place);
    return parts;
  }
  return {};
}

}  // namespace thrt::emit::detail
