// Products with what is done to their rows, as one step: see matmul_chain.hpp. Found by structure alone:
//   forward   z = x W;  + broadcast bias;  any elementwise ops on that which end in a value that has to be made anyway
//   backward  dy = dz W^T;  times what is computed from the activation's output (1 - y * y, or a choice by a mask), with
//             the ops that compute it if nothing else reads them;  the sum over rows, which is the bias's gradient
#include "claims.hpp"
#include "lower.hpp"
#include "matmul_chain.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace thrt::cpu {
namespace {

using ir::OpKind;
using ir::Rule;

constexpr std::size_t kMostInstructions = 16;

bool is_elementwise(OpKind kind) {
  switch (ir::op_info(kind).rule) {
    case Rule::kUnary:
    case Rule::kCast:
    case Rule::kBinary:
    case Rule::kCompare:
    case Rule::kSelect:
      return true;
    default:
      return false;
  }
}

class ChainFinder {
 public:
  ChainFinder(const ProgramFacts& facts, const CompileSettings& settings, const sdk::OpView& product)
      : facts_(facts), settings_(settings), product_(product), shape_(matmul_shape(product)) {}

  std::optional<Claim> find() {
    const ir::Type type = product_.result_type();
    if (type.dtype != ir::DType::kF32 || shape_.batch != 1 || shape_.k == 0) return std::nullopt;
    find_dependents();
    find_candidates();
    keep_needed();
    find_sums();
    if (ops_.empty() && sums_.empty()) return std::nullopt;
    pull_in();
    if (ops_.size() > kMostInstructions) return std::nullopt;
    return make_claim();
  }

 private:
  const sdk::OpView& op(std::uint32_t index) const { return facts_.program.ops()[index]; }

  // Values that hang on the product: what is read from outside may not be among them.
  void find_dependents() {
    dependent_.assign(facts_.program.value_count(), false);
    dependent_[product_.result()] = true;
    for (std::uint32_t i = product_.index() + 1; i < facts_.program.ops().size(); ++i) {
      const auto operands = op(i).operands();
      if (std::none_of(operands.begin(), operands.end(), [&](std::uint32_t v) { return dependent_[v]; })) continue;
      for (std::uint32_t r = 0; r < op(i).result_count(); ++r) dependent_[op(i).result(r)] = true;
    }
  }

  bool covers_product(const sdk::OpView& candidate) const {
    return is_elementwise(candidate.kind()) && candidate.result_type().shape == product_.result_type().shape;
  }

  // How the chain can read a value from outside, if it can.
  std::optional<ChainSource> outside(std::uint32_t value) const {
    if (dependent_[value]) return std::nullopt;
    const Layout layout = facts_.layouts[value].collapsed();
    ChainSource source;
    source.index = facts_.roots[value];
    source.offset = layout.offset;
    source.dtype = facts_.program.type(value).dtype;
    if (ir::dtype_size(source.dtype) != 4 && ir::dtype_size(source.dtype) != 1) return std::nullopt;
    if (layout.is_scalar()) {
      source.kind = ChainSource::Kind::kScalar;
      return source;
    }
    if (layout.shape.rank() == 1 && layout.strides[0] == 1) {
      source.kind = ChainSource::Kind::kDense;
      return source;
    }
    if (layout.shape.rank() == 2 && layout.strides[0] == 0 && layout.strides[1] == 1 && layout.shape[1] == shape_.n) {
      source.kind = ChainSource::Kind::kRow;
      return source;
    }
    return std::nullopt;
  }

  // In program order: ops that compute from the product, and from what can be had from outside.
  void find_candidates() {
    members_ = {product_.result()};
    for (std::uint32_t i = product_.index() + 1; i < facts_.program.ops().size(); ++i) {
      const sdk::OpView& candidate = op(i);
      if (!covers_product(candidate)) continue;
      bool computes = false, readable = true;
      for (const std::uint32_t operand : candidate.operands()) {
        const bool member = members_.count(operand) > 0;
        computes = computes || member;
        readable = readable && (member || outside(operand).has_value());
      }
      if (!computes || !readable) continue;
      members_.insert(candidate.result());
      ops_.push_back(i);
    }
  }

  // Of these, those that lead to a value which is made in any case. What other elementwise ops alone read is cheaper
  // computed where they run than stored.
  void keep_needed() {
    std::vector<std::uint32_t> kept;
    for (auto each = ops_.rbegin(); each != ops_.rend(); ++each) {
      const std::uint32_t value = op(*each).result();
      const auto& readers = facts_.readers[value];
      const bool needed =
          facts_.is_output[value] || std::any_of(readers.begin(), readers.end(), [&](std::uint32_t reader) {
            return !is_elementwise(op(reader).kind()) || std::find(kept.begin(), kept.end(), reader) != kept.end();
          });
      if (needed) {
        kept.push_back(*each);
      } else {
        members_.erase(value);
      }
    }
    ops_.assign(kept.rbegin(), kept.rend());
  }

  void find_sums() {
    if (product_.result_type().shape.rank() != 2) return;
    for (const std::uint32_t value : members_) {
      if (facts_.program.type(value).dtype != ir::DType::kF32) continue;
      for (const std::uint32_t reader : facts_.readers[value]) {
        const auto axes = op(reader).attributes();
        if (op(reader).kind() == OpKind::REDUCE_SUM && axes.size() == 1 && axes[0] == 0) sums_.insert(reader);
      }
    }
  }

  bool is_claimed(std::uint32_t index) const {
    return sums_.count(index) > 0 || std::find(ops_.begin(), ops_.end(), index) != ops_.end();
  }

