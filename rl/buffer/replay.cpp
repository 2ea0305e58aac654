#include <thrt/rl/buffer/replay.hpp>

#include <thrt/error.hpp>
#include <thrt/graph/tensor_ops.hpp>

#include <fmt/format.h>

#include <array>

namespace thrt::rl {
namespace {

constexpr const char* kRows = "replay/rows";
constexpr const char* kNext = "replay/next";
constexpr const char* kSize = "replay/size";

void declare(Graph& graph, const ReplayShape& shape) {
  graph.state(kRows, {DType::kF32, {shape.capacity, shape.row_size()}}, Init::zeros());
  graph.state(kNext, {DType::kI32, {}}, Init::zeros());
  graph.state(kSize, {DType::kI32, {}}, Init::zeros());
}

}  // namespace

void replay_store(Graph& graph, const ReplayShape& shape, const ReplayBatch& transitions) {
  declare(graph, shape);
  const std::int64_t count = transitions.rewards.dim(0);
  if (count > shape.capacity || shape.capacity % count != 0) {
    throw Error(fmt::format("a replay of {} transitions cannot take {} at a time", shape.capacity, count),
                "the block that is written would wrap around its end", "make its size a multiple of that");
  }
  const std::array<Tensor, 5> columns = {transitions.observations, transitions.next_observations, transitions.actions,
                                         expand_dims(transitions.rewards, 1), expand_dims(transitions.terminated, 1)};
  const Tensor rows = graph.current(kRows), next = graph.current(kNext);
  graph.update(kRows, dynamic_update_slice(rows, concat(columns, 1), starts_along(rows, 0, next)));
  graph.update(kNext, rem(next + static_cast<double>(count), like(next, static_cast<double>(shape.capacity))));
  graph.update(kSize, minimum(graph.current(kSize) + static_cast<double>(count), static_cast<double>(shape.capacity)));
}

ReplayBatch replay_sample(Graph& graph, const ReplayShape& shape, std::int64_t batch, nn::Random& random) {
  declare(graph, shape);
  const Tensor size = cast(graph.current(kSize), DType::kU32);
  const Tensor drawn = random.bits({batch});
  const Tensor index = cast(rem(drawn, broadcast_to(size, {batch})), DType::kI32);
  const Tensor rows = gather(graph.current(kRows), index);
  std::int64_t first = 0;
  const auto columns = [&](std::int64_t count) {
    first += count;
    return slice(rows, 1, first - count, count);
  };
  ReplayBatch result;
  result.observations = columns(shape.observation_size);
  result.next_observations = columns(shape.observation_size);
  result.actions = columns(shape.action_size);
  result.rewards = reshape(columns(1), {batch});
  result.terminated = reshape(columns(1), {batch});
  return result;
}

}  // namespace thrt::rl
