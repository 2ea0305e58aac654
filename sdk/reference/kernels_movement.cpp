// Ops that move elements and compute nothing.
#include "kernel.hpp"

namespace thrt::reference {

template <>
void kernel<OpKind::BROADCAST>(const Call& call) {
  const Shape& from = call.in(0).type.shape;
  const auto strides = from.strides();
  for_each_index(call.out().type.shape, [&](const auto& index, std::int64_t flat) {
    std::int64_t source = 0;
    for (int d = 0; d < from.rank(); ++d) {
      const auto axis = static_cast<std::size_t>(call.attributes[static_cast<std::size_t>(d)]);
      if (from[d] != 1) source += index[axis] * strides[static_cast<std::size_t>(d)];
    }
    copy_element(call.out(), flat, call.in(0), source);
  });
}

template <>
void kernel<OpKind::TRANSPOSE>(const Call& call) {
  const auto strides = call.in(0).type.shape.strides();
  for_each_index(call.out().type.shape, [&](const auto& index, std::int64_t flat) {
    std::int64_t source = 0;
    for (std::size_t d = 0; d < call.attributes.size(); ++d) {
      source += index[d] * strides[static_cast<std::size_t>(call.attributes[d])];
    }
    copy_element(call.out(), flat, call.in(0), source);
  });
}

template <>
void kernel<OpKind::SLICE>(const Call& call) {
  const std::size_t rank = call.attributes.size() / 3;
  const auto strides = call.in(0).type.shape.strides();
  for_each_index(call.out().type.shape, [&](const auto& index, std::int64_t flat) {
    std::int64_t source = 0;
    for (std::size_t d = 0; d < rank; ++d) {
      source += (call.attributes[d] + index[d] * call.attributes[2 * rank + d]) * strides[d];
    }
    copy_element(call.out(), flat, call.in(0), source);
  });
}

template <>
void kernel<OpKind::PAD>(const Call& call) {
  const std::size_t rank = call.attributes.size() / 3;
  const auto strides = call.out().type.shape.strides();
  const std::int64_t count = call.out().type.elements();
  for (std::int64_t i = 0; i < count; ++i) copy_element(call.out(), i, call.in(1), 0);
  for_each_index(call.in(0).type.shape, [&](const auto& index, std::int64_t flat) {
    std::int64_t target = 0;
    for (std::size_t d = 0; d < rank; ++d) {
      target += (call.attributes[d] + index[d] * (1 + call.attributes[2 * rank + d])) * strides[d];
    }
    copy_element(call.out(), target, call.in(0), flat);
  });
}

template <>
void kernel<OpKind::CONCAT>(const Call& call) {
  const auto axis = static_cast<int>(call.attributes[0]);
  const AxisView to(call.out().type.shape, axis);
  std::int64_t start = 0;
  for (const Tensor& part : call.operands) {
    const AxisView from(part.type.shape, axis);
    const std::int64_t block = from.axis * from.inner;
    for (std::int64_t o = 0; o < from.outer; ++o) {
      copy_elements(call.out(), (o * to.axis + start) * to.inner, part, o * block, block);
    }
    start += from.axis;
  }
}

}  // namespace thrt::reference
