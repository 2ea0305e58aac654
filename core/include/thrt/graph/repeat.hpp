// Loops: a graph that is a step of its own becomes the body of a repeat in a larger one.
#pragma once

#include <thrt/graph/graph.hpp>

#include <cstdint>
#include <map>
#include <string>

namespace thrt {

using NamedTensors = std::map<std::string, Tensor>;

// Copies src's ops into dst; `inputs` gives a value of dst for each of src's inputs and states, by name. Returns what
// src's outputs and updated states are, by name. dst's slots are not touched.
NamedTensors splice(Graph& dst, const Graph& src, const NamedTensors& inputs);

// Runs `body` `trips` times inside `graph`.
//   body's states   become states of `graph` (declared there when they are not yet), go in at their current value, and
//   are
//                   updated to what the last iteration leaves
//   body's inputs   are taken from `inputs`, the same in every iteration; an input "iteration" (i32, rank 0) gets the
//   count from 0 body's outputs  are returned stacked: [trips, ...]
NamedTensors repeat(Graph& graph, std::int64_t trips, const Graph& body, const NamedTensors& inputs);

}  // namespace thrt
