// The convolution network of Mnih et al., "Human-level control through deep reinforcement learning" (2015), as
// programs: 32 filters 8x8 stride 4, 64 of 4x4 stride 2, 64 of 3x3 stride 1, a dense layer of 512, a ReLU after each,
// then one or two linear heads.
//
// Shapes: B images of 4 stacked frames, A actions. Parameters are the scope "agent": conv/1, conv/2, conv/3, dense,
// head and (policy) value_head.
#pragma once

#include <thrt/graph/graph.hpp>

#include <cstdint>

namespace thrt::rl {

enum class NatureHeads {
  kQValues,  // [B, A]: 1 693 362 parameters with 18 actions
  kPolicy,   // logits [B, A] and a value [B]: 1 693 875 parameters with 18 actions
};

struct NatureCnn {
  NatureHeads heads = NatureHeads::kQValues;
  std::int64_t actions = 18;
  DType observations = DType::kF32;  // or u8: frames as a replay buffer holds them, scaled by 1 / 255 in the program
};

// "observations" [B, 4, 84, 84] -> "q" f32[B, A], or "logits" f32[B, A] and "value" f32[B].
Graph nature_forward_graph(const NatureCnn& net, std::int64_t batch);

// Forward, backward and one step of Adam: "observations", "learning_rate" f32[] -> "loss" f32[]. The losses need no
// labels, so that the work alone is timed: mean(Q^2), or -mean(log p) + mean(V^2) - 0.01 mean(entropy).
Graph nature_train_step_graph(const NatureCnn& net, std::int64_t batch);

}  // namespace thrt::rl
