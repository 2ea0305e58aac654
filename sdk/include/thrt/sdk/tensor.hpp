// What a kernel on the host's memory works with: values of a type at an address, and walks over their elements. Values
// are dense and row-major, so an element is a number from 0 on, and an index is that number written in the dimensions.
#pragma once

#include <thrt/ir/type.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace thrt::sdk {

struct Tensor {
  ir::Type type;
  std::byte* data;  // 64-byte aligned; type.bytes() of them
};

template <typename Stored>
Stored* elements(const Tensor& tensor) {
  return reinterpret_cast<Stored*>(tensor.data);
}

// One number per dimension, zero beyond the rank: strides of it may be summed over all THRT_MAX_RANK axes.
using Index = std::array<std::int64_t, THRT_MAX_RANK>;

// The element at `index` of something with these strides (Shape::strides gives a dense value's).
inline std::int64_t element_at(const Index& index, const Index& strides) {
  std::int64_t at = 0;
  for (std::size_t d = 0; d < index.size(); ++d) at += index[d] * strides[d];
  return at;
}

// Calls f(index, element) for every element of the shape in row-major order; never for a shape of size 0.
template <typename Function>
void for_each_index(const ir::Shape& shape, Function&& f) {
  const std::int64_t count = shape.elements();
  Index index{};
  for (std::int64_t flat = 0; flat < count; ++flat) {
    f(index, flat);
    for (int d = shape.rank() - 1; d >= 0; --d) {
      const auto axis = static_cast<std::size_t>(d);
      if (++index[axis] < shape[d]) break;
      index[axis] = 0;
    }
  }
}

// A shape seen from one axis: element (o, a, i) is at (o * axis + a) * inner + i.
struct AxisView {
  std::int64_t outer = 1, axis = 1, inner = 1;
  AxisView(const ir::Shape& shape, int at) {
    for (int d = 0; d < at; ++d) outer *= shape[d];
    axis = shape[at];
    for (int d = at + 1; d < shape.rank(); ++d) inner *= shape[d];
  }
};

// Whole elements moved as bytes: what movement does is the same for every dtype of a size. Both have one dtype; the
// ranges may overlap.
inline void copy_elements(const Tensor& to, std::int64_t to_element, const Tensor& from, std::int64_t from_element,
                          std::int64_t count) {
  const auto size = static_cast<std::int64_t>(ir::dtype_size(to.type.dtype));
  if (count > 0) {
    std::memmove(to.data + to_element * size, from.data + from_element * size, static_cast<std::size_t>(count * size));
  }
}
inline void copy_element(const Tensor& to, std::int64_t to_element, const Tensor& from, std::int64_t from_element) {
  copy_elements(to, to_element, from, from_element, 1);
}

}  // namespace thrt::sdk
