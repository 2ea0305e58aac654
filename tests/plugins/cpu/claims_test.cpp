// Which claims stand: none that could not run, or that would leave a value unmade.
#include "../../../plugins/cpu/claims.hpp"
#include "host.hpp"

#include <gtest/gtest.h>

namespace thrt::cpu {
namespace {

using ir::OpKind;
using testing::Builder;
using List = std::vector<std::uint32_t>;

ProgramFacts facts_of(const sdk::ProgramView& program) {
  ProgramFacts facts{program, {}, {}, {}, {}, {}};
  facts.readers.resize(program.value_count());
  facts.is_output.resize(program.value_count());
  facts.producer.assign(program.value_count(), THRT_NONE);
  for (const sdk::OpView& op : program.ops()) {
    for (const std::uint32_t value : op.operands()) facts.readers[value].push_back(op.index());
    facts.producer[op.result()] = op.index();
  }
  for (std::uint32_t i = 0; i < program.slot_count(); ++i) {
    if (program.slot(i).written()) facts.is_output[program.slot(i).output_value] = true;
  }
  for (std::uint32_t v = 0; v < program.value_count(); ++v) {
    facts.roots.push_back(v);
    facts.layouts.push_back(Layout::dense(program.type(v).shape));
  }
  return facts;
}

Claim claim(List ops, List reads, List writes, std::uint32_t family = 0) {
  Claim made;
  made.ops = std::move(ops);
  made.step.memory.reads = std::move(reads);
  made.step.memory.writes = std::move(writes);
  made.family = family;
  return made;
}

// x -> a (op 0) -> b (op 1) -> c (op 2), and d = a + c (op 3), the output.
class Claims : public ::testing::Test {
 protected:
  Claims() {
    x = builder_.input("x", {ir::DType::kF32, {8}});
    a = builder_.op(OpKind::NEG, {x});
    b = builder_.op(OpKind::EXP, {a});
    c = builder_.op(OpKind::TANH, {b});
    d = builder_.op(OpKind::ADD, {a, c});
    builder_.output("d", d);
  }

  // The first ops of those that stand.
  List standing(std::vector<Claim> proposed) {
    const sdk::ProgramView program(builder_.built());
    List firsts;
    for (const Claim& each : accept_claims(facts_of(program), std::move(proposed))) firsts.push_back(each.ops.front());
    return firsts;
  }

  Builder builder_;
  std::uint32_t x = 0, a = 0, b = 0, c = 0, d = 0;
};

TEST_F(Claims, WholePatternsStand) {
  EXPECT_EQ(standing({claim({0, 1, 2, 3}, {x}, {d})}), List{0});
  EXPECT_EQ(standing({claim({1, 2}, {a}, {c})}), List{1});
}

TEST_F(Claims, WhatWouldRunBeforeAndAfterSomethingElseIsDropped) {
  // b hangs on a, d on c: ops 0 and 3 cannot be one step while 1 and 2 are outside.
  EXPECT_EQ(standing({claim({0, 3}, {x, c}, {a, d})}), List{});
  // Two claims that are right alone and wait for each other together: the later one goes.
  Builder two;
  const std::uint32_t p = two.input("p", {ir::DType::kF32, {8}}), q = two.input("q", {ir::DType::kF32, {8}});
  const std::uint32_t p1 = two.op(OpKind::NEG, {p}), q1 = two.op(OpKind::NEG, {q});
  const std::uint32_t p2 = two.op(OpKind::NEG, {q1}), q2 = two.op(OpKind::NEG, {p1});
  two.output("p2", p2);
  two.output("q2", q2);
  const sdk::ProgramView program(two.built());
  const std::vector<Claim> left =
      accept_claims(facts_of(program), {claim({0, 2}, {p, q1}, {p1, p2}), claim({1, 3}, {q, p1}, {q1, q2})});
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].ops.front(), 0u);
}

TEST_F(Claims, OfTwoThatOverlapTheFirstStands) {
  EXPECT_EQ(standing({claim({1, 2}, {a}, {c}), claim({0, 1}, {x}, {a, b}), claim({3}, {a, c}, {d})}), (List{1, 3}));
}

TEST_F(Claims, LeavingOutAValueThatIsNeededIsDropped) {
  EXPECT_EQ(standing({claim({0, 1}, {x}, {b})}), List{});     // op 3 reads a
  EXPECT_EQ(standing({claim({2, 3}, {a, b}, {c})}), List{});  // d is an output
  EXPECT_EQ(standing({claim({1}, {a}, {b, c})}), List{});     // c is not made here
  EXPECT_EQ(standing({claim({1, 2}, {a, b}, {c})}), List{});  // b is
  EXPECT_EQ(standing({claim({0}, {x}, {}), claim({1, 2, 3}, {a}, {d})}),
            List{});  // the second reads what the first hides
}

TEST_F(Claims, OneClaimNeedNotMakeWhatAnotherDoesNotName) {
  // The second computes b again from a; the value b itself is never made.
  EXPECT_EQ(standing({claim({0, 1}, {x}, {a}), claim({2, 3}, {a}, {d})}), (List{0, 2}));
}

TEST_F(Claims, AFamilyStandsOrFallsAsOne) {
  const Claim good = claim({1}, {a}, {b}, 7), bad = claim({3}, {a, c}, {}, 7), other = claim({2}, {b}, {c}, 8);
  EXPECT_EQ(standing({good, bad, other}), List{2});
}

}  // namespace
}  // namespace thrt::cpu
