// Sums and maxima of a contiguous run. Sixteen lanes on every level, whatever its registers hold, so that all levels
// add in the same order.
#include "level.hpp"

namespace thrt::cpu::THRT_CPU_LEVEL {
namespace {

constexpr int kLanes = 16;
typedef float Lanes __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));

void sum_f32(float& accumulator, const float* x, std::int64_t n) {
  Lanes even = {}, odd = {};
  std::int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    even += *reinterpret_cast<const Lanes*>(x + i);
    odd += *reinterpret_cast<const Lanes*>(x + i + kLanes);
  }
  if (i + kLanes <= n) {
    even += *reinterpret_cast<const Lanes*>(x + i);
    i += kLanes;
  }
  float total = 0.0f;
  if (n >= kLanes) {
    even += odd;
    for (int width = kLanes / 2; width > 0; width /= 2) {
      for (int lane = 0; lane < width; ++lane) even[lane] += even[lane + width];
    }
    total = even[0];
  }
  for (; i < n; ++i) total += x[i];
  accumulator += total;
}

inline float larger(float x, float y) {
  return ((x > y) | (x != x)) ? x : y;
}

void max_f32(float& accumulator, const float* x, std::int64_t n) {
  float best = accumulator;
  std::int64_t i = 0;
  if (n >= kLanes) {
    Lanes lanes = *reinterpret_cast<const Lanes*>(x);
    for (i = kLanes; i + kLanes <= n; i += kLanes) {
      const Lanes next = *reinterpret_cast<const Lanes*>(x + i);
      lanes = ((next > lanes) | (next != next)) ? next : lanes;  // NOLINT(misc-redundant-expression): asks for NaN
    }
    for (int lane = 0; lane < kLanes; ++lane) best = larger(lanes[lane], best);
  }
  for (; i < n; ++i) best = larger(x[i], best);
  accumulator = best;
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
    sum_f32(*static_cast<float*>(accumulator), static_cast<const float*>(x), n);
  } else {
    sum_int(*static_cast<std::uint32_t*>(accumulator), static_cast<const std::uint32_t*>(x), n);
  }
}

void max_run(ir::DType dtype, void* accumulator, const void* x, std::int64_t n) {
  if (dtype == ir::DType::kF32) {
    max_f32(*static_cast<float*>(accumulator), static_cast<const float*>(x), n);
  } else if (dtype == ir::DType::kI32) {
    max_int(*static_cast<std::int32_t*>(accumulator), static_cast<const std::int32_t*>(x), n);
  } else {
    max_int(*static_cast<std::uint32_t*>(accumulator), static_cast<const std::uint32_t*>(x), n);
  }
}

}  // namespace thrt::cpu::THRT_CPU_LEVEL
