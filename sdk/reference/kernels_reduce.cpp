// Sums, maxima and order along axes.
#include "kernel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace thrt::reference {
namespace {

// For each result element: f folds the elements that fall on it, in row-major order, into `start`.
template <typename Stored, typename Sum, typename Function>
void fold(const Call& call, Sum start, Function&& f) {
  const Shape& from = call.in(0).type.shape;
  Shape kept, reduced;  // the dimensions of the two loops
  std::array<std::int64_t, THRT_MAX_RANK> kept_strides{}, reduced_strides{};
  const auto strides = from.strides();
  std::size_t next = 0;
  for (int d = 0; d < from.rank(); ++d) {
    const bool is_reduced = next < call.attributes.size() && call.attributes[next] == d;
    if (is_reduced) ++next;
    Shape& shape = is_reduced ? reduced : kept;
    (is_reduced ? reduced_strides : kept_strides)[static_cast<std::size_t>(shape.rank())] =
        strides[static_cast<std::size_t>(d)];
    shape.push_back(from[d]);
  }
  for_each_index(kept, [&](const auto& outer, std::int64_t flat) {
    std::int64_t first = 0;
    for (std::size_t d = 0; d < outer.size(); ++d) first += outer[d] * kept_strides[d];
    Sum sum = start;
    for_each_index(reduced, [&](const auto& inner, std::int64_t) {
      std::int64_t at = first;
      for (std::size_t d = 0; d < inner.size(); ++d) at += inner[d] * reduced_strides[d];
      sum = f(sum, static_cast<Sum>(widen(elements<Stored>(call.in(0))[at])));
    });
    elements<Stored>(call.out())[flat] = narrow<Stored>(static_cast<Wide<Stored>>(sum));
  });
}

// Ascending, NaN last; equal numbers (and two NaNs) are not before each other.
template <typename Number>
bool before(Number x, Number y) {
  if constexpr (std::is_floating_point_v<Number>) {
    if (std::isnan(x)) return false;
    if (std::isnan(y)) return true;
  }
  return x < y;
}

}  // namespace

template <>
void kernel<OpKind::REDUCE_SUM>(const Call& call) {
  with_number(call.out().type.dtype, [&](auto type) {
    using Stored = decltype(type);
    if constexpr (kIsFloat<Stored>) {
      fold<Stored>(call, 0.0, [](double x, double y) { return x + y; });
    } else {
      fold<Stored>(call, 0u, [](std::uint32_t x, std::uint32_t y) { return x + y; });
    }
  });
}

template <>
void kernel<OpKind::REDUCE_MAX>(const Call& call) {
  with_number(call.out().type.dtype, [&](auto type) {
    using Stored = decltype(type);
    using Number = Wide<Stored>;
    constexpr Number kStart =
        kIsFloat<Stored> ? -std::numeric_limits<Number>::infinity() : std::numeric_limits<Number>::lowest();
    fold<Stored>(call, kStart, [](Number x, Number y) {
      if constexpr (kIsFloat<Stored>) {
        if (std::isnan(x)) return x;
        if (std::isnan(y)) return y;
      }
      return x > y ? x : y;
    });
  });
}

template <>
void kernel<OpKind::ARGMAX>(const Call& call) {
  const AxisView view(call.in(0).type.shape, static_cast<int>(call.attributes[0]));
  with_number(call.in(0).type.dtype, [&](auto type) {
    using Stored = decltype(type);
    for (std::int64_t o = 0; o < view.outer; ++o) {
      for (std::int64_t i = 0; i < view.inner; ++i) {
        const auto at = [&](std::int64_t a) {
          return widen(elements<Stored>(call.in(0))[(o * view.axis + a) * view.inner + i]);
        };
        std::int64_t best = 0;
        for (std::int64_t a = 1; a < view.axis; ++a) {
          if (before(at(best), at(a))) best = a;  // NaN counts as the largest
        }
        elements<std::int32_t>(call.out())[o * view.inner + i] = static_cast<std::int32_t>(best);
      }
    }
  });
}

// Merge sort from the bottom up between the result's row and the scratch memory: stable, and allocates nothing.
template <>
void kernel<OpKind::ARGSORT>(const Call& call) {
  const AxisView view(call.in(0).type.shape, static_cast<int>(call.attributes[0]));
  const auto length = static_cast<std::size_t>(view.axis);
  auto* from = reinterpret_cast<std::int32_t*>(call.scratch);
  with_number(call.in(0).type.dtype, [&](auto type) {
    using Stored = decltype(type);
    for (std::int64_t o = 0; o < view.outer; ++o) {
      for (std::int64_t i = 0; i < view.inner; ++i) {
        const auto at = [&](std::int32_t a) {
          return widen(elements<Stored>(call.in(0))[(o * view.axis + a) * view.inner + i]);
        };
        std::int32_t* row = from;
        std::int32_t* merged = from + length;
        for (std::size_t a = 0; a < length; ++a) row[a] = static_cast<std::int32_t>(a);
        for (std::size_t run = 1; run < length; run *= 2) {
          for (std::size_t first = 0; first < length; first += 2 * run) {
            const std::size_t middle = std::min(first + run, length), last = std::min(first + 2 * run, length);
            std::merge(row + first, row + middle, row + middle, row + last, merged + first,
                       [&](std::int32_t x, std::int32_t y) { return before(at(x), at(y)); });
          }
          std::swap(row, merged);
        }
        for (std::size_t a = 0; a < length; ++a) {
          elements<std::int32_t>(call.out())[(o * view.axis + static_cast<std::int64_t>(a)) * view.inner + i] = row[a];
        }
      }
    }
  });
}

}  // namespace thrt::reference
