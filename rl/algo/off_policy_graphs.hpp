// Pieces of programs that DQN and SAC share.
#pragma once

#include <thrt/graph/graph.hpp>
#include <thrt/nn/layers.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace thrt::rl {

// A dense layer that starts as torch.nn.Linear does: weights and bias U(-b, b), b = 1 / sqrt(inputs).
Tensor uniform_dense(Tensor x, const std::string& name, std::int64_t units,
                     nn::Activation activation = nn::Activation::kIdentity);
// Such layers NAME/1, NAME/2, …, each followed by the activation.
Tensor uniform_mlp(Tensor x, const std::string& name, std::span<const std::int64_t> widths, nn::Activation activation);

// Sets the states under scope `target` to rate * source + (1 - rate) * target, each from the state of the same name
// under scope `source` (Polyak averaging; a copy when rate is 1). All must be in the graph, layer for layer.
void move_towards(Graph& graph, std::string_view target, std::string_view source, double rate);

// What one step of N environments gave, as the host uploads it in one piece: "experience" f32[N, 2D + 2].
struct Experience {
  Tensor rewards;            // f32[N]
  Tensor terminated;         // f32[N]
  Tensor next_observations;  // f32[N, D], that the step ended in
  Tensor observations;       // f32[N, D], to act on
};
Experience experience_input(Graph& graph, std::int64_t envs, std::int64_t observation_size);

// Repeats an update program inside `graph`; its metrics, stacked, are the output "metrics". Nothing when count is 0.
void append_updates(Graph& graph, std::int64_t count, const std::function<Graph()>& update);

}  // namespace thrt::rl
