// Behind emit.hpp: matrix products and convolutions (contraction.hpp) by work-items that need no other. Each computes a tile of
// the result in registers, so that what it loads is used several times; where barriers cost as much as on a processor, this is
// the fastest.
#pragma once

#include <thrt/emit/contraction.hpp>
#include <thrt/emit/kernel_impl.hpp>
#include <thrt/emit/plan.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace thrt::emit::detail {

// `rows` neighbouring rows and `columns` neighbouring columns of one of `pieces` pieces of the sums.
struct OwnTile {
  std::int64_t rows = 1, columns = 1;
  std::int64_t pieces = 1;  // divides the first of term_dims(), which it cuts

  std::int64_t tiles_m(const Contraction& c) const { return (c.rows + rows - 1) / rows; }
  std::int64_t tiles_n(const Contraction& c) const { return (c.columns + columns - 1) / columns; }
  std::int64_t work_items(const Contraction& c) const { return pieces * c.batch * tiles_m(c) * tiles_n(c); }
};

// As much of Options::tile_rows x tile_columns as leaves enough work-items and wastes little. `ops` are printed for each element.
//
// On a processor a long product gets 16 x 16. Measured with llvmpipe (Mesa 22.3, one core with AVX-512), a product of
// 512 x 512 x 512 in f32, its time and that of compiling its kernel: 1 x 1 516 ms and 0.1 s, 4 x 8 68 ms and 0.1 s,
// 8 x 8 48 ms and 0.2 s, 16 x 16 28 ms and 0.8 s; by work-groups in tiles of 32 x 32 224 ms. With PoCL 3.1 4 x 16 and
// 16 x 16 take 5 ms, work-groups 68 ms.
inline OwnTile own_tile(const Contraction& c, const Options& options, std::int64_t ops, std::int64_t most_turns) {
  constexpr std::int64_t kMostText = 512;
  constexpr double kLongProduct = 1 << 23;  // multiply-adds, from which on running takes longer than compiling
  const bool is_tiled = options.tile_rows * options.tile_columns > 1;
  const bool is_long = is_tiled && options.device == DeviceKind::kProcessor && c.products() >= kLongProduct;
  OwnTile tile;
  std::int64_t most = std::min(c.elements() / std::max<std::int64_t>(options.min_work_items, 1), kMostText / ops);
  const auto largest = [&](std::int64_t wanted, std::int64_t dim) {
    std::int64_t side = 1;
    while (2 * side <= std::min({is_long ? std::max<std::int64_t>(wanted, 16) : wanted, most, dim})) {
      if (4 * ((dim + 2 * side - 1) / (2 * side)) * 2 * side > 5 * dim) break;
      side *= 2;
    }
    most /= side;
    return side;
  };
  tile.columns = largest(options.tile_columns, c.columns);
  tile.rows = largest(options.tile_rows, c.rows);
  // Long sums of few elements, and those that a driver would not finish.
  constexpr std::int64_t kLong = 4096;
  std::int64_t wanted = 1;
  if (c.depth >= kLong && is_tiled)
    wanted = std::min(options.min_work_items / std::max<std::int64_t>(1, tile.work_items(c)), c.depth / (kLong / 4));
  if (most_turns > 0) wanted = std::max(wanted, 4 * c.depth / most_turns);
  const std::int64_t first = std::max<std::int64_t>(1, term_dims(c)[0]);
  tile.pieces = std::max<std::int64_t>(1, std::min(wanted, first));
  while (first % tile.pieces != 0) --tile.pieces;
  return tile;
}

// The loop; leaves the sums in variables.
class OwnTileLoop {
 public:
  OwnTileLoop(Body& body, const Dialect& dialect, const Contraction& contraction, const OwnTile& tile)
      : body_(body), d_(dialect), c_(contraction), tile_(tile) {}

  const Index& piece() const { return piece_; }

  void print(const Index& work_item) {
    ContractionPlaces places(body_, c_);
    Clamping clamped(body_);
    const Indices at = body_.unflatten(work_item, {tile_.pieces, c_.batch, tile_.tiles_m(c_), tile_.tiles_n(c_)});
    piece_ = at[0];
    own_.batch = places.batch_of(at[1]);
    std::vector<Index> rows;
    std::vector<Indices> columns;
    for (std::int64_t i = 0; i < tile_.rows; ++i) {
      own_.rows.push_back(at[2] * tile_.rows + Index(i));
      rows.push_back(clamped(own_.rows.back(), c_.rows));
    }
    for (std::int64_t j = 0; j < tile_.columns; ++j) {
      own_.columns.push_back(at[3] * tile_.columns + Index(j));
      columns.push_back(places.column_of(clamped(own_.columns.back(), c_.columns)));
    }
    for (std::int64_t i = 0; i < tile_.rows * tile_.columns; ++i) {
      sums_.push_back(body_.name("c"));
      body_.line("float " + sums_.back() + " = 0.0f;");
    }
    const ir::Shape dims = term_dims(c_);
    std::vector<std::int64_t> lengths(dims.begin(), dims.end());
    lengths[0] /= tile_.pieces;
    if (c_.depth == 0) return;
    body_.loops(lengths, [&](Indices term) {
      term[0] = piece_ * lengths[0] + term[0];
      std::vector<std::string> x, w;
      for (const Index& row : rows) x.push_back(places.left(own_.batch, row, term));
      for (const Indices& column : columns) w.push_back(places.right(own_.batch, term, column));
      for (std::size_t i = 0; i < x.size(); ++i) {
        for (std::size_t j = 0; j < w.size(); ++j)
          body_.line(sum(i, j) + " = " + call(d_.fused, {x[i], w[j], sum(i, j)}) + ";");
      }
    });
  }
  const OwnPlaces& own() const { return own_; }
  const std::string& sum(std::size_t i, std::size_t j) const {
    return sums_[i * static_cast<std::size_t>(tile_.columns) + j];
  }

 private:
  Body& body_;
  const Dialect& d_;
  const Contraction& c_;
  const OwnTile tile_;
  Index piece_;
  OwnPlaces own_;
  std::vector<std::string> sums_;
};

}  // namespace thrt::emit::detail
