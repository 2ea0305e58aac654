// Behind emit.hpp: what ops cost, in additions, and how often they read their operands. Rough on purpose: it decides what is
// fused, not what is right.
#pragma once

#include <thrt/ir/ops.hpp>
#include <thrt/sdk/program.hpp>

#include <algorithm>
#include <cstddef>

namespace thrt::emit::detail {

// How many times one element of the result runs through the op's loop; 1 for ops without one.
inline double loop_length(const sdk::OpView& op) {
  const auto elements = [&](std::size_t i) { return static_cast<double>(op.operand_type(i).elements()); };
  const double results = std::max(1.0, static_cast<double>(op.result_type().elements()));
  switch (op.kind()) {
    case ir::OpKind::REDUCE_SUM:
    case ir::OpKind::REDUCE_MAX:
      return elements(0) / results;
    case ir::OpKind::ARGMAX:
    case ir::OpKind::ARGSORT:
      return static_cast<double>(op.operand_type(0).shape[static_cast<int>(op.attribute(0))]);
    case ir::OpKind::SCATTER_ADD:
      return elements(1);
    case ir::OpKind::MATMUL: {
      const ir::Shape a = op.operand_type(0).shape;
      return static_cast<double>(a[op.attribute(0) == 1 ? a.rank() - 2 : a.rank() - 1]);
    }
    case ir::OpKind::CONV2D: {
      const ir::Shape filter = op.operand_type(1).shape;
      return static_cast<double>(filter[1] * filter[2] * filter[3]);
    }
    case ir::OpKind::CONV2D_GRAD_INPUT: {
      const ir::Shape filter = op.operand_type(1).shape;
      return static_cast<double>(filter[0] * filter[2] * filter[3]);
    }
    case ir::OpKind::CONV2D_GRAD_FILTER: {
      const ir::Shape dy = op.operand_type(0).shape;
      return static_cast<double>(dy[0] * dy[2] * dy[3]);
    }
    default:
      return 1;
  }
}

// Of one element of the result, without its operands.
inline double own_cost(const sdk::OpView& op) {
  const bool is_float = ir::is_float(op.result_type().dtype);
  switch (op.kind()) {
    case ir::OpKind::CONSTANT:
    case ir::OpKind::IOTA:
    case ir::OpKind::BROADCAST:
    case ir::OpKind::RESHAPE:
    case ir::OpKind::TRANSPOSE:
    case ir::OpKind::SLICE:
      return 0;
    case ir::OpKind::PAD:
    case ir::OpKind::CONCAT:
    case ir::OpKind::GATHER:
    case ir::OpKind::DYNAMIC_SLICE:
    case ir::OpKind::DYNAMIC_UPDATE_SLICE:
      return 2;
    case ir::OpKind::DIV:
    case ir::OpKind::SQRT:
      return is_float ? 4 : 8;
    case ir::OpKind::EXP:
    case ir::OpKind::LOG:
    case ir::OpKind::LOG1P:
    case ir::OpKind::SIN:
    case ir::OpKind::COS:
    case ir::OpKind::TANH:
    case ir::OpKind::SIGMOID:
    case ir::OpKind::ERF:
    case ir::OpKind::REM:
      return 16;
    case ir::OpKind::POW:
      return 40;
    case ir::OpKind::RANDOM_BITS:
      return 60;
    default:
      return std::max(1.0, 2 * loop_length(op) - 1);
  }
}

// How many elements of operand `i` one element of the result reads.
inline double reads_of(const sdk::OpView& op, std::size_t i) {
  switch (op.kind()) {
    case ir::OpKind::RANDOM_BITS:
      return 4;
    case ir::OpKind::DYNAMIC_SLICE:
      return i == 1 ? op.operand_type(0).shape.rank() : 1;
    case ir::OpKind::DYNAMIC_UPDATE_SLICE:
      return i == 2 ? op.operand_type(0).shape.rank() : 1;
    case ir::OpKind::SCATTER_ADD: {  // an update is read where it is added
      const double results = std::max(1.0, static_cast<double>(op.result_type().elements()));
      return i == 0 ? 1 : i == 1 ? loop_length(op) : static_cast<double>(op.operand_type(2).elements()) / results;
    }
    case ir::OpKind::CONCAT:
    case ir::OpKind::PAD: {
      const double results = std::max(1.0, static_cast<double>(op.result_type().elements()));
      return op.kind() == ir::OpKind::PAD && i == 1 ? 1 : static_cast<double>(op.operand_type(i).elements()) / results;
    }
    default:
      return loop_length(op);
  }
}

// Is operand `i` read at the result's own flat index?
inline bool keeps_place(const sdk::OpView& op, std::size_t i) {
  switch (op.kind()) {
    case ir::OpKind::RESHAPE:
      return true;
    case ir::OpKind::BROADCAST:
      return op.operand_type(0).elements() == op.result_type().elements();
    case ir::OpKind::SCATTER_ADD:
    case ir::OpKind::DYNAMIC_UPDATE_SLICE:
      return i == 0;
    default:
      return op.info().rule == ir::Rule::kUnary || op.info().rule == ir::Rule::kCast ||
             op.info().rule == ir::Rule::kBinary || op.info().rule == ir::Rule::kCompare ||
             op.info().rule == ir::Rule::kSelect;
  }
}

}  // namespace thrt::emit::detail
