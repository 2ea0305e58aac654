#include <thrt/nn/random.hpp>

#include <array>
#include <numbers>
#include <utility>

namespace thrt::nn {

Random::Random(Graph& graph, std::string slot) : graph_(&graph), slot_(std::move(slot)) {
  graph.state(slot_, {DType::kU32, {4}}, Init::random_state());
}

Tensor Random::bits(const Shape& shape) {
  constexpr std::array<std::uint32_t, 4> kNextStream = {0, 0, 1, 0};
  const Tensor state = graph_->current(slot_);
  const Tensor drawn = random_bits(state, shape);
  graph_->update(slot_, state + constant_u32(*graph_, {4}, kNextStream));
  return drawn;
}

Tensor Random::uniform(const Shape& shape, DType dtype) {
  return cast(shift_right(bits(shape), 8), dtype) * 0x1p-24;
}

// 23 bits, so that k + 1/2 is exact in f32: with 24 the largest would round to 1.
Tensor Random::uniform_open(const Shape& shape, DType dtype) {
  return (cast(shift_right(bits(shape), 9), dtype) + 0.5) * 0x1p-23;
}

Tensor Random::normal(const Shape& shape, DType dtype) {
  const std::int64_t count = shape.elements();
  const std::int64_t pairs = (count + 1) / 2;
  const Tensor radius = sqrt(-2.0 * log(uniform_open({pairs}, dtype)));
  const Tensor angle = uniform({pairs}, dtype) * (2.0 * std::numbers::pi);
  const std::array<Tensor, 2> both = {radius * cos(angle), radius * sin(angle)};
  return reshape(slice(concat(both, 0), 0, 0, count), shape);
}

Tensor Random::permutation(std::int64_t n) {
  return argsort(bits({n}));
}

}  // namespace thrt::nn
