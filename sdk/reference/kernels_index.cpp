// Ops whose operands say where to read or write.
#include "kernel.hpp"

#include <algorithm>

namespace thrt::reference {
namespace {

// The first element of the block of dims `size` at `starts`, each start clamped so that the block lies inside.
std::array<std::int64_t, THRT_MAX_RANK> clamped_starts(const Tensor& starts, const Shape& whole, const Shape& size) {
  std::array<std::int64_t, THRT_MAX_RANK> clamped{};
  for (int d = 0; d < whole.rank(); ++d) {
    const std::int64_t start = elements<std::int32_t>(starts)[d];
    clamped[static_cast<std::size_t>(d)] = std::clamp<std::int64_t>(start, 0, whole[d] - size[d]);
  }
  return clamped;
}

}  // namespace

template <>
void kernel<OpKind::GATHER>(const Call& call) {
  const AxisView from(call.in(0).type.shape, static_cast<int>(call.attributes[0]));
  const std::int64_t count = call.in(1).type.elements();
  if (call.out().type.elements() == 0) return;
  for (std::int64_t o = 0; o < from.outer; ++o) {
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t index = std::clamp<std::int64_t>(elements<std::int32_t>(call.in(1))[k], 0, from.axis - 1);
      copy_elements(call.out(), (o * count + k) * from.inner, call.in(0), (o * from.axis + index) * from.inner,
                    from.inner);
    }
  }
}

// The sums are kept wide in the scratch memory, so that each is rounded once.
template <>
void kernel<OpKind::SCATTER_ADD>(const Call& call) {
  const AxisView to(call.in(0).type.shape, static_cast<int>(call.attributes[0]));
  const std::int64_t count = call.in(1).type.elements(), size = call.out().type.elements();
  with_number(call.out().type.dtype, [&](auto type) {
    using Stored = decltype(type);
    using Sum = std::conditional_t<kIsFloat<Stored>, double, std::uint32_t>;
    auto* sums = reinterpret_cast<Sum*>(call.scratch);
    for (std::int64_t i = 0; i < size; ++i) sums[i] = static_cast<Sum>(widen(elements<Stored>(call.in(0))[i]));
    for (std::int64_t o = 0; o < to.outer; ++o) {
      for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t index = elements<std::int32_t>(call.in(1))[k];
        if (index < 0 || index >= to.axis) continue;
        for (std::int64_t i = 0; i < to.inner; ++i) {
          const Stored update = elements<Stored>(call.in(2))[(o * count + k) * to.inner + i];
          sums[(o * to.axis + index) * to.inner + i] += static_cast<Sum>(widen(update));
        }
      }
    }
    for (std::int64_t i = 0; i < size; ++i) {
      elements<Stored>(call.out())[i] = narrow<Stored>(static_cast<Wide<Stored>>(sums[i]));
    }
  });
}

template <>
void kernel<OpKind::DYNAMIC_SLICE>(const Call& call) {
  const Shape& whole = call.in(0).type.shape;
  const Shape& size = call.out().type.shape;
  const auto starts = clamped_starts(call.in(1), whole, size);
  const auto strides = whole.strides();
  for_each_index(size, [&](const auto& index, std::int64_t flat) {
    std::int64_t source = 0;
    for (std::size_t d = 0; d < index.size(); ++d) source += (starts[d] + index[d]) * strides[d];
    copy_element(call.out(), flat, call.in(0), source);
  });
}

template <>
void kernel<OpKind::DYNAMIC_UPDATE_SLICE>(const Call& call) {
  const Shape& whole = call.in(0).type.shape;
  const Shape& size = call.in(1).type.shape;
  const auto starts = clamped_starts(call.in(2), whole, size);
  const auto strides = whole.strides();
  copy_elements(call.out(), 0, call.in(0), 0, call.out().type.elements());
  for_each_index(size, [&](const auto& index, std::int64_t flat) {
    std::int64_t target = 0;
    for (std::size_t d = 0; d < index.size(); ++d) target += (starts[d] + index[d]) * strides[d];
    copy_element(call.out(), target, call.in(1), flat);
  });
}

}  // namespace thrt::reference
