#include "rl/algo/off_policy_graphs.hpp"

#include <thrt/error.hpp>
#include <thrt/graph/repeat.hpp>
#include <thrt/graph/tensor_ops.hpp>

#include <fmt/format.h>

#include <cmath>

namespace thrt::rl {

Tensor uniform_dense(Tensor x, const std::string& name, std::int64_t units, nn::Activation activation) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(x.dim(-1)));
  return nn::dense(x, name, units,
                   {.weight = Init::uniform(bound), .bias = Init::uniform(bound), .activation = activation});
}

Tensor uniform_mlp(Tensor x, const std::string& name, std::span<const std::int64_t> widths, nn::Activation activation) {
  int number = 0;
  for (const std::int64_t width : widths) x = uniform_dense(x, fmt::format("{}/{}", name, ++number), width, activation);
  return x;
}

void move_towards(Graph& graph, std::string_view target, std::string_view source, double rate) {
  for (const std::string& name : nn::parameters(graph, target)) {
    const std::string from = std::string(source) + name.substr(target.size());
    if (graph.find_slot(from) == nullptr) {
      throw Error(fmt::format("graph '{}': '{}' has no counterpart '{}'", graph.name(), name, from));
    }
    const Tensor goal = graph.current(from), now = graph.current(name);
    graph.update(name, rate == 1.0 ? goal : rate * goal + (1.0 - rate) * now);
  }
}

Experience experience_input(Graph& graph, std::int64_t envs, std::int64_t observation_size) {
  const Tensor rows = graph.input("experience", {DType::kF32, {envs, 2 * observation_size + 2}});
  return {reshape(slice(rows, 1, 0, 1), {envs}), reshape(slice(rows, 1, 1, 1), {envs}),
          slice(rows, 1, 2, observation_size), slice(rows, 1, 2 + observation_size, observation_size)};
}

void append_updates(Graph& graph, std::int64_t count, const std::function<Graph()>& update) {
  if (count == 0) return;
  const Graph body = update();
  const Tensor learning_rate = graph.input("learning_rate", {DType::kF32, {}});
  if (count > 1) {
    graph.output("metrics", repeat(graph, count, body, {{"learning_rate", learning_rate}}).at("metrics"));
    return;
  }
  // A single one is no loop: its states are updated where they lie instead of being carried in and out.
  NamedTensors values = {{"learning_rate", learning_rate}};
  for (const Graph::Slot& slot : body.slots()) {
    if (slot.kind != Graph::SlotKind::kState) continue;
    graph.state(slot.name, slot.type, slot.init);
    values[slot.name] = graph.current(slot.name);
  }
  for (const auto& [name, value] : splice(graph, body, values)) {
    if (name == "metrics") {
      graph.output(name, expand_dims(value, 0));
    } else {
      graph.update(name, value);
    }
  }
}

}  // namespace thrt::rl
