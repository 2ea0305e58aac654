#include "claims.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace thrt::cpu {
namespace {

constexpr std::uint32_t kUnclaimed = UINT32_MAX;

template <class T>
bool contains(const std::vector<T>& list, const T& wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

class Acceptance {
 public:
  Acceptance(const ProgramFacts& facts, std::vector<Claim>& claims)
      : facts_(facts), claims_(claims), claim_of_(facts.program.ops().size(), kUnclaimed), dropped_(claims.size()) {}

  // Which are left when nothing has to be dropped any more.
  const std::vector<bool>& drop_bad_ones() {
    for (Claim& claim : claims_) normalise(claim);
    for (std::optional<std::size_t> bad = first_bad(); bad.has_value(); bad = first_bad()) drop(*bad);
    return dropped_;
  }

 private:
  // Ops in order, once each, without constants, which lie in memory anyway.
  void normalise(Claim& claim) const {
    std::sort(claim.ops.begin(), claim.ops.end());
    claim.ops.erase(std::unique(claim.ops.begin(), claim.ops.end()), claim.ops.end());
    const auto is_constant = [&](std::uint32_t op) { return facts_.program.ops()[op].kind() == ir::OpKind::CONSTANT; };
    claim.ops.erase(std::remove_if(claim.ops.begin(), claim.ops.end(), is_constant), claim.ops.end());
  }

  void drop(std::size_t bad) {
    for (std::size_t i = 0; i < claims_.size(); ++i) {
      if (i == bad || (claims_[i].family != 0 && claims_[i].family == claims_[bad].family)) dropped_[i] = true;
    }
  }

  std::optional<std::size_t> first_bad() {
    std::fill(claim_of_.begin(), claim_of_.end(), kUnclaimed);
    for (std::size_t i = 0; i < claims_.size(); ++i) {
      if (dropped_[i]) continue;
      for (const std::uint32_t op : claims_[i].ops) {
        if (claim_of_[op] != kUnclaimed) return i;
        claim_of_[op] = static_cast<std::uint32_t>(i);
      }
      if (claims_[i].ops.empty()) return i;
    }
    for (std::size_t i = 0; i < claims_.size(); ++i) {
      if (!dropped_[i] && !names_what_it_touches(static_cast<std::uint32_t>(i))) return i;
    }
    if (can_be_ordered()) return std::nullopt;
    // The first that closes a circle with those before it.
    for (std::size_t i = claims_.size(); i-- > 0;) {
      if (dropped_[i]) continue;
      for (const std::uint32_t op : claims_[i].ops) claim_of_[op] = kUnclaimed;
      if (can_be_ordered()) return i;
    }
    return std::nullopt;
  }

  // The claim that makes the value, or kUnclaimed.
  std::uint32_t maker(std::uint32_t value) const {
    return facts_.producer[value] == THRT_NONE ? kUnclaimed : claim_of_[facts_.producer[value]];
  }

  bool names_what_it_touches(std::uint32_t claim) const {
    const sdk::PlanStep& memory = claims_[claim].step.memory;
    for (const std::uint32_t value : memory.writes) {
      if (maker(value) != claim) return false;
    }
    for (const std::uint32_t value : memory.reads) {
      const std::uint32_t from = maker(value);
      if (from == claim) return false;
      if (from != kUnclaimed && !contains(claims_[from].step.memory.writes, value)) return false;
    }
    for (const std::uint32_t op : claims_[claim].ops) {
      for (std::uint32_t i = 0; i < facts_.program.ops()[op].result_count(); ++i) {
        const std::uint32_t value = facts_.program.ops()[op].result(i);
        const std::vector<std::uint32_t>& readers = facts_.readers[value];
        const bool needed = facts_.is_output[value] ||
                            std::any_of(readers.begin(), readers.end(),
                                        [&](std::uint32_t reader) { return claim_of_[reader] == kUnclaimed; });
        if (needed && !contains(memory.writes, value)) return false;
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
    const std::size_t node_count = op_count + claims_.size();
    std::vector<std::vector<std::uint32_t>> after(node_count);
    std::vector<std::uint32_t> waits_for(node_count, 0);
    const auto edge = [&](std::uint32_t value, std::uint32_t node) {
      if (facts_.producer[value] == THRT_NONE || node_of(facts_.producer[value]) == node) return;
      after[node_of(facts_.producer[value])].push_back(node);
      ++waits_for[node];
    };
    std::vector<bool> present(claims_.size());
    for (const sdk::OpView& op : facts_.program.ops()) {
      if (claim_of_[op.index()] != kUnclaimed) {
        present[claim_of_[op.index()]] = true;
        continue;
      }
      for (const std::uint32_t value : op.operands()) edge(value, op.index());
    }
    for (std::uint32_t i = 0; i < claims_.size(); ++i) {
      if (!present[i]) continue;
      for (const std::uint32_t value : claims_[i].step.memory.reads) edge(value, op_count + i);
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
  std::vector<Claim>& claims_;
  std::vector<std::uint32_t> claim_of_;  // by op
  std::vector<bool> dropped_;            // by claim
};

}  // namespace

std::vector<Claim> accept_claims(const ProgramFacts& facts, std::vector<Claim> proposed) {
  const std::vector<bool> dropped = Acceptance(facts, proposed).drop_bad_ones();
  std::vector<Claim> accepted;
  for (std::size_t i = 0; i < proposed.size(); ++i) {
    if (!dropped[i]) accepted.push_back(std::move(proposed[i]));
  }
  return accepted;
}

}  // namespace thrt::cpu
