// Two things that an optimiser does to many tensors at once, each as one step: the norm of all gradients, and Adam's
// update. Found by what is computed; names and groups do not matter.
#include "claims.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace thrt::cpu {
namespace {

using ir::DType;
using ir::OpKind;

// One element that is read for all elements of a tensor.
struct Scalar {
  std::uint32_t value = THRT_NONE;
  std::int64_t offset = 0;

  const float* address(const Addresses& addresses) const {
    return value == THRT_NONE ? nullptr : reinterpret_cast<const float*>(addresses.of(value)) + offset;
  }
};

// One tensor's part of an update. All but the scalars are values of one type.
struct Update {
  std::uint32_t p = 0, m = 0, v = 0, gradient = 0, p_out = 0, m_out = 0, v_out = 0;
  Scalar beta1, rest1, beta2, rest2, scale_v, epsilon, rate, scale, keep;
  std::int64_t elements = 0;
  std::vector<std::uint32_t> ops;
  std::uint32_t depth = 0;  // of updates that it waits for

  std::vector<const Scalar*> scalars() const {
    return {&beta1, &rest1, &beta2, &rest2, &scale_v, &epsilon, &rate, &scale, &keep};
  }
};

class Reader {
 public:
  explicit Reader(const ProgramFacts& facts) : facts_(facts) {}

  // The op that makes a value, if it is one of this kind.
  const sdk::OpView* made_by(std::uint32_t value, OpKind kind) const {
    const std::uint32_t producer = facts_.producer[value];
    if (producer == THRT_NONE) return nullptr;
    const sdk::OpView& op = facts_.program.ops()[producer];
    return op.kind() == kind ? &op : nullptr;
  }

  std::optional<Scalar> scalar(std::uint32_t value) const {
    const Layout& layout = facts_.layouts[value];
    if (!layout.is_scalar()) return std::nullopt;
    return Scalar{facts_.roots[value], layout.offset};
  }

  struct Scaled {
    Scalar factor;
    std::uint32_t tensor;
    std::uint32_t op;
  };
  // Both ways to read a product as a scalar times a tensor.
  std::vector<Scaled> scaled(std::uint32_t value) const {
    std::vector<Scaled> found;
    if (const sdk::OpView* op = made_by(value, OpKind::MUL)) {
      for (const std::size_t side : {0u, 1u}) {
        const auto factor = scalar(op->operand(side));
        if (factor) found.push_back({*factor, op->operand(1 - side), op->index()});
      }
    }
    return found;
  }

  // x where value = x * x.
  std::optional<std::uint32_t> root_of_square(std::uint32_t value) const {
    const sdk::OpView* op = made_by(value, OpKind::MUL);
    if (op == nullptr || op->operand(0) != op->operand(1)) return std::nullopt;
    return op->operand(0);
  }

  bool read_outside(std::uint32_t value, const std::vector<std::uint32_t>& ops) const {
    const std::vector<std::uint32_t>& readers = facts_.readers[value];
    return facts_.is_output[value] || std::any_of(readers.begin(), readers.end(), [&](std::uint32_t reader) {
             return std::find(ops.begin(), ops.end(), reader) == ops.end();
           });
  }

  const ProgramFacts& facts() const { return facts_; }

 private:
  const ProgramFacts& facts_;
};

// ------------------------------------------------------------------------------------------------------------- Adam
class AdamMatcher {
 public:
  explicit AdamMatcher(const ProgramFacts& facts) : read_(facts) {}

