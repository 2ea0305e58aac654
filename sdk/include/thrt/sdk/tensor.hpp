// What a kernel on the host's memory works with: values of a type at an address, and walks over their elements. Values
// are dense and row-major, so an element is a number from 0 on, and an index is that number written in the dimensions.
#pragma once

#include <thrt/ir/type.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace thrt::sdk {

struct Tensor {
  ir::Type type;
  std::byte* data;     // 64-byte aligned; type.bytes() of them
  std::int64_t count;  // of elements
};

template <typename Stored>
Stored* elements(const Tensor& tensor) {
  return reinterpret_cast<Stored*>(tensor.data);
}

// The dtype whose elements are stored as this type of C++. f16 and bf16 have none: see thrt/ir/float16.hpp.
template <typename Stored>
inline constexpr ir::DType kDTypeOf = [] {
  if constexpr (std::is_same_v<Stored, float>) return ir::DType::kF32;
  if constexpr (std::is_same_v<Stored, double>) return ir::DType::kF64;
  if constexpr (std::is_same_v<Stored, std::int32_t>) return ir::DType::kI32;
  if constexpr (std::is_same_v<Stored, std::uint32_t>) return ir::DType::kU32;
  if constexpr (std::is_same_v<Stored, std::uint8_t>) return ir::DType::kU8;
  if constexpr (std::is_same_v<Stored, bool>) return ir::DType::kBool;
}();

// One number per dimension, zero beyond the rank: strides of it may be summed over all THRT_MAX_RANK axes.
using Index = std::array<std::int64_t, THRT_MAX_RANK>;

// How the indices of one shape find the elements of another value: element start + sum(index * strides).
struct Walk {
  std::int64_t start = 0;
  Index strides{};

  std::int64_t operator()(const Index& index) const {
    std::int64_t at = start;
    for (std::size_t d = 0; d < index.size(); ++d) at += index[d] * strides[d];
    return at;
  }
};

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

// Where the movement ops of ops.def find things. Of the op's operand (shape `x`), by indices of the result:
inline Walk broadcast_walk(const ir::Shape& x, std::span<const std::int64_t> axes) {
  Walk walk;
  for (std::size_t d = 0; d < axes.size(); ++d) {
    if (x[static_cast<int>(d)] != 1) walk.strides[static_cast<std::size_t>(axes[d])] = x.strides()[d];
  }
  return walk;
}
inline Walk transpose_walk(const ir::Shape& x, std::span<const std::int64_t> permutation) {
  Walk walk;
  for (std::size_t d = 0; d < permutation.size(); ++d) {
    walk.strides[d] = x.strides()[static_cast<std::size_t>(permutation[d])];
  }
  return walk;
}
inline Walk slice_walk(const ir::Shape& x, std::span<const std::int64_t> starts_sizes_strides) {
  Walk walk{0, x.strides()};
  const auto rank = static_cast<std::size_t>(x.rank());
  for (std::size_t d = 0; d < rank; ++d) {
    walk.start += starts_sizes_strides[d] * walk.strides[d];
    walk.strides[d] *= starts_sizes_strides[2 * rank + d];
  }
  return walk;
}
// Of the result, by indices of the operand: where pad puts an element, and the sum (or maximum) that an element belongs to.
inline Walk pad_walk(const ir::Shape& result, std::span<const std::int64_t> lows_highs_interiors) {
  Walk walk{0, result.strides()};
  const auto rank = static_cast<std::size_t>(result.rank());
  for (std::size_t d = 0; d < rank; ++d) {
    walk.start += lows_highs_interiors[d] * walk.strides[d];
    walk.strides[d] *= 1 + lows_highs_interiors[2 * rank + d];
  }
  return walk;
}
inline Walk reduce_walk(const ir::Shape& x, std::span<const std::int64_t> axes) {
  Walk walk;
  std::int64_t stride = 1;
  for (int d = x.rank() - 1; d >= 0; --d) {
    if (std::find(axes.begin(), axes.end(), d) != axes.end()) continue;
    walk.strides[static_cast<std::size_t>(d)] = stride;
    stride *= x[d];
  }
  return walk;
}

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
