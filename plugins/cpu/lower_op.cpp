#include "lower.hpp"

#include <stdexcept>

namespace thrt::cpu {

Step compile_op(const sdk::OpView& op, const CompileSettings& settings) {
  switch (op.kind()) {
    case ir::OpKind::IOTA:
      return lower_iota(op);
    case ir::OpKind::PAD:
      return lower_pad(op);
    case ir::OpKind::CONCAT:
      return lower_concat(op);
    case ir::OpKind::GATHER:
      return lower_gather(op);
    case ir::OpKind::SCATTER_ADD:
      return lower_scatter_add(op, settings);
    case ir::OpKind::DYNAMIC_SLICE:
      return lower_dynamic_slice(op);
    case ir::OpKind::DYNAMIC_UPDATE_SLICE:
      return lower_dynamic_update_slice(op);
    case ir::OpKind::REDUCE_SUM:
    case ir::OpKind::REDUCE_MAX:
      return lower_reduce(op, settings);
    case ir::OpKind::ARGMAX:
      return lower_argmax(op);
    case ir::OpKind::ARGSORT:
      return lower_argsort(op);
    case ir::OpKind::MATMUL:
      return lower_matmul(op, settings);
    case ir::OpKind::CONV2D:
    case ir::OpKind::CONV2D_GRAD_INPUT:
    case ir::OpKind::CONV2D_GRAD_FILTER:
      return lower_convolution(op, settings);
    case ir::OpKind::RANDOM_BITS:
      return lower_random_bits(op, settings);
    case ir::OpKind::REPEAT:
      return lower_repeat(op, settings);
    default:
      throw std::logic_error("no lowering for this op");
  }
}

}  // namespace thrt::cpu