  // See kernels/adam.hpp for the formula. `last` is its subtraction.
  std::optional<Update> match(const sdk::OpView& last) const {
    if (last.kind() != OpKind::SUB || last.result_type().dtype != DType::kF32) return std::nullopt;
    for (const auto& [rate, quotient, rate_op] : read_.scaled(last.operand(1))) {
      const sdk::OpView* ratio = read_.made_by(quotient, OpKind::DIV);
      if (ratio == nullptr) continue;
      Update update;
      update.rate = rate;
      update.p = last.operand(0);
      update.p_out = last.result();
      update.elements = last.result_type().elements();
      update.ops = {last.index(), rate_op, ratio->index()};
      update.m_out = ratio->operand(0);
      if (denominator(ratio->operand(1), update) && second_moment(update) && first_moment(update)) {
        absorb(update);
        if (closed(update)) return update;
      }
    }
    return std::nullopt;
  }

 private:
  bool denominator(std::uint32_t value, Update& update) const {
    const sdk::OpView* sum = read_.made_by(value, OpKind::ADD);
    if (sum == nullptr) return false;
    for (const std::size_t side : {0u, 1u}) {
      const auto epsilon = read_.scalar(sum->operand(side));
      if (!epsilon) continue;
      for (const auto& [scale_v, deviation, op] : read_.scaled(sum->operand(1 - side))) {
        const sdk::OpView* root = read_.made_by(deviation, OpKind::SQRT);
        if (root == nullptr) continue;
        update.epsilon = *epsilon;
        update.scale_v = scale_v;
        update.v_out = root->operand(0);
        update.ops.insert(update.ops.end(), {sum->index(), op, root->index()});
        return true;
      }
    }
    return false;
  }

  bool second_moment(Update& update) const {
    const sdk::OpView* sum = read_.made_by(update.v_out, OpKind::ADD);
    if (sum == nullptr) return false;
    for (const std::size_t side : {0u, 1u}) {
      for (const auto& [rest, square, rest_op] : read_.scaled(sum->operand(side))) {
        const auto gradient = read_.root_of_square(square);
        if (!gradient) continue;
        for (const auto& [beta, v, beta_op] : read_.scaled(sum->operand(1 - side))) {
          update.rest2 = rest;
          update.beta2 = beta;
          update.v = v;
          update.gradient = *gradient;
          const std::uint32_t square_op = read_.facts().producer[square];
          update.ops.insert(update.ops.end(), {sum->index(), rest_op, beta_op, square_op});
          return true;
        }
      }
    }
    return false;
  }

  bool first_moment(Update& update) const {
    const sdk::OpView* sum = read_.made_by(update.m_out, OpKind::ADD);
    if (sum == nullptr) return false;
    for (const std::size_t side : {0u, 1u}) {
      for (const auto& [rest, gradient, rest_op] : read_.scaled(sum->operand(side))) {
        if (gradient != update.gradient) continue;
        for (const auto& [beta, m, beta_op] : read_.scaled(sum->operand(1 - side))) {
          update.rest1 = rest;
          update.beta1 = beta;
          update.m = m;
          update.ops.insert(update.ops.end(), {sum->index(), rest_op, beta_op});
          return true;
        }
      }
    }
    return false;
  }

  // What only this update reads: the clipped gradient and the decayed parameter.
  void absorb(Update& update) const {
    const auto absorb_one = [&](std::uint32_t& tensor, Scalar& factor) {
      for (const auto& [scalar, inner, op] : read_.scaled(tensor)) {
        if (read_.read_outside(tensor, update.ops)) continue;
        factor = scalar;
        tensor = inner;
        update.ops.push_back(op);
        return;
      }
    };
    absorb_one(update.gradient, update.scale);
    absorb_one(update.p, update.keep);
  }

  // Whether nothing but the three results is read elsewhere, and no op stands for two things.
  bool closed(const Update& update) const {
    std::vector<std::uint32_t> sorted = update.ops;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return false;
    const ir::Type type = read_.facts().program.type(update.p_out);
    for (const std::uint32_t value : {update.p, update.m, update.v, update.gradient}) {
      if (!(read_.facts().program.type(value) == type)) return false;
    }
    for (const std::uint32_t op : update.ops) {
      const std::uint32_t value = read_.facts().program.ops()[op].result();
      if (value == update.p_out || value == update.m_out || value == update.v_out) continue;
      if (read_.read_outside(value, update.ops)) return false;
    }
    return true;
  }

