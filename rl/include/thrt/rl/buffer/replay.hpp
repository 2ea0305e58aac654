// A ring of past transitions that lives on the device: programs write new rows into it and draw minibatches from it, so
// that nothing but the newest transition crosses to the device.
//
// Slots, all state, so that a checkpoint has them:
//   replay/rows  f32[C, W]  a transition a row; W = 2D + A + 2: observation, next observation, action, reward, terminated
//   replay/next  i32[]      the row that is written next
//   replay/size  i32[]      rows that hold a transition, 0 … C
//
// A discrete action is one column (A = 1), exact in f32 up to 2^24 actions. `terminated` is 1 where the task ended and
// the future is worth nothing; an episode that the time limit cut is stored with 0 and its own last observation.
#pragma once

#include <thrt/graph/graph.hpp>
#include <thrt/nn/random.hpp>

#include <cstdint>

namespace thrt::rl {

struct ReplayShape {
  std::int64_t capacity = 0;          // C
  std::int64_t observation_size = 0;  // D
  std::int64_t action_size = 1;       // A

  std::int64_t row_size() const { return 2 * observation_size + action_size + 2; }
};

// Of B transitions, or of the N that one step of N environments gave.
struct ReplayBatch {
  Tensor observations;       // f32[B, D]
  Tensor next_observations;  // f32[B, D], the ended episode's last where one ended
  Tensor actions;            // f32[B, A]
  Tensor rewards;            // f32[B]
  Tensor terminated;         // f32[B], 0 or 1
};

// Appends N transitions, over the oldest when the ring is full. C must be a multiple of N.
void replay_store(Graph& graph, const ReplayShape& shape, const ReplayBatch& transitions);

// B transitions, drawn independently and uniformly from those that the ring holds at this point of the program (at
// least one). Index = 32 random bits modulo the size: no transition is more likely than another by more than a part in
// 2^32 / size.
ReplayBatch replay_sample(Graph& graph, const ReplayShape& shape, std::int64_t batch, nn::Random& random);

}  // namespace thrt::rl