  // Elementwise ops outside that only the chain reads.
  void pull_in() {
    for (bool grew = true; grew && ops_.size() < kMostInstructions;) {
      grew = false;
      for (const std::uint32_t each : std::vector<std::uint32_t>(ops_)) {
        for (const std::uint32_t operand : op(each).operands()) {
          const std::uint32_t producer = facts_.producer[operand];
          if (members_.count(operand) > 0 || producer == THRT_NONE || facts_.is_output[operand]) continue;
          if (!covers_product(op(producer))) continue;
          const auto& readers = facts_.readers[operand];
          const auto operands = op(producer).operands();
          if (!std::all_of(readers.begin(), readers.end(), [&](std::uint32_t r) { return is_claimed(r); }) ||
              !std::all_of(operands.begin(), operands.end(),
                           [&](std::uint32_t v) { return members_.count(v) > 0 || outside(v).has_value(); })) {
            continue;
          }
          members_.insert(operand);
          ops_.push_back(producer);
          grew = true;
        }
      }
    }
    std::sort(ops_.begin(), ops_.end());  // a program's order
  }

  bool is_read_outside(std::uint32_t value) const {
    const auto& readers = facts_.readers[value];
    return facts_.is_output[value] ||
           std::any_of(readers.begin(), readers.end(), [&](std::uint32_t r) { return !is_claimed(r); });
  }

  ChainSource source(std::uint32_t value) const {
    ChainSource found;
    found.dtype = facts_.program.type(value).dtype;
    if (value == product_.result()) {
      found.kind = ChainSource::Kind::kProduct;
      return found;
    }
    const auto made = instruction_of_.find(value);
    if (made != instruction_of_.end()) {
      found.kind = ChainSource::Kind::kInstruction;
      found.index = made->second;
      return found;
    }
    return *outside(value);
  }

  std::optional<ChainInstruction> instruction(const sdk::OpView& each) const {
    ChainInstruction made;
    made.result = each.result();
    made.dtype = each.result_type().dtype;
    made.stored = is_read_outside(made.result);
    for (std::size_t k = 0; k < each.operands().size(); ++k) made.inputs[k] = source(each.operand(k));
    if (each.operands().size() == 2) {
      if (made.inputs[1].kind == ChainSource::Kind::kScalar) {
        made.scalar = ScalarOperand::kRight;
      } else if (made.inputs[0].kind == ChainSource::Kind::kScalar) {
        made.scalar = ScalarOperand::kLeft;
      }
    }
    const ir::DType from = each.operand_type(each.kind() == OpKind::SELECT ? 1 : 0).dtype;
    made.run = settings_.kernels->elementwise(each.kind(), from, made.dtype, made.scalar);
    if (made.run == nullptr) return std::nullopt;
    return made;
  }

  // An instruction whose memory can hold the product until then.
  static std::optional<std::uint32_t> place_of_product(const MatmulChain& chain) {
    std::uint32_t last_reader = 0;
    const auto reads_product = [](const ChainInstruction& each) {
      return std::any_of(std::begin(each.inputs), std::end(each.inputs),
                         [](const ChainSource& s) { return s.kind == ChainSource::Kind::kProduct; });
    };
    for (std::uint32_t i = 0; i < chain.instructions.size(); ++i) {
      if (reads_product(chain.instructions[i])) last_reader = i;
    }
    for (std::uint32_t i = last_reader; i < chain.instructions.size(); ++i) {
      if (chain.instructions[i].stored && chain.instructions[i].dtype == ir::DType::kF32) return i;
    }
    return std::nullopt;
  }

  std::optional<Claim> make_claim() {
    MatmulChain chain;
    chain.m = shape_.m;
    chain.n = shape_.n;
    chain.product = product_.result();
    for (const std::uint32_t each : ops_) {
      const std::optional<ChainInstruction> made = instruction(op(each));
      if (!made.has_value()) return std::nullopt;
      instruction_of_[made->result] = static_cast<std::uint32_t>(chain.instructions.size());
      chain.instructions.push_back(*made);
    }
    bool summed = false;
    for (const std::uint32_t each : sums_) {
      chain.sums.push_back({source(op(each).operand(0)), op(each).result()});
      summed = summed || chain.sums.back().source.kind == ChainSource::Kind::kProduct;
    }
    fuse_instructions(chain, *settings_.kernels);
    if (!is_read_outside(product_.result())) {
      if (!summed) chain.product_at = place_of_product(chain);
      if (!chain.product_at.has_value()) return std::nullopt;
    }
    Claim claim;
    claim.ops = {product_.index()};
    claim.ops.insert(claim.ops.end(), ops_.begin(), ops_.end());
    claim.ops.insert(claim.ops.end(), sums_.begin(), sums_.end());
    claim.step = chained_matmul(shape_, facts_.roots[product_.operand(0)], facts_.roots[product_.operand(1)],
                                std::move(chain), settings_);
    return claim;
  }

  const ProgramFacts& facts_;
  const CompileSettings& settings_;
  const sdk::OpView& product_;
  const MatmulShape shape_;
  std::vector<bool> dependent_;                            // by value
  std::set<std::uint32_t> members_;                        // values made in the claim
  std::vector<std::uint32_t> ops_;                         // elementwise ones of the claim, in program order
  std::set<std::uint32_t> sums_;                           // ops
  std::map<std::uint32_t, std::uint32_t> instruction_of_;  // by value
};

}  // namespace

std::vector<Claim> find_matmul_claims(const ProgramFacts& facts, const CompileSettings& settings) {
  std::vector<Claim> claims;
  for (const sdk::OpView& op : facts.program.ops()) {
    if (op.kind() != OpKind::MATMUL || op.result_type().elements() == 0) continue;
    if (auto claim = ChainFinder(facts, settings, op).find()) claims.push_back(std::move(*claim));
  }
  return claims;
}

}  // namespace thrt::cpu