  Reader read_;
};

// Updates may run together when none waits for another: an actor's loss may read a critic that was updated before.
void find_depths(const ProgramFacts& facts, std::vector<Update>& updates) {
  constexpr std::uint32_t kNone = UINT32_MAX;
  std::vector<std::uint32_t> update_of(facts.program.ops().size(), kNone);
  for (std::uint32_t u = 0; u < updates.size(); ++u) {
    for (const std::uint32_t op : updates[u].ops) update_of[op] = u;
  }
  std::vector<std::uint32_t> depth(facts.program.value_count(), 0);
  for (const sdk::OpView& op : facts.program.ops()) {
    const std::uint32_t own = update_of[op.index()];
    std::uint32_t deepest = 0;
    for (const std::uint32_t value : op.operands()) {
      const std::uint32_t from = facts.producer[value] == THRT_NONE ? kNone : update_of[facts.producer[value]];
      deepest = std::max(deepest, depth[value] + (from != kNone && from != own ? 1 : 0));
    }
    for (std::uint32_t i = 0; i < op.result_count(); ++i) depth[op.result(i)] = deepest;
    if (own != kNone) updates[own].depth = std::max(updates[own].depth, deepest);
  }
}

// Elements [first, last) of one tensor.
struct Share {
  std::uint32_t tensor;
  std::int64_t first, last;
};

// Some 20 microseconds of Adam's update.
constexpr std::int64_t kLeastElementsOfAPart = 1 << 15;

// All tensors, one after another, cut into `parts` of about the same length.
std::vector<std::vector<Share>> shares_of(const std::vector<Update>& updates, std::int64_t parts) {
  std::int64_t total = 0;
  for (const Update& update : updates) total += update.elements;
  const auto cut = [&](std::int64_t part) { return part == parts ? total : part * total / parts / 64 * 64; };
  std::vector<std::vector<Share>> shares(static_cast<std::size_t>(parts));
  std::int64_t begin = 0;
  for (std::uint32_t tensor = 0; tensor < updates.size(); ++tensor) {
    const std::int64_t end = begin + updates[tensor].elements;
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t first = std::max(begin, cut(part)), last = std::min(end, cut(part + 1));
      if (first < last) shares[static_cast<std::size_t>(part)].push_back({tensor, first - begin, last - begin});
    }
    begin = end;
  }
  return shares;
}

AdamTensor bound(const Update& update, const Addresses& addresses) {
  const auto in = [&](std::uint32_t value) { return reinterpret_cast<const float*>(addresses.of(value)); };
  const auto out = [&](std::uint32_t value) { return reinterpret_cast<float*>(addresses.of(value)); };
  const auto one = [&](const Scalar& scalar) { return scalar.address(addresses); };
  AdamTensor tensor{};
  tensor.p = in(update.p);
  tensor.m = in(update.m);
  tensor.v = in(update.v);
  tensor.gradient = in(update.gradient);
  tensor.p_out = out(update.p_out);
  tensor.m_out = out(update.m_out);
  tensor.v_out = out(update.v_out);
  tensor.beta1 = one(update.beta1);
  tensor.rest1 = one(update.rest1);
  tensor.beta2 = one(update.beta2);
  tensor.rest2 = one(update.rest2);
  tensor.scale_v = one(update.scale_v);
  tensor.epsilon = one(update.epsilon);
  tensor.rate = one(update.rate);
  tensor.scale = one(update.scale);
  tensor.keep = one(update.keep);
  tensor.elements = update.elements;
  return tensor;
}

