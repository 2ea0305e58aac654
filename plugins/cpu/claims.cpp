#include "claims.hpp"

#include <algorithm>
#include <utility>

namespace thrt::cpu {
namespace {

constexpr std::uint32_t kUnclaimed = UINT32_MAX;

class Acceptance {
 public:
  explicit Acceptance(const ProgramFacts& facts) : facts_(facts), claim_of_(facts.program.ops().size(), kUnclaimed) {}

  bool accept(Claim& claim) {
    normalise(claim);
    if (claim.ops.empty() || !free_to_take(claim)) return false;
    const auto index = static_cast<std::uint32_t>(reads_.size());
    for (const std::uint32_t op : claim.ops) claim_of_[op] = index;
    reads_.push_back(claim.step.memory.reads);
    if (names_what_it_touches(claim, index) && can_be_ordered()) return true;
    reads_.pop_back();
    for (const std::uint32_t op : claim.ops) claim_of_[op] = kUnclaimed;
    return false;
  }

 private:
  // Ops in order, once each, without constants, which lie in memory anyway.
  void normalise(Claim& claim) const {
    std::sort(claim.ops.begin(), claim.ops.end());
    claim.ops.erase(std::unique(claim.ops.begin(), claim.ops.end()), claim.ops.end());
    const auto is_constant = [&](std::uint32_t op) {
      return op < claim_of_.size() && facts_.program.ops()[op].kind() == ir::OpKind::CONSTANT;
    };
    claim.ops.erase(std::remove_if(claim.ops.begin(), claim.ops.end(), is_constant), claim.ops.end());
  }

  bool free_to_take(const Claim& claim) const {
    return std::all_of(claim.ops.begin(), claim.ops.end(),
                       [&](std::uint32_t op) { return op < claim_of_.size() && claim_of_[op] == kUnclaimed; });
  }

  bool made_by(std::uint32_t value, std::uint32_t claim) const {
    return facts_.producer[value] != THRT_NONE && claim_of_[facts_.producer[value]] == claim;
  }

  bool names_what_it_touches(const Claim& claim, std::uint32_t index) const {
    const std::vector<std::uint32_t>& writes = claim.step.memory.writes;
    for (const std::uint32_t value : claim.step.memory.reads) {
      if (made_by(value, index)) return false;
    }
    for (const std::uint32_t value : writes) {
      if (!made_by(value, index)) return false;
    }
    for (const std::uint32_t op : claim.ops) {
      for (std::uint32_t i = 0; i < facts_.program.ops()[op].result_count(); ++i) {
        const std::uint32_t value = facts_.program.ops()[op].result(i);
        const std::vector<std::uint32_t>& readers = facts_.readers[value];
        const bool needed =
            facts_.is_output[value] || std::any_of(readers.begin(), readers.end(),
                                                   [&](std::uint32_t reader) { return claim_of_[reader] != index; });
        if (needed && std::find(writes.begin(), writes.end(), value) == writes.end()) return false;
      }
    }
    return true;
  }

  std::uint32_t node_of(std::uint32_t op) const {
    return claim_of_[op] == kUnclaimed ? op : static_cast<std::uint32_t>(claim_of_.size()) + claim_of_[op];
  }

  // Whether the program with each claim as one node has an order (Kahn's algorithm comes to an end).
  bool can_be_ordered() const {
    const auto op_count = static_cast<std::uint32_t>(claim_of_.size());
    const std::size_t node_count = op_count + reads_.size();
    std::vector<std::vector<std::uint32_t>> after(node_count);
    std::vector<std::uint32_t> waits_for(node_count, 0);
    const auto edge = [&](std::uint32_t value, std::uint32_t node) {
      if (facts_.producer[value] == THRT_NONE || node_of(facts_.producer[value]) == node) return;
      after[node_of(facts_.producer[value])].push_back(node);
      ++waits_for[node];
    };
    for (const sdk::OpView& op : facts_.program.ops()) {
      for (const std::uint32_t value : op.operands()) edge(value, node_of(op.index()));
    }
    for (std::uint32_t i = 0; i < reads_.size(); ++i) {
      for (const std::uint32_t value : reads_[i]) edge(value, op_count + i);
    }
    std::vector<std::uint32_t> ready;
    for (std::uint32_t node = 0; node < node_count; ++node) {
      if (waits_for[node] == 0) ready.push_back(node);
    }
    std::size_t ordered = 0;
    while (!ready.empty()) {
      const std::uint32_t node = ready.back();
      ready.pop_back();
      ++ordered;
      for (const std::uint32_t next : after[node]) {
        if (--waits_for[next] == 0) ready.push_back(next);
      }
    }
    return ordered == node_count;
  }

  const ProgramFacts& facts_;
  std::vector<std::uint32_t> claim_of_;            // by op
  std::vector<std::vector<std::uint32_t>> reads_;  // by claim
};

}  // namespace

std::vector<Claim> accept_claims(const ProgramFacts& facts, std::vector<Claim> proposed) {
  Acceptance acceptance(facts);
  std::vector<Claim> accepted;
  for (Claim& claim : proposed) {
    if (acceptance.accept(claim)) accepted.push_back(std::move(claim));
  }
  return accepted;
}

}  // namespace thrt::cpu
