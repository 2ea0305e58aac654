// Values read through strides: what broadcast, transpose and slice make of a dense value without moving a byte.
#pragma once

#include <thrt/ir/type.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace thrt::cpu {

// How the elements of a value, in row-major order, lie in the memory of another one: element (i0, i1, ...) is at
// offset + sum of i[d] * strides[d]. In elements, not bytes.
struct Layout {
  ir::Shape shape;
  std::array<std::int64_t, THRT_MAX_RANK> strides{};
  std::int64_t offset = 0;

  static Layout dense(const ir::Shape& shape);

  // What the op makes of a value that lies like this. Attributes as in ops.def.
  Layout broadcast(const ir::Shape& result, std::span<const std::int64_t> axes) const;
  Layout transpose(std::span<const std::int64_t> permutation) const;
  Layout slice(std::span<const std::int64_t> attributes) const;

  // The same order of elements in the fewest dimensions: none of size 1, neighbours merged where their strides allow.
  Layout collapsed() const;
  bool is_dense() const;   // all elements in a row, from offset 0
  bool is_scalar() const;  // one element for all
};

// Elements [first, first + count) of `layout` (collapsed), each `element_bytes` long, one after another to `to`.
void read_strided(std::byte* to, const std::byte* base, const Layout& layout, std::size_t element_bytes,
                  std::int64_t first, std::int64_t count);

// Copies element by element between two places of one shape; the layouts' offsets count.
void copy_strided(std::byte* to, const Layout& to_layout, const std::byte* from, const Layout& from_layout,
                  std::size_t element_bytes);

void fill(std::byte* to, const std::byte* element, std::size_t element_bytes, std::int64_t count);

}  // namespace thrt::cpu
