#include "strided.hpp"

#include <cstring>

namespace thrt::cpu {
namespace {

std::size_t at(int axis) {
  return static_cast<std::size_t>(axis);
}

template <class T>
void copy_run(T* to, std::int64_t to_stride, const T* from, std::int64_t from_stride, std::int64_t count) {
  if (to_stride == 1 && from_stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
  } else if (to_stride == 1 && from_stride == 0) {
    const T element = *from;
    for (std::int64_t i = 0; i < count; ++i) to[i] = element;
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

// Each element of a row `times` times.
template <class T>
void repeat_each(T* to, const T* from, std::int64_t count, std::int64_t times) {
  if (times == 2) {
    for (std::int64_t i = 0; i < count; ++i) to[2 * i] = to[2 * i + 1] = from[i];
    return;
  }
  for (std::int64_t i = 0; i < count; ++i, to += times) {
    const T element = from[i];
    for (std::int64_t j = 0; j < times; ++j) to[j] = element;
  }
}

// `rows` rows of the same length, `stride` apart, one after another.
template <class T>
void copy_rows(T* to, const T* from, std::int64_t stride, std::int64_t rows, std::int64_t length) {
  if (length == 2) {
    for (std::int64_t r = 0; r < rows; ++r) {
      to[2 * r] = from[r * stride];
      to[2 * r + 1] = from[r * stride + 1];
    }
    return;
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    std::memcpy(to + r * length, from + r * stride, static_cast<std::size_t>(length) * sizeof(T));
  }
}

// Whole rows of a matrix, which most reads are. Whether it was done.
template <class T>
bool read_matrix(T* to, const T* from, const Layout& layout, std::int64_t first, std::int64_t count) {
  const std::int64_t length = layout.shape[1], row = layout.strides[0], column = layout.strides[1];
  if (first % length != 0 || count % length != 0) return false;
  from += first / length * row;
  if (column == 0 && row == 1) {
    repeat_each(to, from, count / length, length);
    return true;
  }
  if (column == 1) {
    copy_rows(to, from, row, count / length, length);
    return true;
  }
  return false;
}

// The work of read_strided for one element size.
template <class T>
void read_as(std::byte* to_bytes, const std::byte* base, const Layout& layout, std::int64_t first, std::int64_t count) {
  auto* to = reinterpret_cast<T*>(to_bytes);
  const auto* from = reinterpret_cast<const T*>(base) + layout.offset;
  const int rank = layout.shape.rank();
  if (rank == 0) {
    copy_run(to, 1, from, 0, count);
    return;
  }
  if (rank == 1) {
    copy_run(to, 1, from + first * layout.strides[0], layout.strides[0], count);
    return;
  }
  if (rank == 2 && read_matrix(to, from, layout, first, count)) return;
  std::array<std::int64_t, THRT_MAX_RANK> index{};
  std::int64_t rest = first, position = 0;
  for (int d = rank - 1; d >= 0; --d) {
    index[at(d)] = rest % layout.shape[d];
    rest /= layout.shape[d];
    position += index[at(d)] * layout.strides[at(d)];
  }
  const int last = rank - 1;
  const std::int64_t inner = layout.shape[last], stride = layout.strides[at(last)];
  while (count > 0) {
    const std::int64_t left = inner - index[at(last)];
    const std::int64_t run = left < count ? left : count;
    copy_run(to, 1, from + position, stride, run);
    to += run;
    count -= run;
    position -= index[at(last)] * stride;
    index[at(last)] = 0;
    for (int d = last - 1; d >= 0; --d) {
      position += layout.strides[at(d)];
      if (++index[at(d)] < layout.shape[d]) break;
      position -= layout.shape[d] * layout.strides[at(d)];
      index[at(d)] = 0;
    }
  }
}

template <class T>
void copy_as(std::byte* to_bytes, const Layout& to_layout, const std::byte* from_bytes, const Layout& from_layout) {
  auto* to = reinterpret_cast<T*>(to_bytes) + to_layout.offset;
  const auto* from = reinterpret_cast<const T*>(from_bytes) + from_layout.offset;
  const ir::Shape& shape = to_layout.shape;
  const int rank = shape.rank();
  if (rank == 0) {
    *to = *from;
    return;
  }
  for (const std::int64_t dim : shape) {
    if (dim == 0) return;
  }
  const int last = rank - 1;
  std::array<std::int64_t, THRT_MAX_RANK> index{};
  for (;;) {
    copy_run(to, to_layout.strides[at(last)], from, from_layout.strides[at(last)], shape[last]);
    int d = last - 1;
    for (; d >= 0; --d) {
      to += to_layout.strides[at(d)];
      from += from_layout.strides[at(d)];
      if (++index[at(d)] < shape[d]) break;
      to -= shape[d] * to_layout.strides[at(d)];
      from -= shape[d] * from_layout.strides[at(d)];
      index[at(d)] = 0;
    }
    if (d < 0) return;
  }
}

}  // namespace

Layout Layout::dense(const ir::Shape& shape) {
  return {shape, shape.strides(), 0};
}

Layout Layout::broadcast(const ir::Shape& result, std::span<const std::int64_t> axes) const {
  Layout layout{result, {}, offset};
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] != 1) layout.strides[static_cast<std::size_t>(axes[at(d)])] = strides[at(d)];
  }
  return layout;
}

