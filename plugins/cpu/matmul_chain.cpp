#include "matmul_chain.hpp"

#include "lower.hpp"
#include "matmul_cut.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace thrt::cpu {
namespace {

// Elements that go through the chain at a time: what a dozen of such tiles need fits the first-level cache.
constexpr std::int64_t kTile = 1024;

std::int64_t tile_elements(const MatmulChain& chain) {
  return std::max(kTile, chain.n);
}
std::int64_t rows_at_once(const MatmulChain& chain) {
  return std::max<std::int64_t>(1, tile_elements(chain) / chain.n);
}
std::int64_t sum_blocks(const MatmulChain& chain) {
  return (chain.m + kSumRows - 1) / kSumRows;
}

// With addresses, for one part.
struct BoundChain {
  struct Input {
    const std::byte* data = nullptr;
    std::int64_t row_bytes = 0, column_bytes = 0;  // how far the next row and the next column are
  };
  struct Action {
    ElementwiseFn run;
    std::byte* to;
    std::int64_t to_row_bytes, to_column_bytes;
    Input inputs[3];
  };
  // A row or an element in memory, repeated over a tile before each run.
  struct Spread {
    const std::byte* from;
    std::byte* to;
    std::int64_t element_bytes;
    bool one_element;
  };
  struct Sum {
    Input input;
    float* to;  // a row for each block of kSumRows
  };

  std::int64_t n, rows;  // rows: at once
  std::vector<Spread> spreads;
  std::vector<Action> actions;
  std::vector<Sum> sums;
  decltype(Kernels::add_rows) add_rows;

  void spread() const {
    for (const Spread& each : spreads) {
      const std::int64_t row = n * each.element_bytes;
      if (each.one_element) {
        repeat(each.to, each.from, each.element_bytes, rows * n);
        continue;
      }
      for (std::int64_t r = 0; r < rows; ++r) std::memcpy(each.to + r * row, each.from, static_cast<std::size_t>(row));
    }
  }

  static void repeat(std::byte* to, const std::byte* element, std::int64_t element_bytes, std::int64_t count) {
    if (element_bytes == 1) {
      std::fill_n(to, count, *element);
    } else {
      std::uint32_t bits = 0;
      std::memcpy(&bits, element, sizeof bits);
      std::fill_n(reinterpret_cast<std::uint32_t*>(to), count, bits);
    }
  }

  // Rows [i, i + height), which are whole if there are several; tiles start at column j too.
  void run(std::int64_t i, std::int64_t height, std::int64_t j, std::int64_t width) const {
    const auto at = [&](std::int64_t row_bytes, std::int64_t column_bytes) { return i * row_bytes + j * column_bytes; };
    for (const Action& action : actions) {
      const std::byte* from[3];
      for (int k = 0; k < 3; ++k) {
        from[k] = action.inputs[k].data + at(action.inputs[k].row_bytes, action.inputs[k].column_bytes);
      }
      action.run(action.to + at(action.to_row_bytes, action.to_column_bytes), from[0], from[1], from[2],
                 height * width);
    }
    for (const Sum& sum : sums) {
      const auto* from =
          reinterpret_cast<const float*>(sum.input.data + at(sum.input.row_bytes, sum.input.column_bytes));
      add_rows(sum.to + i / kSumRows * n + j, from, n, height, width, i % kSumRows == 0);
    }
  }

  static void epilogue(const void* self, const MatmulBlock& block) {
    const auto& chain = *static_cast<const BoundChain*>(self);
    const bool whole = block.j0 == 0 && block.j1 == chain.n;
    for (std::int64_t i = block.i0; i < block.i1;) {
      // Not across the blocks of a sum.
      std::int64_t height = std::min(block.i1, (i / kSumRows + 1) * kSumRows) - i;
      height = whole ? std::min(height, chain.rows) : 1;
      chain.run(i, height, block.j0, block.j1 - block.j0);
      i += height;
    }
  }
};

std::int64_t bytes_of(ir::DType dtype) {
  return static_cast<std::int64_t>(ir::dtype_size(dtype));
}

// Reads the chain's sources and hands out the part's scratch, tile by tile.
class Binder {
 public:
  Binder(const MatmulChain& chain, const Addresses& addresses, std::byte* scratch)
      : chain_(chain), addresses_(addresses), free_(scratch) {}

