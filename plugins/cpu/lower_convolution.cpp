// conv2d and its two gradients where nothing is fused with them.
#include "convolution_step.hpp"
#include "lower.hpp"

#include <cstring>

namespace thrt::cpu {

Step lower_convolution(const sdk::OpView& op, const CompileSettings& settings) {
  const ir::Type to = op.result_type();
  if (to.elements() == 0) return step_of(op);
  if (op.operand_type(0).elements() == 0 || op.operand_type(1).elements() == 0) {  // a sum over nothing
    Step step = step_of(op);
    step.bind = [bytes = to.bytes(), result = op.result()](const Addresses& addresses, std::byte*) -> Task {
      return [bytes, out = addresses.of(result)] { std::memset(out, 0, bytes); };
    };
    return step;
  }
  using Kind = ConvolutionSpec::Kind;
  ConvolutionSpec spec{};
  spec.geometry = ConvolutionGeometry::of(op);
  switch (op.kind()) {
    case ir::OpKind::CONV2D:
      spec.kind = Kind::kForward;
      spec.x.value = op.operand(0), spec.filter = op.operand(1), spec.y.value = op.result();
      break;
    case ir::OpKind::CONV2D_GRAD_INPUT:
      spec.kind = Kind::kGradInput;
      spec.y.value = op.operand(0), spec.filter = op.operand(1), spec.x.value = op.result();
      break;
    default:  // CONV2D_GRAD_FILTER
      spec.kind = Kind::kGradFilter;
      spec.y.value = op.operand(0), spec.x.value = op.operand(1), spec.filter = op.result();
      break;
  }
  return convolution_step(spec, settings);
}

}  // namespace thrt::cpu
