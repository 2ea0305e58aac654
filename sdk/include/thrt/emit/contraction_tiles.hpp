// Behind emit.hpp: whether work-groups compute a matrix product or convolution together, and in which tiles.
//
// The shapes are a table; which of them, and how many pieces the sums are cut to, is the least of a model's times. Its constants are
// what GPUs have in common, rounded, not measurements of one: a wrong choice costs some time on one product, a search at first
// use would cost every start. Matrix units and sub-groups would be more rows of this table, with a printer of their own.
#pragma once

#include <thrt/emit/contraction.hpp>
#include <thrt/emit/plan.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

namespace thrt::emit::detail {

// The sizes of a tile for a group size.
struct TileSize {
  std::int64_t rows, columns;       // of the group's tile
  std::int64_t tiles_m, tiles_n;    // that cover the result
  std::int64_t steps, split_steps;  // of Tiles::depth, in all and of a piece

  TileSize(const Contraction& c, const Tiles& tiles, std::int64_t group_size)
      : rows(tiles.rows * (group_size / tiles.thread_columns)),
        columns(tiles.columns * tiles.thread_columns),
        tiles_m((c.rows + rows - 1) / rows),
        tiles_n((c.columns + columns - 1) / columns),
        steps((c.depth + tiles.depth - 1) / tiles.depth),
        split_steps((steps + tiles.splits - 1) / tiles.splits) {}

  std::int64_t groups(const Contraction& c, const Tiles& tiles) const {
    return tiles.splits * c.batch * tiles_m * tiles_n;
  }
};

// Every work-item loads as many elements as the others.
inline bool fits(const Tiles& tiles, std::int64_t group_size) {
  const auto is_power = [](std::int64_t x) { return x > 0 && (x & (x - 1)) == 0; };
  if (!is_power(tiles.rows) || !is_power(tiles.columns) || !is_power(tiles.thread_columns) || !is_power(tiles.depth))
    return false;
  if (tiles.thread_columns > group_size || tiles.depth > group_size) return false;
  const std::int64_t rows = tiles.rows * (group_size / tiles.thread_columns),
                     columns = tiles.columns * tiles.thread_columns;
  return rows * tiles.depth >= group_size && columns * tiles.depth >= group_size;
}

// Memory of a work-group that such tiles take at most: two steps' worth, with the padding of TileLoop::Loader.
inline std::uint64_t shared_bytes(const Tiles& tiles, std::int64_t group_size) {
  const std::int64_t rows = tiles.rows * (group_size / tiles.thread_columns),
                     columns = tiles.columns * tiles.thread_columns;
  const std::int64_t padding = std::max<std::int64_t>(1, 32 / tiles.depth);
  return static_cast<std::uint64_t>(2 * 4 * tiles.depth * (rows + columns + 2 * padding));
}

// Nanoseconds on a GPU, roughly.
struct ProductModel {
  double units;                                 // that run work-groups
  static constexpr double kRate = 64;           // multiply-adds that a unit does in a nanosecond at its best
  static constexpr double kLoadLatency = 600;   // from memory to the group's memory, with two barriers
  static constexpr double kAdd = 2;             // between two multiply-adds of a work-item, when few run
  static constexpr double kSecondStage = 3000;  // a barrier between launches, and the launch
  static constexpr double kBytes = 8;           // that a unit moves in a nanosecond

