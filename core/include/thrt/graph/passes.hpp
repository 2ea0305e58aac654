// Graph -> Graph. Every pass keeps the slots (names, order, types) and the meaning; bodies of repeats are treated too.
#pragma once

#include <thrt/graph/graph.hpp>

namespace thrt {

// Drops what has no effect: identity reshapes, transposes, broadcasts, slices and pads; double negation and double
// transposes; reshapes of reshapes; x*1, x/1, x-0; pow(x, 2); a select between equals. Nothing that could change a bit
// of a result, NaN and signed zeros included.
Graph simplify(const Graph& graph);

// Computes what depends on constants of one element alone, and does elementwise work on values that are the same in
// every element before their broadcast, once: neg(broadcast(x)) becomes broadcast(neg(x)).
Graph fold_constants(const Graph& graph);

// Merges ops that compute the same thing from the same values.
Graph merge_common_subexpressions(const Graph& graph);

// Drops ops that reach no output and no state.
Graph eliminate_dead_code(const Graph& graph);

// All of the above, until nothing changes.
Graph optimise(const Graph& graph);

}  // namespace thrt
