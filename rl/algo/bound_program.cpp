#include "rl/algo/bound_program.hpp"

#include <thrt/error.hpp>

#include <fmt/format.h>

namespace thrt::rl {
namespace {

Binding bind_all(BufferSet& buffers, const Executable& executable, std::uint64_t seed) {
  buffers.add_slots(executable.program(), seed);
  return buffers.bind(executable);
}

}  // namespace

void require_supported(const Context& context, std::span<const Program> programs) {
  std::vector<std::string> refused;
  for (const Program& program : programs) {
    const std::vector<std::string> refusals = context.refusals(program);
    if (!refusals.empty())
      refused.push_back(fmt::format("program '{}': {}", program.name(), fmt::join(refusals, "; ")));
  }
  if (refused.empty()) return;
  throw Error(fmt::format("backend '{}' cannot run this training", context.backend_id()),
              fmt::format("{}", fmt::join(refused, "; ")), "choose another backend: thrust backends lists them");
}

BoundProgram::BoundProgram(BufferSet& buffers, const Program& program, std::uint64_t seed)
    : executable_(buffers.context(), program), binding_(bind_all(buffers, executable_, seed)) {}

}  // namespace thrt::rl