  BoundChain bind(const Kernels& kernels, float* sum_scratch) {
    bound_.n = chain_.n;
    bound_.rows = rows_at_once(chain_);
    bound_.add_rows = kernels.add_rows;
    for (const ChainInstruction& each : chain_.instructions) {
      const std::int64_t bytes = bytes_of(each.dtype);
      if (each.stored) {
        made_.push_back({addresses_.of(each.result), chain_.n * bytes, bytes});
      } else {
        made_.push_back({take(each.dtype), 0, bytes});
      }
    }
    for (std::size_t i = 0; i < chain_.instructions.size(); ++i) {
      const ChainInstruction& each = chain_.instructions[i];
      BoundChain::Action action{};
      action.run = each.run;
      action.to = const_cast<std::byte*>(made_[i].data);
      action.to_row_bytes = made_[i].row_bytes;
      action.to_column_bytes = made_[i].column_bytes;
      for (int k = 0; k < 3; ++k) {
        const bool scalar = (k == 0 && each.scalar == ScalarOperand::kLeft) ||
                            (k == 1 && each.scalar == ScalarOperand::kRight) || (k == 2 && each.third_is_scalar);
        action.inputs[k] = input(each.inputs[k], scalar);
      }
      bound_.actions.push_back(action);
    }
    for (const ChainSum& each : chain_.sums) {
      const bool direct = sum_blocks(chain_) == 1;
      bound_.sums.push_back(
          {input(each.source, false), direct ? reinterpret_cast<float*>(addresses_.of(each.result)) : sum_scratch});
      if (!direct) sum_scratch += sum_blocks(chain_) * chain_.n;
    }
    return std::move(bound_);
  }

  float* product() const {
    const std::uint32_t value =
        chain_.product_at.has_value() ? chain_.instructions[*chain_.product_at].result : chain_.product;
    return reinterpret_cast<float*>(addresses_.of(value));
  }

 private:
  std::byte* take(ir::DType dtype) {
    std::byte* tile = free_;
    free_ += (tile_elements(chain_) * bytes_of(dtype) + 63) / 64 * 64;
    return tile;
  }

  BoundChain::Input input(const ChainSource& source, bool as_scalar) {
    using Kind = ChainSource::Kind;
    const std::int64_t bytes = bytes_of(source.dtype);
    switch (source.kind) {
      case Kind::kNone:
        return {};
      case Kind::kProduct:
        return {reinterpret_cast<const std::byte*>(product()), chain_.n * bytes, bytes};
      case Kind::kInstruction:
        return made_[source.index];
      case Kind::kDense:
        return {addresses_.of(source.index) + source.offset * bytes, chain_.n * bytes, bytes};
      case Kind::kRow:
      case Kind::kScalar:
        break;
    }
    const std::byte* from = addresses_.of(source.index) + source.offset * bytes;
    if (as_scalar) return {from, 0, 0};
    if (source.kind == Kind::kRow && bound_.rows == 1) return {from, 0, bytes};
    for (const BoundChain::Spread& known : bound_.spreads) {
      if (known.from == from && known.element_bytes == bytes && known.one_element == (source.kind == Kind::kScalar)) {
        return {known.to, 0, bytes};
      }
    }
    bound_.spreads.push_back({from, take(source.dtype), bytes, source.kind == Kind::kScalar});
    return {bound_.spreads.back().to, 0, bytes};
  }

