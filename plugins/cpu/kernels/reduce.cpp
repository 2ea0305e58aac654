// Sums and maxima. Sixteen lanes on every level, whatever its registers hold, so that all levels add in the same order.
#include "lanes.hpp"
#include "level.hpp"

#pragma GCC diagnostic ignored "-Wpsabi"  // vectors wider than the level's registers never leave this file

namespace thrt::cpu::THRT_CPU_LEVEL {
namespace {

constexpr int kLanes = 16;
typedef float Lanes __attribute__((vector_size(4 * kLanes)));
typedef float Eight __attribute__((vector_size(32)));
typedef float Four __attribute__((vector_size(16)));

inline Lanes lanes_at(const float* x) {
  Lanes lanes;
  std::memcpy(&lanes, x, sizeof lanes);
  return lanes;
}

struct Sum {
  static constexpr float kNeutral = 0.0f;
  template <class V>
  static V join(V x, V y) {
    return x + y;
  }
};

// NaN, if there is one.
struct Max {
  static constexpr float kNeutral = -__builtin_inff();
  template <class V>
  static V join(V x, V y) {
    return ((x > y) | (x != x)) ? x : y;  // NOLINT(misc-redundant-expression): asks for NaN
  }
};

struct Itself {
  template <class V>
  static V of(V x) {
    return x;
  }
};

struct Square {
  template <class V>
  static V of(V x) {
    return x * x;
  }
};

// Lane i with lane i + 8, then what came of it with i + 4, and so on.
template <class Join>
inline float across(Lanes x) {
  struct Halves {
    Eight low, high;
  };
  struct Quarters {
    Four low, high;
  };
  const auto halves = __builtin_bit_cast(Halves, x);
  const auto quarters = __builtin_bit_cast(Quarters, Join::join(halves.low, halves.high));
  const Four four = Join::join(quarters.low, quarters.high);
  const float even = Join::join(four[0], four[2]), odd = Join::join(four[1], four[3]);
  return Join::join(even, odd);
}

// Of n > 0 elements in a row, at most kReduceChunk.
template <class Join, class Term>
inline float chunk(const float* x, std::int64_t n) {
  if (n < kLanes) {
    float total = Term::of(x[0]);
    for (std::int64_t i = 1; i < n; ++i) total = Join::join(total, Term::of(x[i]));
    return total;
  }
  const auto at = [&](std::int64_t i) { return Term::of(lanes_at(x + i)); };
  Lanes first = at(0);
  std::int64_t i = kLanes;
  if (n >= 4 * kLanes) {
    Lanes second = at(kLanes), third = at(2 * kLanes), fourth = at(3 * kLanes);
    for (i = 4 * kLanes; i + 4 * kLanes <= n; i += 4 * kLanes) {
      first = Join::join(first, at(i));
      second = Join::join(second, at(i + kLanes));
      third = Join::join(third, at(i + 2 * kLanes));
      fourth = Join::join(fourth, at(i + 3 * kLanes));
    }
    first = Join::join(Join::join(first, second), Join::join(third, fourth));
  }
  for (; i + kLanes <= n; i += kLanes) first = Join::join(first, at(i));
  float total = across<Join>(first);
  for (; i < n; ++i) total = Join::join(total, Term::of(x[i]));
  return total;
}

template <class Join, class Term>
float run(const float* x, std::int64_t n) {
  float total = Join::kNeutral;
  for (std::int64_t i = 0; i < n; i += kReduceChunk) {
    const float part = chunk<Join, Term>(x + i, n - i < kReduceChunk ? n - i : kReduceChunk);
    total = i == 0 ? part : Join::join(total, part);
  }
  return total;
}

template <class Join>
void rows(float* out, const float* x, std::int64_t count, std::int64_t n) {
  std::int64_t r = 0;
  if (n == 2) {
    for (; r + kLanes <= count; r += kLanes) {
      const Lanes a = lanes_at(x + 2 * r), b = lanes_at(x + 2 * r + kLanes);
      const Lanes even = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
      const Lanes odd = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
      const Lanes joined = Join::join(even, odd);
      std::memcpy(out + r, &joined, sizeof joined);
    }
  }
  for (; r < count; ++r) out[r] = run<Join, Itself>(x + r * n, n);
}

// Columns [first, last) with one register each for 16 of them.
template <class Join, int kRegisters>
void columns_wide(float* out, const float* x, std::int64_t count, std::int64_t n) {
  constexpr int kWords = kRegisters * (kLanes / kWidth);
  Floats total[kWords];
  for (int k = 0; k < kWords; ++k) total[k] = load(x + k * kWidth);
  for (std::int64_t r = 1; r < count; ++r) {
    for (int k = 0; k < kWords; ++k) total[k] = Join::join(total[k], load(x + r * n + k * kWidth));
  }
  for (int k = 0; k < kWords; ++k) store(out + k * kWidth, total[k]);
}

// Rows of 2, 4 or 8 elements, several in a register.
template <class Join>
void columns_narrow(float* out, const float* x, std::int64_t count, std::int64_t n) {
  const std::int64_t elements = count * n;
  std::int64_t i = 0;
  float lanes[kLanes];
  std::int64_t filled = 0;
  if (elements >= 2 * kLanes) {
    Lanes even = lanes_at(x), odd = lanes_at(x + kLanes);
    for (i = 2 * kLanes; i + 2 * kLanes <= elements; i += 2 * kLanes) {
      even = Join::join(even, lanes_at(x + i));
      odd = Join::join(odd, lanes_at(x + i + kLanes));
    }
    even = Join::join(even, odd);
    std::memcpy(lanes, &even, sizeof even);
    filled = kLanes;
  }
  for (std::int64_t j = 0; j < n; ++j) {
    float total = filled > 0 ? lanes[j] : x[j];
    for (std::int64_t lane = j + n; lane < filled; lane += n) total = Join::join(total, lanes[lane]);
    for (std::int64_t k = filled > 0 ? i + j : j + n; k < elements; k += n) total = Join::join(total, x[k]);
    out[j] = total;
  }
}

template <class Join>
void columns(float* out, const float* x, std::int64_t count, std::int64_t n, std::int64_t stride) {
  if (count == 0) {
    for (std::int64_t j = 0; j < n; ++j) out[j] = Join::kNeutral;
    return;
  }
  if (n == stride && (n == 2 || n == 4 || n == 8)) return columns_narrow<Join>(out, x, count, n);
  std::int64_t j = 0;
  for (; j + 4 * kLanes <= n; j += 4 * kLanes) columns_wide<Join, 4>(out + j, x + j, count, stride);
  for (; j + kLanes <= n; j += kLanes) columns_wide<Join, 1>(out + j, x + j, count, stride);
  for (; j < n; j += kWidth) {
    const std::int64_t left = n - j < kWidth ? n - j : kWidth;
    const auto at = [&](std::int64_t r) {
      return left == kWidth ? load(x + r * stride + j) : load_part(x + r * stride + j, left);
    };
    Floats total = at(0);
    for (std::int64_t r = 1; r < count; ++r) total = Join::join(total, at(r));
    if (left == kWidth) {
      store(out + j, total);
    } else {
      store_part(out + j, total, left);
    }
  }
}

void sum_int(std::uint32_t& accumulator, const std::uint32_t* x, std::int64_t n) {
  std::uint32_t total = accumulator;
  for (std::int64_t i = 0; i < n; ++i) total += x[i];
  accumulator = total;
}

template <class T>
void max_int(T& accumulator, const T* x, std::int64_t n) {
  T best = accumulator;
  for (std::int64_t i = 0; i < n; ++i) best = x[i] > best ? x[i] : best;
  accumulator = best;
}

}  // namespace

void sum_run(ir::DType dtype, void* accumulator, const void* x, std::int64_t n) {
  if (dtype == ir::DType::kF32) {
    *static_cast<float*>(accumulator) += run<Sum, Itself>(static_cast<const float*>(x), n);
  } else {
    sum_int(*static_cast<std::uint32_t*>(accumulator), static_cast<const std::uint32_t*>(x), n);
  }
}

void max_run(ir::DType dtype, void* accumulator, const void* x, std::int64_t n) {
  if (dtype == ir::DType::kF32) {
    auto& best = *static_cast<float*>(accumulator);
    best = Max::join(best, run<Max, Itself>(static_cast<const float*>(x), n));
  } else if (dtype == ir::DType::kI32) {
    max_int(*static_cast<std::int32_t*>(accumulator), static_cast<const std::int32_t*>(x), n);
  } else {
    max_int(*static_cast<std::uint32_t*>(accumulator), static_cast<const std::uint32_t*>(x), n);
  }
}

float sum_squares(const float* x, std::int64_t n) {
  return run<Sum, Square>(x, n);
}

void sum_rows(float* out, const float* x, std::int64_t count, std::int64_t n) {
  rows<Sum>(out, x, count, n);
}
void max_rows(float* out, const float* x, std::int64_t count, std::int64_t n) {
  rows<Max>(out, x, count, n);
}
void sum_columns(float* out, const float* x, std::int64_t count, std::int64_t n, std::int64_t stride) {
  columns<Sum>(out, x, count, n, stride);
}
void max_columns(float* out, const float* x, std::int64_t count, std::int64_t n, std::int64_t stride) {
  columns<Max>(out, x, count, n, stride);
}

}  // namespace thrt::cpu::THRT_CPU_LEVEL