// A result may take the place of what it is made from, where nothing else in the step reads that.
void add_in_place(Step& step, const ProgramFacts& facts, const std::vector<Update>& updates) {
  std::map<std::uint32_t, int> uses;  // by root
  for (const Update& update : updates) {
    for (const std::uint32_t value : {update.p, update.m, update.v, update.gradient}) ++uses[facts.roots[value]];
    for (const Scalar* scalar : update.scalars()) {
      if (scalar->value != THRT_NONE) ++uses[facts.roots[scalar->value]];
    }
  }
  const auto offer = [&](std::uint32_t result, std::uint32_t from) {
    if (facts.roots[from] == from && uses[from] == 1) step.memory.in_place.emplace_back(result, from);
  };
  for (const Update& update : updates) {
    offer(update.p_out, update.p);
    offer(update.m_out, update.m);
    offer(update.v_out, update.v);
  }
}

Claim adam_claim(const ProgramFacts& facts, std::vector<Update> updates, const CompileSettings& settings) {
  Claim claim;
  std::int64_t total = 0;
  std::vector<std::uint32_t> reads;
  for (const Update& update : updates) {
    total += update.elements;
    claim.ops.insert(claim.ops.end(), update.ops.begin(), update.ops.end());
    reads.insert(reads.end(), {update.p, update.m, update.v, update.gradient});
    for (const Scalar* scalar : update.scalars()) {
      if (scalar->value != THRT_NONE) reads.push_back(scalar->value);
    }
    for (const std::uint32_t value : {update.p_out, update.m_out, update.v_out}) claim.step.writes(value);
  }
  std::sort(reads.begin(), reads.end());
  reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
  claim.step.memory.reads = std::move(reads);
  add_in_place(claim.step, facts, updates);
  const std::int64_t parts =
      std::max<std::int64_t>(1, std::min<std::int64_t>(total / kLeastElementsOfAPart, settings.threads));
  claim.step.parts = static_cast<std::uint32_t>(parts);
  claim.step.cost = 10.0 * static_cast<double>(updates.size()) + 0.6 * static_cast<double>(total);
  claim.step.bind = [updates = std::move(updates), parts, adam = settings.kernels->adam](const Addresses& addresses,
                                                                                         std::byte*) -> Work {
    const auto tensors = std::make_shared<std::vector<AdamTensor>>();
    for (const Update& update : updates) tensors->push_back(bound(update, addresses));
    std::vector<Task> tasks;
    for (std::vector<Share>& shares : shares_of(updates, parts)) {
      tasks.emplace_back([tensors, shares = std::move(shares), adam] {
        for (const Share& share : shares) adam((*tensors)[share.tensor], share.first, share.last);
      });
    }
    return Work(std::move(tasks));
  };
  return claim;
}

void find_adam(const ProgramFacts& facts, const CompileSettings& settings, std::vector<Claim>& claims) {
  const AdamMatcher matcher(facts);
  std::vector<Update> updates;
  std::vector<bool> taken(facts.program.ops().size());
  for (const sdk::OpView& op : facts.program.ops()) {
    std::optional<Update> update = matcher.match(op);
    if (!update || update->elements == 0) continue;
    if (std::any_of(update->ops.begin(), update->ops.end(), [&](std::uint32_t each) { return taken[each]; })) continue;
    for (const std::uint32_t each : update->ops) taken[each] = true;
    updates.push_back(std::move(*update));
  }
  find_depths(facts, updates);
  std::map<std::uint32_t, std::vector<Update>> by_depth;
  for (Update& update : updates) by_depth[update.depth].push_back(std::move(update));
  for (auto& [depth, together] : by_depth) claims.push_back(adam_claim(facts, std::move(together), settings));
}

// ------------------------------------------------------------------------------------------------- squares of many
// ((s0 + s1) + s2) + ..., each s the sum of all squares of one tensor.
struct Norm {
  std::vector<std::uint32_t> tensors;
  std::vector<std::int64_t> lengths;
  std::vector<std::uint32_t> ops;
  std::int64_t elements = 0;
};

