// Several instructions of a product's chain as one.
#include "matmul_chain.hpp"

#include <utility>

namespace thrt::cpu {
namespace {

using ir::DType;
using ir::OpKind;
using Kind = ChainSource::Kind;

class Fusion {
 public:
  Fusion(MatmulChain& chain, const Kernels& kernels)
      : chain_(chain), kernels_(kernels), dead_(chain.instructions.size()), uses_(chain.instructions.size(), 0) {
    for (const ChainInstruction& each : chain.instructions) {
      for (const ChainSource& input : each.inputs) count(input);
    }
    for (const ChainSum& sum : chain.sums) count(sum.source);
  }

  void run() {
    for (ChainInstruction& each : chain_.instructions) {
      if (!add_tanh(each) && !tanh_gradient(each)) select_from_scalar(each);
    }
    remove_dead();
  }

 private:
  void count(const ChainSource& source) {
    if (source.kind == Kind::kInstruction) ++uses_[source.index];
  }

  bool is(const ChainInstruction& each, OpKind kind, ScalarOperand scalar = ScalarOperand::kNone) const {
    return each.run == kernels_.elementwise(kind, DType::kF32, DType::kF32, scalar);
  }

  // What makes this source, if nothing else reads it.
  const ChainInstruction* only_read_here(const ChainSource& source) const {
    if (source.kind != Kind::kInstruction || uses_[source.index] != 1) return nullptr;
    const ChainInstruction& made = chain_.instructions[source.index];
    return made.stored ? nullptr : &made;
  }

  bool add_tanh(ChainInstruction& each) {
    if (!is(each, OpKind::TANH)) return false;
    const ChainInstruction* sum = only_read_here(each.inputs[0]);
    if (sum == nullptr || !is(*sum, OpKind::ADD)) return false;
    dead_[each.inputs[0].index] = true;
    each.run = kernels_.fused(FusedOps::kAddTanh);
    each.inputs[1] = sum->inputs[1];
    each.inputs[0] = ChainSource(sum->inputs[0]);
    return true;
  }

  // gradient * (1 - y * y)
  bool tanh_gradient(ChainInstruction& each) {
    if (!is(each, OpKind::MUL)) return false;
    for (const std::size_t side : {0u, 1u}) {
      const ChainSource slope_source = each.inputs[side], gradient = each.inputs[1 - side];
      const ChainInstruction* slope = only_read_here(slope_source);
      if (slope == nullptr || !is(*slope, OpKind::SUB, ScalarOperand::kLeft)) continue;
      const ChainInstruction* square = square_of(slope->inputs[1]);
      if (square == nullptr) continue;
      dead_[slope_source.index] = dead_[slope->inputs[1].index] = true;
      each.run = kernels_.fused(FusedOps::kTanhGradient);
      each.third_is_scalar = true;
      each.inputs[2] = slope->inputs[0];
      each.inputs[1] = square->inputs[0];
      each.inputs[0] = gradient;
      return true;
    }
    return false;
  }

  const ChainInstruction* square_of(const ChainSource& source) const {
    const ChainInstruction* made = only_read_here(source);
    if (made == nullptr || !is(*made, OpKind::MUL)) return nullptr;
    const ChainSource &x = made->inputs[0], &y = made->inputs[1];
    return x.kind == y.kind && x.index == y.index && x.offset == y.offset ? made : nullptr;
  }

  void select_from_scalar(ChainInstruction& each) const {
    if (!is(each, OpKind::SELECT) || each.inputs[2].kind != Kind::kScalar) return;
    each.run = kernels_.elementwise(OpKind::SELECT, DType::kF32, DType::kF32, ScalarOperand::kRight);
    each.third_is_scalar = true;
  }

  void remove_dead() {
    std::vector<std::uint32_t> moved(chain_.instructions.size());
    std::vector<ChainInstruction> kept;
    for (std::uint32_t i = 0; i < chain_.instructions.size(); ++i) {
      moved[i] = static_cast<std::uint32_t>(kept.size());
      if (!dead_[i]) kept.push_back(chain_.instructions[i]);
    }
    chain_.instructions = std::move(kept);
    const auto move = [&](ChainSource& source) {
      if (source.kind == Kind::kInstruction) source.index = moved[source.index];
    };
    for (ChainInstruction& each : chain_.instructions) {
      for (ChainSource& input : each.inputs) move(input);
    }
    for (ChainSum& sum : chain_.sums) move(sum.source);
  }

  MatmulChain& chain_;
  const Kernels& kernels_;
  std::vector<bool> dead_;  // by instruction
  std::vector<int> uses_;   // by instruction
};

}  // namespace

void fuse_instructions(MatmulChain& chain, const Kernels& kernels) {
  Fusion(chain, kernels).run();
}

}  // namespace thrt::cpu
