// Behind emit.hpp: the text by which work-groups compute a matrix product or convolution (contraction.hpp) in tiles.
//
// Work-item (ty, tx) of a group has the rows ty, ty + TY, ... and the columns tx, tx + TX, ... of the group's tile, so that
// neighbours write neighbouring elements and read neighbouring words of the group's memory. Per step the group
// has `depth` terms of the tile's rows and columns in its memory; while it works on them, the next ones are on their way to
// registers. What is read, with all ops fused into it, is pulled by Body as everywhere else.
#pragma once

#include <thrt/emit/contraction_alone.hpp>
#include <thrt/emit/contraction_tiles.hpp>
#include <thrt/emit/cost.hpp>
#include <thrt/emit/kernel_impl.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace thrt::emit::detail {

class TileLoop {
 public:
  TileLoop(Body& body, const Producers& producers, const Dialect& dialect, const Contraction& contraction,
           const Tiles& tiles, std::int64_t group_size)
      : body_(body),
        producers_(producers),
        d_(dialect),
        c_(contraction),
        tiles_(tiles),
        group_size_(group_size),
        size_(contraction, tiles, group_size),
        places_(body, contraction),
        clamped_(body) {}

  const TileSize& size() const { return size_; }
  std::vector<Part::Shared> shared() const {
    return {{"float", buffers() * left_.words()}, {"float", buffers() * right_.words()}};
  }
  const Index& split() const { return split_; }

  // Leaves the sums in variables.
  void print() {
    const std::string index = body_.index_type();
    const Index group = number(cast(d_, index, "group"), size_.groups(c_, tiles_));
    const Index item = number(cast(d_, index, "item"), group_size_);
    const Indices tile = body_.unflatten(group, {tiles_.splits, c_.batch, size_.tiles_m, size_.tiles_n});
    const Indices thread = body_.unflatten(item, {group_size_ / tiles_.thread_columns, tiles_.thread_columns});
    split_ = tile[0];
    batch_ = places_.batch_of(tile[1]);
    first_row_ = tile[2] * size_.rows;
    first_column_ = tile[3] * size_.columns;
    thread_row_ = thread[0];
    thread_column_ = thread[1];
    left_ = loader(item, size_.rows, terms_first(true), "x");
    right_ = loader(item, size_.columns, terms_first(false), "w");
    find_rows();
    declare();
    if (size_.split_steps == 1) {
      load(Index(0));
      store("0");
      body_.line(d_.barrier);
      multiply("0");
      return;
    }
    // Step t loads tile t and multiplies tile t - 1, whose memory the next step writes again.
    const std::string t = body_.name("r"), last = std::to_string(size_.split_steps);
    const std::string head = "for (" + index + " " + t + " = 0; " + t + " <= " + last + "; ++" + t + ")";
    body_.counted_block(head, static_cast<double>(size_.split_steps + 1), [&] {
      body_.block("if (" + t + " < " + last + ")", [&] { load(body_.variables.add(t, size_.split_steps)); });
      body_.block("if (" + t + " > 0)", [&] { multiply("(" + t + " + 1) % 2"); });
      body_.block("if (" + t + " < " + last + ")", [&] { store(t + " % 2"); });
      body_.line(d_.barrier);
    });
  }

  // `each` gets the indices of a result and its sum.
  template <typename Each>
  void results(Each&& each) {
    OwnPlaces own{batch_, {}, {}};
    for (std::int64_t i = 0; i < tiles_.rows; ++i)
      own.rows.push_back(first_row_ + thread_row_ + Index(i * (group_size_ / tiles_.thread_columns)));
    for (std::int64_t j = 0; j < tiles_.columns; ++j)
      own.columns.push_back(first_column_ + thread_column_ + Index(j * tiles_.thread_columns));
    own.results(body_, c_, [&](std::size_t i, std::size_t j, const Indices& at) { each(at, sum(i, j)); });
  }

 private:
  // How the work-items share the loads of an operand's part of a step: `length` rows or columns of `depth` terms.
  struct Loader {
    std::int64_t length = 0, depth = 0, padding = 0, count = 0;
    std::vector<Index> place, term;  // of each load
    std::vector<std::string> registers;

    std::int64_t pitch() const { return length + padding; }
    std::int64_t words() const { return depth * pitch(); }
  };

  std::int64_t buffers() const { return size_.split_steps == 1 ? 1 : 2; }
  template <typename Number>
  static std::string sum(Number i, Number j) {
    return "c" + std::to_string(i) + "_" + std::to_string(j);
  }

  Index number(const std::string& expression, std::int64_t extent) {
    return extent == 1 ? Index(0) : body_.variable(expression, extent);
  }

