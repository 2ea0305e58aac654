// The library calls that a program comes down to.
#pragma once

#include "convolution_ways.hpp"
#include "matmul_ways.hpp"

#include <thrt/graph/graph.hpp>

#include <functional>
#include <vector>

namespace thrt::bench {

bool has_convolutions(const Graph& graph);

// Every product and every convolution of the program as the backends get it, in its order.
std::vector<Product> products_of(const Graph& graph);
std::vector<Convolution> convolutions_of(const Graph& graph);

// The one that takes the least time here and now.
std::function<void()> fastest(const std::vector<Way>& ways);

}  // namespace thrt::bench
