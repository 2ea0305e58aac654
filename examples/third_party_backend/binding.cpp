#include "binding.hpp"

#include <thrt/sdk/host_memory.hpp>

namespace thrt_opencl {

using namespace thrt;

Binding::Binding(Device& device, const KernelCache& cache, const Executable& executable,
                 std::span<const sdk::SlotRegion> slots)
    : device_(device),
      executable_(executable),
      workspace_(device, executable.program().plan.workspace_bytes, THRT_MEMORY_DEVICE, "workspace") {
  std::vector<Region> regions;
  for (const sdk::SlotRegion& slot : slots) regions.push_back({static_cast<Buffer&>(*slot.buffer).get(), slot.offset});
  commands_ = bind(cache, executable.program(), regions, 0);
}

std::vector<Binding::Command> Binding::bind(const KernelCache& cache, const Program& program,
                                            const std::vector<Region>& slots, std::uint64_t workspace) {
  const auto region = [&](const sdk::Placement& place) -> Region {
    switch (place.where) {
      case sdk::Placement::Where::kSlot:
        return slots[place.slot];
      case sdk::Placement::Where::kWorkspace:
        return {workspace_.get(), workspace + place.offset};
      case sdk::Placement::Where::kConstant:
        return {program.constant_memory->get(), place.offset};
      case sdk::Placement::Where::kNowhere:
        break;
    }
    return {};
  };
  std::vector<Region> values;
  for (const sdk::Placement& place : program.plan.values) values.push_back(region(place));
  std::vector<Command> commands;
  const auto copy = [&](const Region& from, const Region& to, std::uint64_t bytes) {
    if (from == to || bytes == 0) return;
    Command& command = commands.emplace_back();
    command.from = from;
    command.to = to;
    command.bytes = bytes;
  };
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Program::Step& step = program.steps[i];
    const Region scratch{workspace_.get(), workspace + program.plan.scratch[i]};
    for (const emit::Kernel& kernel : step.step.kernels) {  // by stage, and the queue is in order
      commands.push_back(launch(cache, kernel, program, values, scratch));
    }
    if (step.repeat != nullptr) {  // the body's state lives where the results do; what stays is read where it is
      const Program::Repeat& repeat = *step.repeat;
      std::vector<Region> body_slots = {scratch};
      for (std::size_t k = 0; k < repeat.operands.size(); ++k) {
        const bool carried = k < repeat.results.size();
        const Region operand = values[repeat.operands[k]];
        if (carried) copy(operand, values[repeat.results[k]], program.types[repeat.operands[k]].bytes());
        body_slots.push_back(carried ? values[repeat.results[k]] : operand);
      }
      Command& loop = commands.emplace_back();
      loop.trips = repeat.trips;
      if (repeat.reads_iteration) loop.iteration = scratch;
      loop.body = bind(cache, *repeat.body, body_slots, scratch.offset + kIterationBytes);
    }
    if (commands.empty() || step.step.memory.writes.empty()) continue;
    commands.back().step = &step;
    for (const Program::Result& result : step.results) commands.back().results.push_back(values[result.value]);
  }
  for (const sdk::PlanCopy& last : program.plan.final_copies) copy(region(last.from), region(last.to), last.bytes);
  return commands;
}

Binding::Command Binding::launch(const KernelCache& cache, const emit::Kernel& kernel, const Program& program,
                                 const std::vector<Region>& values, const Region& scratch) const {
  Command command;
  command.kernel = cache.make(kernel.text);
  command.local = kernel.group_size;
  command.global = static_cast<std::size_t>(kernel.groups) * kernel.group_size;
  cl_uint place = 0;
  for (const emit::Argument& argument : kernel.arguments) {
    const bool of_step = argument.value == THRT_NONE;  // in the step's scratch, whose elements have four bytes
    const Region region = of_step ? Region{scratch.memory, scratch.offset + argument.offset} : values[argument.value];
    const cl_ulong first = region.offset / (of_step ? 4 : ir::dtype_size(program.types[argument.value].dtype));
    THRT_CL(device_.api, clSetKernelArg, command.kernel.get(), place++, sizeof region.memory, &region.memory);
    THRT_CL(device_.api, clSetKernelArg, command.kernel.get(), place++, sizeof first, &first);
  }
  return command;
}

void Binding::run(const std::vector<Command>& commands) const {
  const bool debug = (executable_.flags() & THRT_COMPILE_DEBUG) != 0;
  const bool check_finite = (executable_.flags() & THRT_COMPILE_CHECK_FINITE) != 0;
  for (const Command& command : commands) {
    run(command);
    if (debug) THRT_CL(device_.api, clFinish, device_.queue.get());
    if (check_finite && command.step != nullptr) require_finite(command);
  }
}

void Binding::run(const Command& command) const {
  const Api& api = device_.api;
  cl_command_queue queue = device_.queue.get();
  if (command.kernel.get() != nullptr) {
    THRT_CL(api, clEnqueueNDRangeKernel, queue, command.kernel.get(), 1, nullptr, &command.global, &command.local, 0,
            nullptr, nullptr);
  } else if (command.bytes != 0) {
    THRT_CL(api, clEnqueueCopyBuffer, queue, command.from.memory, command.to.memory, command.from.offset,
            command.to.offset, command.bytes, 0, nullptr, nullptr);
  } else {
    for (std::int64_t i = 0; i < command.trips; ++i) {
      const auto iteration = static_cast<cl_int>(i);
      if (command.iteration.memory != nullptr) {
        THRT_CL(api, clEnqueueFillBuffer, queue, command.iteration.memory, &iteration, sizeof iteration,
                command.iteration.offset, sizeof iteration, 0, nullptr, nullptr);
      }
      run(command.body);
    }
  }
}

void Binding::require_finite(const Command& command) const {
  for (std::size_t r = 0; r < command.results.size(); ++r) {
    const Program::Result& result = command.step->results[r];
    const Region& region = command.results[r];
    const ir::Type& type = result.type;
    std::vector<std::byte> data(type.bytes());
    if (data.empty() || region.memory == nullptr) continue;
    THRT_CL(device_.api, clEnqueueReadBuffer, device_.queue.get(), region.memory, CL_TRUE, region.offset, data.size(),
            data.data(), 0, nullptr, nullptr);
    sdk::require_finite(type, data.data(), result.flat_index, result.op, result.value);
  }
}

}  // namespace thrt_opencl