  const MatmulChain& chain_;
  const Addresses& addresses_;
  std::byte* free_;
  BoundChain bound_{};
  std::vector<BoundChain::Input> made_;  // by instruction
};

void name_memory(const MatmulChain& chain, Step& step) {
  using Kind = ChainSource::Kind;
  if (!chain.product_at.has_value()) step.writes(chain.product);
  for (const ChainInstruction& each : chain.instructions) {
    if (each.stored) step.writes(each.result);
    for (const ChainSource& input : each.inputs) {
      if (input.kind == Kind::kDense || input.kind == Kind::kRow || input.kind == Kind::kScalar) {
        step.reads(input.index);
      }
    }
  }
  for (const ChainSum& each : chain.sums) step.writes(each.result);
  std::vector<std::uint32_t>& reads = step.memory.reads;
  std::sort(reads.begin(), reads.end());
  reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
}

}  // namespace

std::uint64_t MatmulChain::part_scratch() const {
  // A tile for what each instruction makes, and for each of its operands that is spread.
  std::int64_t tiles = 0;
  for (const ChainInstruction& each : instructions) {
    tiles += each.stored ? 0 : 1;
    for (const ChainSource& input : each.inputs) {
      tiles += input.kind == ChainSource::Kind::kRow || input.kind == ChainSource::Kind::kScalar ? 1 : 0;
    }
  }
  return static_cast<std::uint64_t>(tiles * ((tile_elements(*this) * 4 + 63) / 64 * 64));
}

std::uint64_t MatmulChain::sum_scratch() const {
  if (sum_blocks(*this) == 1) return 0;
  const std::int64_t floats = sum_blocks(*this) * n * static_cast<std::int64_t>(sums.size());
  return static_cast<std::uint64_t>((floats * 4 + 63) / 64 * 64);
}

Step chained_matmul(const MatmulShape& shape, std::uint32_t a, std::uint32_t b, MatmulChain chain,
                    const CompileSettings& settings) {
  Step step;
  step.reads(a);
  step.reads(b);
  name_memory(chain, step);
  MatmulPlan plan = plan_product(shape, settings);
  // Work in the chain: a few tenths of a nanosecond an element and instruction.
  plan.nanoseconds += 0.2 * static_cast<double>(chain.instructions.size()) * static_cast<double>(shape.m * shape.n);
  if (!chain.sums.empty()) plan.row_multiple = kSumRows;
  const MatmulCut cut = cut_matmul(plan, settings.threads);
  const std::uint64_t part_scratch = plan.workspace + chain.part_scratch();
  step.memory.scratch_bytes = chain.sum_scratch() + part_scratch * cut.blocks.size();
  step.parts = static_cast<std::uint32_t>(cut.blocks.size());
  step.cost = plan.nanoseconds;
  step.kernels = static_cast<std::uint32_t>(1 + chain.instructions.size() + chain.sums.size());
  step.bind = [cut, chain = std::move(chain), part_scratch, a, b, kernels = settings.kernels](
                  const Addresses& addresses, std::byte* scratch) {
    const auto* x = reinterpret_cast<const float*>(addresses.of(a));
    const auto* y = reinterpret_cast<const float*>(addresses.of(b));
    auto* sums = reinterpret_cast<float*>(scratch);
    std::byte* own = scratch + chain.sum_scratch();
    Work work;
    for (const MatmulBlock& block : cut.blocks) {
      Binder binder(chain, addresses, own + cut.plan.workspace);
      auto bound = std::make_shared<const BoundChain>(binder.bind(*kernels, sums));
      work.parts.emplace_back([plan = cut.plan, block, x, y, c = binder.product(), workspace = own, bound] {
        bound->spread();
        plan.run(plan, block, x, y, c, workspace, MatmulEpilogue{&BoundChain::epilogue, bound.get()});
      });
      own += part_scratch;
    }
    if (sum_blocks(chain) > 1 && !chain.sums.empty()) {
      std::vector<float*> results;
      for (const ChainSum& each : chain.sums) results.push_back(reinterpret_cast<float*>(addresses.of(each.result)));
      work.finish = [results, sums, n = chain.n, blocks = sum_blocks(chain), add_rows = kernels->add_rows] {
        const float* from = sums;
        for (float* result : results) {
          add_rows(result, from, n, blocks, n, true);
          from += blocks * n;
        }
      };
    }
    return work;
  };
  return step;
}

}  // namespace thrt::cpu