  // How near to its best rate a unit gets: by how often a work-item uses what it reads from the group's memory.
  static double efficiency(const Tiles& tiles) {
    const double reuse =
        static_cast<double>(tiles.rows * tiles.columns) / static_cast<double>(tiles.rows + tiles.columns);
    return std::min(1.0, reuse / 4);
  }
  double tiled(const Contraction& c, const Tiles& tiles, std::int64_t group_size) const {
    const TileSize size(c, tiles, group_size);
    const auto groups = static_cast<double>(size.groups(c, tiles));
    const auto steps = static_cast<double>(size.split_steps);
    const double products = static_cast<double>(size.rows * size.columns * tiles.depth) * steps;
    const double busy = std::ceil(groups / units) * products / (kRate * efficiency(tiles));
    const double alone =
        kLoadLatency * (steps + 1) + kAdd * static_cast<double>(tiles.rows * tiles.columns * tiles.depth) * steps;
    double time = std::max(busy, alone);
    if (tiles.splits > 1) {
      const double bytes = 8.0 * static_cast<double>(tiles.splits * c.elements());
      time += kSecondStage + bytes / (units * kBytes);
    }
    return time;
  }
  // A work-item for each element: two loads for a multiply-add, mostly from a cache.
  double pulled(const Contraction& c) const {
    return std::max(c.products() / (kRate * units / 8), 20.0 * static_cast<double>(c.depth));
  }
};

// Nothing: each work-item computes its elements by itself.
inline std::optional<Tiles> tiles_for(const Contraction& c, const Options& options) {
  if (c.rows == 0 || c.columns == 0 || c.batch == 0 || c.depth == 0) return std::nullopt;
  const std::int64_t group_size = options.group_size;
  if (options.tiles.has_value()) {
    if (!fits(*options.tiles, group_size))
      throw sdk::Error(THRT_INVALID_ARGUMENT, "Options::tiles do not fit work-groups of " + std::to_string(group_size));
    Tiles tiles = *options.tiles;
    tiles.splits = std::min(tiles.splits, TileSize(c, tiles, group_size).steps);
    const std::int64_t each = TileSize(c, tiles, group_size).split_steps;
    tiles.splits = (TileSize(c, tiles, group_size).steps + each - 1) / each;  // none is empty
    return tiles;
  }
  if (options.device == DeviceKind::kProcessor) return std::nullopt;
  struct Row {
    std::int64_t rows, columns, thread_columns, depth;
  };
  static constexpr Row kTable[] = {
      {8, 8, 8, 16},  // 64 x 64 by 64 work-items
      {8, 8, 8, 8},   // where there is little memory
      {8, 4, 8, 16},  {4, 8, 8, 16}, {4, 4, 8, 16},
      {4, 2, 8, 32},  {2, 4, 8, 32}, {2, 2, 8, 32},  // 16 x 16: policies of some 64 units
      {8, 4, 4, 16},                                 // 128 x 16
      {4, 1, 4, 32},                                 // 64 x 4: heads
      {2, 8, 16, 32},                                // 8 x 128
      {1, 1, 8, 32},                                 // 8 x 8
  };
  const ProductModel model{static_cast<double>(std::max<std::int64_t>(options.compute_units, 1))};
  constexpr std::int64_t kMostScratch = std::int64_t{64} << 20;
  double least = model.pulled(c);
  std::optional<Tiles> best;
  for (const Row& row : kTable) {
    Tiles tiles{row.rows, row.columns, row.thread_columns, row.depth, 1};
    if (!fits(tiles, group_size) || shared_bytes(tiles, group_size) > options.max_shared_bytes) continue;
    const std::int64_t steps = TileSize(c, tiles, group_size).steps;
    for (std::int64_t splits = 1; splits <= 128 && splits <= steps; splits *= 2) {
      if (splits > 1 && 4 * splits * c.elements() > kMostScratch) break;
      const std::int64_t each = (steps + splits - 1) / splits;
      tiles.splits = (steps + each - 1) / each;
      const double time = model.tiled(c, tiles, group_size);
      if (time >= least) continue;
      least = time;
      best = tiles;
    }
  }
  return best;
}

inline std::optional<Tiles> tiles_of(const sdk::OpView& op, const Options& options) {
  if (!is_contraction(op.kind())) return std::nullopt;
  return tiles_for(contraction_of(op), options);
}

// How many elements of operand `i` one element of the result reads, when each is loaded once for a tile.
inline double tiled_reads(const sdk::OpView& op, std::size_t i, const Tiles& tiles, const Options& options) {
  const Contraction c = contraction_of(op);
  const TileSize size(c, tiles, options.group_size);
  const std::int64_t loads = i == c.left ? c.rows * size.tiles_n : c.columns * size.tiles_m;
  return static_cast<double>(c.batch * c.depth) * static_cast<double>(loads) /
         std::max(1.0, static_cast<double>(c.elements()));
}

}  // namespace thrt::emit::detail
