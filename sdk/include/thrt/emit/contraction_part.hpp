// Behind emit.hpp: the text by which work-groups compute a matrix product or convolution (contraction.hpp) in tiles.
//
// Work-item (ty, tx) of a group has the rows ty, ty + TY, ... and the columns tx, tx + TX, ... of the group's tile, so that
// neighbours write neighbouring elements and read neighbouring words of the group's memory. Per step the group
// has `depth` terms of the tile's rows and columns in its memory; while it works on them, the next ones are on their way to
// registers. What is read, with all ops fused into it, is pulled by Body as everywhere else.
#pragma once

#include <thrt/emit/contraction_tiles.hpp>
#include <thrt/emit/cost.hpp>
#include <thrt/emit/kernel_impl.hpp>

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
        places_(body, contraction) {}

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
    body_.block("for (" + index + " " + t + " = 0; " + t + " <= " + last + "; ++" + t + ")", [&] {
      body_.block("if (" + t + " < " + last + ")", [&] { load(body_.variables.add(t, size_.split_steps)); });
      body_.block("if (" + t + " > 0)", [&] { multiply("(" + t + " + 1) % 2"); });
      body_.block("if (" + t + " < " + last + ")", [&] { store(t + " % 2"); });
      body_.line(d_.barrier);
    });
  }

  // `each` gets the indices of a result and its sum.
  template <typename Each>
  void results(Each&& each) {
    clamped_.clear();
    for (std::int64_t j = 0; j < tiles_.columns; ++j) {
      const Index n = first_column_ + thread_column_ + Index(j * tiles_.thread_columns);
      std::vector<std::string> in_column;
      if (!body_.require_inside(n, c_.columns, in_column)) continue;
      const Indices column = places_.column_of(clamped(n, c_.columns));
      for (std::int64_t i = 0; i < tiles_.rows; ++i) {
        const Index m = first_row_ + thread_row_ + Index(i * (group_size_ / tiles_.thread_columns));
        std::vector<std::string> conditions = in_column;
        if (!body_.require_inside(m, c_.rows, conditions)) continue;
        const Indices at = places_.result(batch_, clamped(m, c_.rows), column, conditions);
        body_.when(conditions, [&] { each(places_.inside(at), sum(i, j)); });
      }
    }
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
  static std::string sum(std::int64_t i, std::int64_t j) { return "c" + std::to_string(i) + "_" + std::to_string(j); }

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

  // What is beyond the last row or column reads the last one instead: it is not stored.
  Index clamped(const Index& x, std::int64_t extent) {
    if (body_.variables.max(x) < extent) return x;
    if (extent == 1) return Index(0);
    const std::string text = body_.variables.text(x), known = text + " < " + std::to_string(extent);
    const auto found = clamped_.find(known);
    if (found != clamped_.end()) return found->second;
    const Index v = body_.variable(known + " ? " + text + " : " + std::to_string(extent - 1), extent);
    return clamped_.emplace(known, v).first->second;
  }

  void find_rows() {
    for (const Index& place : left_.place) rows_.push_back(clamped(first_row_ + place, c_.rows));
    clamped_.clear();
    for (const Index& place : right_.place)
      columns_.push_back(places_.column_of(clamped(first_column_ + place, c_.columns)));
    clamped_.clear();
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
    clamped_.clear();
    const Index first = (split_ * size_.split_steps + step) * tiles_.depth;
    const auto each = [&](const Loader& l, std::size_t j, auto&& element) {
      const Index k = first + l.term[j];
      if (body_.variables.min(k) >= c_.depth) return body_.line(l.registers[j] + " = 0.0f;");
      std::string x = element(places_.term_of(clamped(k, c_.depth)));
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
    body_.block("for (" + index + " " + k + " = 0; " + k + " < " + std::to_string(tiles_.depth) + "; ++" + k + ")",
                [&] {
                  const auto read = [&](const Loader& l, const std::string& from, const char* array, const char* prefix,
                                        std::int64_t count, const Index& own, std::int64_t stride) {
                    for (std::int64_t i = 0; i < count; ++i) {
                      const std::string at =
                          k + " * " + std::to_string(l.pitch()) + " + " + body_.variables.text(own + Index(i * stride));
                      body_.line("const float " + std::string(prefix) + std::to_string(i) + " = " + array + "[" + from +
                                 at + "];");
                    }
                  };
                  read(left_, of_left, "@s0", "p", tiles_.rows, thread_row_, group_size_ / tiles_.thread_columns);
                  read(right_, of_right, "@s1", "q", tiles_.columns, thread_column_, tiles_.thread_columns);
                  for (std::int64_t i = 0; i < tiles_.rows; ++i) {
                    for (std::int64_t j = 0; j < tiles_.columns; ++j) {
                      body_.line(sum(i, j) + " = " +
                                 call(d_.fused, {"p" + std::to_string(i), "q" + std::to_string(j), sum(i, j)}) + ";");
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
  std::map<std::string, Index> clamped_;
};

// All of a unit with a product at its own place, in one stage.
Part PartPrinter::tiled(const Contraction& product, const Tiles& tiles, const Options& options, InPlace& in_place) {
  TileLoop loop(body_, producers_, d_, product, tiles, options.group_size);
  loop.print();
  loop.results([&](const Indices& at, const std::string& sum) {
    const Index flat = body_.flatten(at, product.op->result_type().shape);
    body_.set_own({flat});
    body_.set_product(product.op->result(), flat, sum);
    store_roots(flat);
  });
  add_in_place(in_place);
  Part part = finish(program_.type(unit_.roots[0]).elements());
  part.groups = loop.size().groups(product, tiles);
  part.shared = loop.shared();
  return part;
}

// The first of two stages: each piece of the sums goes to scratch, piece after piece.
Part PartPrinter::partial_sums(const Contraction& product, const Tiles& tiles, const Options& options) {
  TileLoop loop(body_, producers_, d_, product, tiles, options.group_size);
  loop.print();
  loop.results([&](const Indices& at, const std::string& sum) {
    const Index flat = body_.flatten(at, product.op->result_type().shape) + loop.split() * product.elements();
    body_.line("@p0[" + body_.variables.text(flat) + "] = " + sum + ";");
  });
  Part part = finish(product.elements(), false);
  part.groups = loop.size().groups(product, tiles);
  part.shared = loop.shared();
  const auto bytes = static_cast<std::uint64_t>(4 * tiles.splits * product.elements());
  part.parameters.push_back({{THRT_NONE, true, 0, bytes}, "float", "p0"});
  return part;
}

// The second: adds the pieces up in their order and computes what follows.
Part PartPrinter::total_sums(const Contraction& product, const Tiles& tiles, InPlace& in_place) {
  const Index own = work_item(product.elements());
  const std::string sum = body_.name("s");
  body_.line("float " + sum + " = 0.0f;");
  body_.loop(tiles.splits, [&](const Index& piece) {
    const std::string x = body_.variables.text(piece * product.elements() + own);
    body_.line(sum + " = " + sum + " + @p0[" + x + "];");
  });
  body_.set_own({own});
  body_.set_product(product.op->result(), own, sum);
  store_roots(own);
  add_in_place(in_place);
  Part part = finish(product.elements());
  part.stage = 1;
  const auto bytes = static_cast<std::uint64_t>(4 * tiles.splits * product.elements());
  part.parameters.push_back({{THRT_NONE, false, 0, bytes}, "float", "p0"});
  return part;
}

// The product or convolution that a unit has at its own place and that work-groups compute, if there is one.
inline const sdk::OpView* own_contraction(const Producers& producers, const Unit& unit, const Options& options) {
  std::vector<std::uint32_t> stack(unit.roots.begin(), unit.roots.end());
  std::set<std::uint32_t> seen;
  while (!stack.empty()) {
    const std::uint32_t value = stack.back();
    stack.pop_back();
    if (unit.inlined.count(value) == 0 || !seen.insert(value).second) continue;
    const sdk::OpView& op = *producers.of(value);
    if (tiles_of(op, options).has_value()) return &op;
    for (std::size_t i = 0; i < op.operands().size(); ++i) {
      if (keeps_place(op, i)) stack.push_back(op.operand(i));
    }
  }
  return nullptr;
}

// The parts of such a unit, or none if each work-item is to compute its elements by itself.
inline std::vector<Part> contraction_parts(const sdk::ProgramView& program, const Producers& producers,
                                           const Dialect& dialect, const Unit& unit, const Options& options,
                                           sdk::PlanStep& memory) {
  const sdk::OpView* op = own_contraction(producers, unit, options);
  if (op == nullptr) return {};
  const Contraction product = contraction_of(*op);
  const std::optional<Tiles> tiles = tiles_for(product, options);
  // What follows the product is printed for each element of a work-item's tile.
  constexpr std::int64_t kMostText = 1024;
  bool has_loop = false;
  for (const std::uint32_t value : unit.inlined) {
    has_loop = has_loop || (value != op->result() && loop_length(*producers.of(value)) > 8);
  }
  const auto ops = static_cast<std::int64_t>(unit.inlined.size());
  std::vector<Part> parts;
  if (tiles->splits == 1 && !has_loop && ops * tiles->rows * tiles->columns <= kMostText) {
    parts.push_back(PartPrinter(program, producers, dialect, unit).tiled(product, *tiles, options, memory.in_place));
    return parts;
  }
  parts.push_back(PartPrinter(program, producers, dialect, unit).partial_sums(product, *tiles, options));
  parts.push_back(PartPrinter(program, producers, dialect, unit).total_sums(product, *tiles, memory.in_place));
  memory.scratch_bytes = static_cast<std::uint64_t>(4 * tiles->splits * product.elements());
  return parts;
}

}  // namespace thrt::emit::detail
