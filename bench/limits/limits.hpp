// The floor: what a group's matrix products and convolutions cost when nothing is between them.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace thrt::bench {

struct Limit {
  std::string id;  // that of the group, with "floor" in the backend's place
  // Allocates everything, and returns what is timed.
  std::function<std::function<void()>(int threads)> make;
};

// The small networks: the products of each program, each by the fastest of the libraries for its shape.
void add_small_net_limits(std::vector<Limit>& limits);
// The convolution network; also each of its convolutions alone. In f32 and, "floor-bf16", in bf16.
void add_nature_cnn_limits(std::vector<Limit>& limits);

}  // namespace thrt::bench