  Loader loader(const Index& item, std::int64_t length, bool terms_first, const char* prefix) {
    Loader l;
    l.length = length;
    l.depth = tiles_.depth;
    // So that neighbours that have neighbouring terms write to different banks, of which there are 32.
    l.padding = terms_first ? std::max<std::int64_t>(1, 32 / tiles_.depth) : 0;
    l.count = length * tiles_.depth / group_size_;
    const std::int64_t first = terms_first ? tiles_.depth : length;  // of which neighbours have neighbouring ones
    const std::int64_t wide = std::max<std::int64_t>(1, first / group_size_);
    Indices own = {Index(0), item};
    if (first < group_size_) own = body_.unflatten(item, {group_size_ / first, first});
    for (std::int64_t j = 0; j < l.count; ++j) {
      const Index near = own[1] + Index(j % wide * group_size_);
      const Index far = own[0] + Index(j / wide * std::max<std::int64_t>(1, group_size_ / first));
      l.place.push_back(terms_first ? far : near);
      l.term.push_back(terms_first ? near : far);
      l.registers.push_back(prefix + std::to_string(j));
    }
    return l;
  }

  // Are neighbouring terms, rather than neighbouring rows or columns, near each other in memory?
  bool terms_first(bool left) const {
    switch (c_.op->kind()) {
      case ir::OpKind::CONV2D:
        return left || c_.op->attribute(1) != 1;
      case ir::OpKind::CONV2D_GRAD_INPUT:
        return left;
      case ir::OpKind::CONV2D_GRAD_FILTER:
        return true;
      default:
        return (c_.op->attribute(left ? 0 : 1) == 1) != (left != swapped(c_.op->operand(left ? c_.left : c_.right)));
    }
  }
  // Is this matrix computed here as another's transpose?
  bool swapped(std::uint32_t value) const {
    bool result = false;
    while (body_.computes(value)) {
      const sdk::OpView& op = *producers_.of(value);
      const int rank = op.result_type().shape.rank();
      if (op.kind() == ir::OpKind::TRANSPOSE) {
        result = result != (op.attribute(static_cast<std::size_t>(rank - 1)) == rank - 2);
      } else if (!is_pointwise(op.kind())) {
        break;
      }
      value = op.operand(op.kind() == ir::OpKind::SELECT ? 1 : 0);
    }
    return result;
  }

  void find_rows() {
    for (const Index& place : left_.place) rows_.push_back(clamped_(first_row_ + place, c_.rows));
    clamped_.forget();
    for (const Index& place : right_.place)
      columns_.push_back(places_.column_of(clamped_(first_column_ + place, c_.columns)));
    clamped_.forget();
  }

  void declare() {
    for (std::int64_t i = 0; i < tiles_.rows; ++i) {
      std::string list;
      for (std::int64_t j = 0; j < tiles_.columns; ++j) list += (j == 0 ? "" : ", ") + sum(i, j) + " = 0.0f";
      body_.line("float " + list + ";");
    }
    for (const Loader* l : {&left_, &right_}) {
      std::string list;
      for (const std::string& each : l->registers) list += (list.empty() ? "" : ", ") + each;
      body_.line("float " + list + ";");
    }
  }

  void load(const Index& step) {
    clamped_.forget();
    const Index first = (split_ * size_.split_steps + step) * tiles_.depth;
    const auto each = [&](const Loader& l, std::size_t j, auto&& element) {
      const Index k = first + l.term[j];
      if (body_.variables.min(k) >= c_.depth) return body_.line(l.registers[j] + " = 0.0f;");
      std::string x = element(places_.term_of(clamped_(k, c_.depth)));
      if (body_.variables.max(k) >= c_.depth)
        x = body_.variables.text(k) + " < " + std::to_string(c_.depth) + " ? " + x + " : 0.0f";
      body_.line(l.registers[j] + " = " + x + ";");
    };
    for (std::size_t j = 0; j < left_.term.size(); ++j)
      each(left_, j, [&](const Indices& term) { return places_.left(batch_, rows_[j], term); });
    for (std::size_t j = 0; j < right_.term.size(); ++j)
      each(right_, j, [&](const Indices& term) { return places_.right(batch_, term, columns_[j]); });
  }

  void store(const std::string& buffer) {
    const auto each = [&](const Loader& l, const char* array) {
      const std::string base = buffer == "0" ? "" : buffer + " * " + std::to_string(l.words()) + " + ";
      for (std::size_t j = 0; j < l.term.size(); ++j) {
        const std::string at = body_.variables.text(l.term[j] * l.pitch() + l.place[j]);
        body_.line(std::string(array) + "[" + base + at + "] = " + l.registers[j] + ";");
      }
    };
    each(left_, "@s0");
    each(right_, "@s1");
  }

