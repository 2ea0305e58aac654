#include "adam.hpp"
#include "lanes.hpp"
#include "level.hpp"

namespace thrt::cpu::THRT_CPU_LEVEL {
namespace {

struct Whole {
  Floats get(const float* from) const { return load(from); }
  void put(float* to, Floats x) const { store(to, x); }
};

struct Part {
  std::int64_t n;
  Floats get(const float* from) const { return load_part(from, n); }
  void put(float* to, Floats x) const { store_part(to, x, n); }
};

template <bool kScaled, bool kDecayed>
void update(const AdamTensor& t, std::int64_t first, std::int64_t last) {
  const auto all = [](const float* scalar) { return spread<Floats>(*scalar); };
  const Floats beta1 = all(t.beta1), rest1 = all(t.rest1), beta2 = all(t.beta2), rest2 = all(t.rest2);
  const Floats scale_v = all(t.scale_v), epsilon = all(t.epsilon), rate = all(t.rate);
  const Floats scale = kScaled ? all(t.scale) : Floats{}, keep = kDecayed ? all(t.keep) : Floats{};
  const auto step = [&](std::int64_t i, auto lanes) {
    Floats g = lanes.get(t.gradient + i), p = lanes.get(t.p + i);
    if constexpr (kScaled) g = g * scale;
    if constexpr (kDecayed) p = p * keep;
    const Floats m = beta1 * lanes.get(t.m + i) + rest1 * g;
    const Floats v = beta2 * lanes.get(t.v + i) + rest2 * (g * g);
    lanes.put(t.m_out + i, m);
    lanes.put(t.v_out + i, v);
    lanes.put(t.p_out + i, p - rate * (m / (root(v) * scale_v + epsilon)));
  };
  std::int64_t i = first;
  for (; i + kWidth <= last; i += kWidth) step(i, Whole{});
  if (i < last) step(i, Part{last - i});
}

}  // namespace

void adam(const AdamTensor& tensor, std::int64_t first, std::int64_t last) {
  if (tensor.scale != nullptr) {
    (tensor.keep != nullptr ? update<true, true> : update<true, false>)(tensor, first, last);
  } else {
    (tensor.keep != nullptr ? update<false, true> : update<false, false>)(tensor, first, last);
  }
}

}  // namespace thrt::cpu::THRT_CPU_LEVEL