Layout Layout::transpose(std::span<const std::int64_t> permutation) const {
  Layout layout{{}, {}, offset};
  for (std::size_t d = 0; d < permutation.size(); ++d) {
    layout.shape.push_back(shape[static_cast<int>(permutation[d])]);
    layout.strides[d] = strides[static_cast<std::size_t>(permutation[d])];
  }
  return layout;
}

Layout Layout::slice(std::span<const std::int64_t> attributes) const {
  Layout layout{{}, {}, offset};
  const auto rank = static_cast<std::size_t>(shape.rank());
  for (std::size_t d = 0; d < rank; ++d) {
    layout.offset += attributes[d] * strides[d];
    layout.shape.push_back(attributes[rank + d]);
    layout.strides[d] = attributes[2 * rank + d] * strides[d];
  }
  return layout;
}

Layout Layout::collapsed() const {
  Layout result{{}, {}, offset};
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] == 1) continue;
    const int last = result.shape.rank() - 1;
    if (last >= 0 && result.strides[at(last)] == shape[d] * strides[at(d)]) {
      result.shape.set(last, result.shape[last] * shape[d]);
      result.strides[at(last)] = strides[at(d)];
    } else {
      result.shape.push_back(shape[d]);
      result.strides[at(last + 1)] = strides[at(d)];
    }
  }
  return result;
}

bool Layout::is_dense() const {
  const Layout simple = collapsed();
  return offset == 0 && (simple.shape.rank() == 0 || (simple.shape.rank() == 1 && simple.strides[0] == 1));
}

bool Layout::is_scalar() const {
  const Layout simple = collapsed();
  return simple.shape.rank() == 0 || (simple.shape.rank() == 1 && simple.strides[0] == 0);
}

void read_strided(std::byte* to, const std::byte* base, const Layout& layout, std::size_t element_bytes,
                  std::int64_t first, std::int64_t count) {
  switch (element_bytes) {
    case 1:
      return read_as<std::uint8_t>(to, base, layout, first, count);
    case 2:
      return read_as<std::uint16_t>(to, base, layout, first, count);
    default:
      return read_as<std::uint32_t>(to, base, layout, first, count);
  }
}

void copy_strided(std::byte* to, const Layout& to_layout, const std::byte* from, const Layout& from_layout,
                  std::size_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return copy_as<std::uint8_t>(to, to_layout, from, from_layout);
    case 2:
      return copy_as<std::uint16_t>(to, to_layout, from, from_layout);
    default:
      return copy_as<std::uint32_t>(to, to_layout, from, from_layout);
  }
}

void fill(std::byte* to, const std::byte* element, std::size_t element_bytes, std::int64_t count) {
  read_strided(to, element, Layout{}, element_bytes, 0, count);
}

}  // namespace thrt::cpu
