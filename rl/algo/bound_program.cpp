#include "rl/algo/bound_program.hpp"

#include <thrt/graph/passes.hpp>

namespace thrt::rl {
namespace {

Binding bind_all(BufferSet& buffers, const Executable& executable, std::uint64_t seed) {
  buffers.add_slots(executable.program(), seed);
  return buffers.bind(executable);
}

}  // namespace

BoundProgram::BoundProgram(BufferSet& buffers, const Graph& graph, std::uint64_t seed)
    : executable_(buffers.context(), lower(optimise(graph))), binding_(bind_all(buffers, executable_, seed)) {}

}  // namespace thrt::rl
