#include "elementwise_group.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace thrt::cpu {
namespace {

// Elements at a time. A group of ten live temporaries needs 40 KiB at this size; half of it costs more calls than it
// saves misses.
constexpr std::int64_t kTile = 1024;
constexpr std::uint64_t kTileBytes = kTile * 4;

// One op on one element is one unit of work; so many are some 10 microseconds, well above what it costs to wake a thread.
constexpr std::int64_t kLeastWorkOfAPart = 1 << 17;
constexpr double kNanosecondsOfAnElement = 0.05;  // of each op

// Tiles of scratch, handed out and taken back while the instructions are walked in order.
class TilePool {
 public:
  std::uint32_t take() {
    if (free_.empty()) return count_++;
    const std::uint32_t tile = free_.back();
    free_.pop_back();
    return tile;
  }
  void give_back(std::uint32_t tile) { free_.push_back(tile); }
  std::uint32_t count() const { return count_; }

 private:
  std::vector<std::uint32_t> free_;
  std::uint32_t count_ = 0;
};

constexpr std::uint32_t kNoTile = UINT32_MAX;

}  // namespace

// With addresses. Each pointer advances by `*_bytes` per element: 0 for scalars and for tiles of scratch.
struct ElementwiseGroup::Bound {
  // All that a launch reads of an op with short operands lies in one cache line.
  struct Action {
    ElementwiseFn run = nullptr;  // null: read_strided of layouts[layout]
    std::byte* to = nullptr;
    const std::byte* from[3] = {};
    std::uint8_t to_bytes = 0;
    std::uint8_t from_bytes[3] = {};
    std::uint8_t element_bytes = 0;
    std::uint32_t layout = 0;
  };
  std::vector<Action> actions;
  std::vector<Layout> layouts;
  std::int64_t begin = 0, end = 0;

  void operator()() const {
    for (std::int64_t first = begin; first < end; first += kTile) {
      const std::int64_t count = std::min(kTile, end - first);
      for (const Action& action : actions) {
        std::byte* to = action.to + first * action.to_bytes;
        if (action.run == nullptr) {
          read_strided(to, action.from[0], layouts[action.layout], action.element_bytes, first, count);
        } else {
          action.run(to, action.from[0] + first * action.from_bytes[0], action.from[1] + first * action.from_bytes[1],
                     action.from[2] + first * action.from_bytes[2], count);
        }
      }
    }
  }
};

// The group's instructions with the addresses of one part.
struct ElementwiseGroup::Binding {
  const std::vector<Instruction>& instructions;
  const std::vector<Load>& loads;
  const std::vector<bool>& stored;
  const std::vector<std::uint32_t>& tiles;
  const std::vector<std::uint32_t>& load_tiles;
  const Addresses& addresses;
  std::byte* scratch;

  std::byte* tile(std::uint32_t index) const { return scratch + index * kTileBytes; }

  Bound bind() const {
    Bound bound;
    for (std::uint32_t i = 0; i < instructions.size(); ++i) {
      for (std::uint32_t l = 0; l < loads.size(); ++l) {
        if (loads[l].first_use == i) bound.actions.push_back(load(bound, l));
      }
      bound.actions.push_back(action(bound, i));
    }
    return bound;
  }

  Bound::Action load(Bound& bound, std::uint32_t l) const {
    Bound::Action action;
    action.to = tile(load_tiles[l]);
    action.from[0] = addresses.of(loads[l].value);
    action.element_bytes = static_cast<std::uint8_t>(ir::dtype_size(loads[l].dtype));
    action.layout = static_cast<std::uint32_t>(bound.layouts.size());
    bound.layouts.push_back(loads[l].layout);
    return action;
  }

  Bound::Action action(Bound& bound, std::uint32_t i) const {
    const Instruction& instruction = instructions[i];
    Bound::Action action;
    action.run = instruction.run;
    action.element_bytes = static_cast<std::uint8_t>(ir::dtype_size(instruction.dtype));
    action.to = stored[i] ? addresses.of(instruction.result) : tile(tiles[i]);
    action.to_bytes = stored[i] ? action.element_bytes : std::uint8_t{0};
    for (int k = 0; k < 3; ++k) {
      const Source& input = instruction.inputs[k];
      const auto bytes = static_cast<std::uint8_t>(ir::dtype_size(input.dtype));
      switch (input.kind) {
        case Source::Kind::kInstruction:
          action.from[k] =
              stored[input.index] ? addresses.of(instructions[input.index].result) : tile(tiles[input.index]);
          action.from_bytes[k] = stored[input.index] ? bytes : std::uint8_t{0};
          break;
        case Source::Kind::kMemory:
          action.from[k] = addresses.of(input.index) + input.offset * bytes;
          action.from_bytes[k] = bytes;
          break;
        case Source::Kind::kScalar:
          action.from[k] = addresses.of(input.index) + input.offset * bytes;
          break;
        case Source::Kind::kLoaded:
          action.from[k] = tile(load_tiles[input.index]);
          break;
        case Source::Kind::kCopied:
          action.from[k] = addresses.of(input.index);
          action.layout = static_cast<std::uint32_t>(bound.layouts.size());
          bound.layouts.push_back(instruction.layout);
          break;
        case Source::Kind::kNone:
          break;
      }
    }
    return action;
  }
};

