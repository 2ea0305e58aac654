// Whether an op's result is near enough to its definition.
#pragma once

#include "random_op.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

namespace thrt::testing {

inline std::string describe(const RandomOp& op) {
  std::ostringstream text;
  text << ir::op_info(op.kind).name;
  for (const Naive& operand : op.operands) text << " " << operand.type.str();
  text << " attributes";
  for (const std::int64_t attribute : op.attributes) text << " " << attribute;
  if (op.declared.has_value()) text << " -> " << op.declared->str();
  return text.str();
}

// How far an f32 result may be from the exact one, by the contract in ops.def. `terms`: the sum's number of additions, and the sum of
// its terms' magnitudes.
inline void expect_close(const RandomOp& op, const std::vector<double>& got, const Naive& exact,
                         const Naive& magnitudes, double additions) {
  ASSERT_EQ(got.size(), exact.x.size()) << describe(op);
  const int ulps = ir::op_info(op.kind).ulps;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(exact.x[i]) || std::isnan(got[i]) || std::isinf(exact.x[i])) {
      ASSERT_TRUE((std::isnan(exact.x[i]) && std::isnan(got[i])) || got[i] == exact.x[i])
          << describe(op) << " element " << i << ": " << got[i] << ", exactly " << exact.x[i];
      continue;
    }
    double allowed = 0;
    if (exact.type.dtype == DType::kF32 && ulps == ir::kUlpsSum) allowed = additions * 0x1p-24 * magnitudes.x[i];
    if (exact.type.dtype == DType::kF32 && ulps > 0) {
      const int exponent = exact.x[i] == 0 ? -149 : std::max(std::ilogb(exact.x[i]) - 23, -149);
      // One more, because the exact result given here is itself rounded to f32.
      allowed = (ulps + 1) * std::ldexp(1.0, exponent);
      if (op.kind == OpKind::SIN || op.kind == OpKind::COS) {
        if (std::fabs(op.operands[0].x[i]) > 1e4) continue;
        allowed = std::max(allowed, 0x1p-21);
      }
    }
    ASSERT_LE(std::fabs(got[i] - exact.x[i]), allowed)
        << describe(op) << " element " << i << ": " << got[i] << ", exactly " << exact.x[i];
  }
}

// The op alone in a program, which reads its operands from slots x0, x1 ... and writes y.
struct OpProgram {
  explicit OpProgram(const RandomOp& random_op) : op(random_op) {
    std::vector<std::uint32_t> operands;
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      const std::string name = "x" + std::to_string(i);
      operands.push_back(builder.input(name, op.operands[i].type));
      inputs[name] = encode(op.operands[i]);
    }
    const std::uint32_t result = builder.op(op.kind, operands, op.attributes, op.declared);
    builder.output("y", result);
    type = builder.type(result);
  }

  void expect(const Bytes& y) const {
    const Naive exact = naive(op.kind, op.operands, op.attributes, type);
    std::vector<Naive> absolute = op.operands;
    double additions = 0;
    for (Naive& operand : absolute) {
      additions = std::max(additions, static_cast<double>(operand.x.size()));
      if (operand.type.dtype != DType::kF32) continue;
      for (double& x : operand.x) x = std::fabs(x);
    }
    const bool sum = ir::op_info(op.kind).ulps == ir::kUlpsSum;
    const Naive magnitudes = sum ? naive(op.kind, absolute, op.attributes, type) : exact;
    expect_close(op, decode(y, type.dtype), exact, magnitudes, additions);
  }

  RandomOp op;
  Builder builder;
  std::map<std::string, Bytes> inputs;
  ir::Type type;
};

}  // namespace thrt::testing