  void multiply(const std::string& buffer) {
    const std::string index = body_.index_type(), k = body_.name("k");
    const auto base = [&](const Loader& l) {
      return buffer == "0" ? "" : buffer + " * " + std::to_string(l.words()) + " + ";
    };
    const std::string of_left = base(left_), of_right = base(right_);
    const std::string head =
        "for (" + index + " " + k + " = 0; " + k + " < " + std::to_string(tiles_.depth) + "; ++" + k + ")";
    body_.counted_block(head, static_cast<double>(tiles_.depth), [&] {
      const auto read = [&](const Loader& l, const std::string& from, const char* array, const char* prefix,
                            std::int64_t count, const Index& own, std::int64_t stride) {
        for (std::int64_t i = 0; i < count; ++i) {
          const std::string at =
              k + " * " + std::to_string(l.pitch()) + " + " + body_.variables.text(own + Index(i * stride));
          body_.line("const float " + std::string(prefix) + std::to_string(i) + " = " + array + "[" + from + at + "];");
        }
      };
      read(left_, of_left, "@s0", "p", tiles_.rows, thread_row_, group_size_ / tiles_.thread_columns);
      read(right_, of_right, "@s1", "q", tiles_.columns, thread_column_, tiles_.thread_columns);
      for (std::int64_t i = 0; i < tiles_.rows; ++i) {
        for (std::int64_t j = 0; j < tiles_.columns; ++j) {
          body_.line(sum(i, j) + " = " + call(d_.fused, {"p" + std::to_string(i), "q" + std::to_string(j), sum(i, j)}) +
                     ";");
        }
      }
    });
  }

  Body& body_;
  const Producers& producers_;
  const Dialect& d_;
  const Contraction& c_;
  const Tiles tiles_;
  const std::int64_t group_size_;
  const TileSize size_;
  ContractionPlaces places_;
  Index split_, first_row_, first_column_, thread_row_, thread_column_;
  Indices batch_;
  Loader left_, right_;
  std::vector<Index> rows_;       // of each load of left
  std::vector<Indices> columns_;  // of each load of right
  Clamping clamped_;
};

// Who computes the products that a unit has at its own place.
struct ProductPlan {
  std::vector<Contraction> products;  // with the same rows and columns; one if there are tiles or pieces
  std::optional<Tiles> tiles;         // of work-groups
  OwnTile own;                        // of work-items, without those

  const Contraction& first() const { return products[0]; }
  std::int64_t pieces() const { return tiles.has_value() ? tiles->splits : own.pieces; }
  std::uint64_t scratch_bytes() const { return static_cast<std::uint64_t>(4 * pieces() * first().elements()); }
};

// Prints the sums; `each` gets a result's indices, its sums and the piece that they are of. What is left is to finish the part.
template <typename Each>
void PartPrinter::print_products(const ProductPlan& plan, const Options& options, Part& part, Each&& each) {
  if (plan.tiles.has_value()) {
    TileLoop loop(body_, producers_, d_, plan.first(), *plan.tiles, options.group_size);
    loop.print();
    loop.results(
        [&](const Indices& at, const std::string& sum) { each(at, std::vector<std::string>{sum}, loop.split()); });
    part.groups = loop.size().groups(plan.first(), *plan.tiles);
    part.shared = loop.shared();
    return;
  }
  part.work_items = plan.own.work_items(plan.first());
  const Index item = work_item(part.work_items);
  std::vector<OwnTileLoop> loops;
  for (const Contraction& product : plan.products) {
    loops.emplace_back(body_, d_, product, plan.own);
    loops.back().print(item);
  }
  loops[0].own().results(body_, plan.first(), [&](std::size_t i, std::size_t j, const Indices& at) {
    std::vector<std::string> sums;
    for (const OwnTileLoop& loop : loops) sums.push_back(loop.sum(i, j));
    each(at, sums, loops[0].piece());
  });
}

// All of a unit, in one stage.
Part PartPrinter::whole_products(const ProductPlan& plan, const Options& options, InPlace& in_place) {
  Part part;
  print_products(plan, options, part, [&](const Indices& at, const std::vector<std::string>& sums, const Index&) {
    const Index flat = body_.flatten(at, plan.first().op->result_type().shape);
    body_.set_own({flat});
    for (std::size_t i = 0; i < sums.size(); ++i) body_.set_product(plan.products[i].op->result(), flat, sums[i]);
    store_roots(flat);
  });
  add_in_place(in_place);
  Part finished = finish(plan.tiles.has_value() ? plan.first().elements() : part.work_items);
  finished.groups = part.groups;
  finished.shared = part.shared;
  return finished;
}