bool ElementwiseGroup::accepts(std::span<const Operand> operands) const {
  for (const Operand& operand : operands) {
    if (defined_.count(operand.value) > 0 && !operand.layout.is_dense()) return false;
  }
  return true;
}

ElementwiseGroup::Source ElementwiseGroup::load(const Operand& operand) {
  const Layout layout = operand.layout.collapsed();
  for (std::uint32_t i = 0; i < loads_.size(); ++i) {
    const Load& known = loads_[i];
    if (known.value == operand.value && known.layout.offset == layout.offset && known.layout.shape == layout.shape &&
        known.layout.strides == layout.strides) {
      return {Source::Kind::kLoaded, i, 0, operand.dtype};
    }
  }
  loads_.push_back({operand.value, layout, operand.dtype, static_cast<std::uint32_t>(instructions_.size())});
  return {Source::Kind::kLoaded, static_cast<std::uint32_t>(loads_.size() - 1), 0, operand.dtype};
}

ElementwiseGroup::Source ElementwiseGroup::source(const Operand& operand) {
  const auto own = defined_.find(operand.value);
  if (own != defined_.end()) return {Source::Kind::kInstruction, own->second, 0, operand.dtype};
  const Layout layout = operand.layout.collapsed();
  const bool row = layout.shape.rank() == 1 && layout.strides[0] == 1;
  if (row || layout.shape.rank() == 0) {
    return {Source::Kind::kMemory, operand.value, layout.offset, operand.dtype};
  }
  return load(operand);
}

void ElementwiseGroup::add(std::optional<ir::OpKind> kind, std::span<const Operand> operands, std::uint32_t result,
                           ir::DType dtype) {
  Instruction instruction;
  instruction.result = result;
  instruction.dtype = dtype;
  ScalarOperand scalar = ScalarOperand::kNone;
  if (kind.has_value()) {
    const ir::DType from = operands[*kind == ir::OpKind::SELECT ? 1 : 0].dtype;
    // One operand at most is read as a scalar: a second one is spread over a tile like any other strided operand.
    if (operands.size() >= 2 && elements_ > 1) {
      if (operands.back().layout.is_scalar()) {
        scalar = ScalarOperand::kRight;
      } else if (operands.size() == 2 && operands[0].layout.is_scalar()) {
        scalar = ScalarOperand::kLeft;
      }
    }
    instruction.run = kernels_.elementwise(*kind, from, dtype, scalar);
    if (instruction.run == nullptr) throw std::logic_error("an elementwise op without a kernel was not refused");
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const bool as_scalar =
        (scalar == ScalarOperand::kLeft && i == 0) || (scalar == ScalarOperand::kRight && i + 1 == operands.size());
    if (as_scalar) {
      instruction.inputs[i] = {Source::Kind::kScalar, operands[i].value, operands[i].layout.offset, operands[i].dtype};
    } else if (!kind.has_value()) {
      instruction.inputs[i] = {Source::Kind::kCopied, operands[i].value, 0, operands[i].dtype};
      instruction.layout = operands[i].layout.collapsed();
    } else {
      instruction.inputs[i] = source(operands[i]);
    }
  }
  defined_[result] = static_cast<std::uint32_t>(instructions_.size());
  instructions_.push_back(instruction);
}