std::optional<Norm> sum_of_squares(const Reader& read, const sdk::OpView& op) {
  if (op.kind() != OpKind::REDUCE_SUM || op.result_type().dtype != DType::kF32) return std::nullopt;
  const ir::Type type = op.operand_type(0);
  if (op.result_type().elements() != 1 || type.elements() == 0) return std::nullopt;
  const auto tensor = read.root_of_square(op.operand(0));
  if (!tensor || read.read_outside(op.operand(0), {op.index()})) return std::nullopt;
  return Norm{{*tensor}, {type.elements()}, {op.index(), read.facts().producer[op.operand(0)]}, type.elements()};
}

Claim norm_claim(Norm norm, std::uint32_t result, const CompileSettings& settings) {
  Claim claim;
  claim.ops = norm.ops;
  std::vector<std::uint32_t> reads = norm.tensors;
  std::sort(reads.begin(), reads.end());
  reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
  claim.step.memory.reads = std::move(reads);
  claim.step.writes(result);
  claim.step.cost = 10.0 * static_cast<double>(norm.tensors.size()) + 0.06 * static_cast<double>(norm.elements);
  claim.step.bind = [norm = std::move(norm), result, squares = settings.kernels->sum_squares](
                        const Addresses& addresses, std::byte*) -> Task {
    struct Run {
      const float* x;
      std::int64_t n;
    };
    std::vector<Run> runs;
    for (std::size_t i = 0; i < norm.tensors.size(); ++i) {
      runs.push_back({reinterpret_cast<const float*>(addresses.of(norm.tensors[i])), norm.lengths[i]});
    }
    return [runs = std::move(runs), out = reinterpret_cast<float*>(addresses.of(result)), squares] {
      float total = squares(runs[0].x, runs[0].n);
      for (std::size_t i = 1; i < runs.size(); ++i) total += squares(runs[i].x, runs[i].n);
      *out = total;
    };
  };
  return claim;
}

// So many elements are left to the reductions, which share them among threads.
constexpr std::int64_t kMostElementsOfANorm = 1 << 17;

void find_norms(const ProgramFacts& facts, const CompileSettings& settings, std::vector<Claim>& claims) {
  const Reader read(facts);
  std::map<std::uint32_t, Norm> norms;  // by the value that holds it
  const auto only_here = [&](std::uint32_t value, std::uint32_t op) {
    return norms.count(value) > 0 && !read.read_outside(value, {op});
  };
  for (const sdk::OpView& op : facts.program.ops()) {
    if (auto norm = sum_of_squares(read, op)) {
      if (norm->elements <= kMostElementsOfANorm) norms[op.result()] = std::move(*norm);
      continue;
    }
    if (op.kind() != OpKind::ADD || op.result_type().elements() != 1) continue;
    const std::uint32_t left = op.operand(0), right = op.operand(1);
    if (left == right || !only_here(left, op.index()) || !only_here(right, op.index())) continue;
    if (norms[right].tensors.size() != 1) continue;
    Norm joined = std::move(norms[left]);
    const Norm last = std::move(norms[right]);
    norms.erase(left);
    norms.erase(right);
    joined.tensors.push_back(last.tensors[0]);
    joined.lengths.push_back(last.lengths[0]);
    joined.elements += last.elements;
    joined.ops.insert(joined.ops.end(), last.ops.begin(), last.ops.end());
    joined.ops.push_back(op.index());
    norms[op.result()] = std::move(joined);
  }
  for (auto& [result, norm] : norms) claims.push_back(norm_claim(std::move(norm), result, settings));
}

}  // namespace

std::vector<Claim> find_optimiser_claims(const ProgramFacts& facts, const CompileSettings& settings) {
  std::vector<Claim> claims;
  find_adam(facts, settings, claims);
  find_norms(facts, settings, claims);
  return claims;
}

}  // namespace thrt::cpu