// The first of two stages: each piece of the sums goes to scratch, piece after piece.
Part PartPrinter::partial_sums(const ProductPlan& plan, const Options& options) {
  Part part;
  const std::int64_t elements = plan.first().elements();
  print_products(plan, options, part, [&](const Indices& at, const std::vector<std::string>& sums, const Index& piece) {
    const Index flat = body_.flatten(at, plan.first().op->result_type().shape) + piece * elements;
    body_.line("@p0[" + body_.variables.text(flat) + "] = " + sums[0] + ";");
  });
  Part finished = finish(plan.tiles.has_value() ? elements : part.work_items, false);
  finished.groups = part.groups;
  finished.shared = part.shared;
  finished.parameters.push_back({{THRT_NONE, true, 0, plan.scratch_bytes()}, "float", "p0"});
  return finished;
}

// The second: adds the pieces up in their order and computes what follows.
Part PartPrinter::total_sums(const ProductPlan& plan, InPlace& in_place) {
  const std::int64_t elements = plan.first().elements();
  const Index own = work_item(elements);
  const std::string sum = body_.name("s");
  body_.line("float " + sum + " = 0.0f;");
  body_.loop(plan.pieces(), [&](const Index& piece) {
    body_.line(sum + " = " + sum + " + @p0[" + body_.variables.text(piece * elements + own) + "];");
  });
  body_.set_own({own});
  body_.set_product(plan.first().op->result(), own, sum);
  store_roots(own);
  add_in_place(in_place);
  Part part = finish(elements);
  part.stage = 1;
  part.parameters.push_back({{THRT_NONE, false, 0, plan.scratch_bytes()}, "float", "p0"});
  return part;
}

// The products and convolutions that a unit has at its own place, the longest sums first.
inline std::vector<Contraction> own_contractions(const Producers& producers, const Unit& unit) {
  std::vector<Contraction> found;
  std::vector<std::uint32_t> stack(unit.roots.begin(), unit.roots.end());
  std::set<std::uint32_t> seen;
  while (!stack.empty()) {
    const std::uint32_t value = stack.back();
    stack.pop_back();
    if (unit.inlined.count(value) == 0 || !seen.insert(value).second) continue;
    const sdk::OpView& op = *producers.of(value);
    if (is_contraction(op.kind())) found.push_back(contraction_of(op));
    for (std::size_t i = 0; i < op.operands().size(); ++i) {
      if (keeps_place(op, i)) stack.push_back(op.operand(i));
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Contraction& a, const Contraction& b) { return a.depth > b.depth; });
  return found;
}

inline bool same_places(const Contraction& a, const Contraction& b) {
  const bool attributes =
      a.op->kind() == ir::OpKind::MATMUL || std::equal(a.op->attributes().begin(), a.op->attributes().end(),
                                                       b.op->attributes().begin(), b.op->attributes().end());
  return a.op->kind() == b.op->kind() && attributes && a.op->result_type().shape == b.op->result_type().shape &&
         a.batch == b.batch && a.rows == b.rows && a.columns == b.columns;
}

// The parts of a unit with such products, or none if it has none or each element is computed alone.
inline std::vector<Part> contraction_parts(const sdk::ProgramView& program, const Producers& producers,
                                           const Dialect& dialect, const Unit& unit, const Options& options,
                                           sdk::PlanStep& memory) {
  const std::vector<Contraction> found = own_contractions(producers, unit);
  if (found.empty()) return {};
  const auto ops = static_cast<std::int64_t>(unit.inlined.size());
  ProductPlan plan;
  for (const Contraction& each : found) {
    plan.tiles = tiles_for(each, options);
    plan.products = {each};
    if (plan.tiles.has_value()) break;
  }
  bool is_two = plan.pieces() > 1;
  if (plan.tiles.has_value()) {
    // What follows the product is printed for each element of a work-item's tile.
    constexpr std::int64_t kMostText = 1024;
    is_two = is_two || ops * plan.tiles->rows * plan.tiles->columns > kMostText;
    for (const std::uint32_t value : unit.inlined)
      is_two = is_two || (value != plan.first().op->result() && loop_length(*producers.of(value)) > 8);
  } else {
    plan.products = {found[0]};
    plan.own = own_tile(found[0], options, ops, dialect.most_turns);
    is_two = plan.own.pieces > 1;
    if (plan.own.rows * plan.own.columns * plan.own.pieces == 1) return {};
    for (std::size_t i = 1; i < found.size() && !is_two; ++i) {
      if (same_places(found[0], found[i])) plan.products.push_back(found[i]);
    }
  }
  std::vector<Part> parts;
  if (!is_two) {
    parts.push_back(PartPrinter(program, producers, dialect, unit).whole_products(plan, options, memory.in_place));
    return parts;
  }
  parts.push_back(PartPrinter(program, producers, dialect, unit).partial_sums(plan, options));
  parts.push_back(PartPrinter(program, producers, dialect, unit).total_sums(plan, memory.in_place));
  memory.scratch_bytes = plan.scratch_bytes();
  return parts;
}

}  // namespace thrt::emit::detail