// {result, operand} such that the result may overwrite the operand: it is read only element by element, and never after
// the result has been written.
std::vector<std::pair<std::uint32_t, std::uint32_t>> ElementwiseGroup::in_place_pairs(
    const std::vector<bool>& stored) const {
  struct Use {
    std::uint32_t last = 0;
    std::uint64_t element_bytes = 0;
    bool by_element = true;
  };
  std::map<std::uint32_t, Use> uses;
  for (const Load& each : loads_) uses[each.value].by_element = false;
  for (std::uint32_t i = 0; i < instructions_.size(); ++i) {
    for (const Source& input : instructions_[i].inputs) {
      if (input.kind != Source::Kind::kMemory && input.kind != Source::Kind::kScalar &&
          input.kind != Source::Kind::kCopied) {
        continue;
      }
      Use& use = uses[input.index];
      use.last = i;
      use.element_bytes = ir::dtype_size(input.dtype);
      use.by_element = use.by_element && input.kind == Source::Kind::kMemory && input.offset == 0;
    }
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (std::uint32_t i = 0; i < instructions_.size(); ++i) {
    if (!stored[i] || instructions_[i].run == nullptr) continue;
    for (const auto& [value, use] : uses) {
      if (use.by_element && use.last <= i && use.element_bytes == ir::dtype_size(instructions_[i].dtype)) {
        pairs.emplace_back(instructions_[i].result, value);
      }
    }
  }
  return pairs;
}

Step ElementwiseGroup::finish(const std::function<bool(std::uint32_t)>& escapes) {
  const auto count = static_cast<std::uint32_t>(instructions_.size());
  std::vector<bool> stored(count);
  std::vector<std::uint32_t> last_use(count, 0), load_last_use(loads_.size(), 0);
  Step step;
  for (std::uint32_t i = 0; i < count; ++i) {
    stored[i] = escapes(instructions_[i].result);
    if (stored[i]) step.writes(instructions_[i].result);
    last_use[i] = i;
    for (const Source& input : instructions_[i].inputs) {
      if (input.kind == Source::Kind::kInstruction) last_use[input.index] = i;
      if (input.kind == Source::Kind::kLoaded) load_last_use[input.index] = i;
      if (input.kind == Source::Kind::kMemory || input.kind == Source::Kind::kScalar ||
          input.kind == Source::Kind::kCopied) {
        step.reads(input.index);
      }
    }
  }
  for (const Load& each : loads_) step.reads(each.value);
  std::sort(step.memory.reads.begin(), step.memory.reads.end());
  step.memory.reads.erase(std::unique(step.memory.reads.begin(), step.memory.reads.end()), step.memory.reads.end());
  step.memory.in_place = in_place_pairs(stored);

  TilePool pool;
  std::vector<std::uint32_t> tiles(count, kNoTile), load_tiles(loads_.size(), kNoTile);
  for (std::uint32_t i = 0; i < count; ++i) {
    for (std::uint32_t l = 0; l < loads_.size(); ++l) {
      if (loads_[l].first_use == i) load_tiles[l] = pool.take();
    }
    if (!stored[i]) tiles[i] = pool.take();
    for (std::uint32_t l = 0; l < loads_.size(); ++l) {
      if (load_tiles[l] != kNoTile && load_last_use[l] == i) pool.give_back(load_tiles[l]);
    }
    for (std::uint32_t j = 0; j <= i; ++j) {
      if (tiles[j] != kNoTile && last_use[j] == i) pool.give_back(tiles[j]);
    }
  }
  const std::int64_t tile_count = (elements_ + kTile - 1) / kTile;
  const std::int64_t work = elements_ * (std::int64_t{count} + static_cast<std::int64_t>(loads_.size()));
  const std::int64_t parts =
      std::max<std::int64_t>(1, std::min({work / kLeastWorkOfAPart, tile_count, std::int64_t{threads_}}));
  step.parts = static_cast<std::uint32_t>(parts);
  step.cost =
      10.0 + 4.0 * static_cast<double>(count + loads_.size()) + kNanosecondsOfAnElement * static_cast<double>(work);
  const std::uint64_t scratch_bytes = pool.count() * kTileBytes;
  step.memory.scratch_bytes = scratch_bytes * static_cast<std::uint64_t>(parts);
  if (elements_ == 0) return step;

  step.bind = [=, elements = elements_, instructions = instructions_, loads = loads_](const Addresses& addresses,
                                                                                      std::byte* scratch) -> Work {
    std::vector<Task> tasks;
    for (std::int64_t part = 0; part < parts; ++part) {
      Binding binding{instructions,
                      loads,
                      stored,
                      tiles,
                      load_tiles,
                      addresses,
                      scratch + static_cast<std::uint64_t>(part) * scratch_bytes};
      const auto bound = std::make_shared<Bound>(binding.bind());
      bound->begin = part * tile_count / parts * kTile;
      bound->end = std::min(elements, (part + 1) * tile_count / parts * kTile);
      tasks.emplace_back([bound] { (*bound)(); });
    }
    return Work(std::move(tasks));
  };
  return step;
}

}  // namespace thrt::cpu
