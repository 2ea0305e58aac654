// repeat: the body is compiled once, as a program whose state slots are the memory of the results. Each iteration
// updates them in place; how an iteration's outputs may share memory with its inputs is settled by the body's own
// memory plan.
#include "lower.hpp"

#include <cstring>

namespace thrt::cpu {
namespace {

constexpr std::uint64_t kIterationBytes = 64;  // the i32 iteration index, alone on its cache line

struct Loop {
  std::int64_t trips;
  std::int32_t* iteration;
  struct Copy {
    std::byte* to;
    const std::byte* from;
    std::size_t bytes;
  };
  std::vector<Copy> first;  // operands into the results' memory
  std::vector<Task> body;

  void operator()() const {
    for (const Copy& copy : first) std::memcpy(copy.to, copy.from, copy.bytes);
    for (std::int64_t trip = 0; trip < trips; ++trip) {
      *iteration = static_cast<std::int32_t>(trip);
      for (const Task& task : body) task();
    }
  }
};

}  // namespace

Step lower_repeat(const sdk::OpView& op, const CompileSettings& settings) {
  Step step = step_of(op);
  const std::int64_t trips = op.attribute(0);
  const auto carried = static_cast<std::size_t>(op.attribute(1));
  const auto body = std::make_shared<const Routine>(compile_routine(op.body(), settings));
  step.kernels = body->kernel_count;
  step.constant_bytes = body->constant_bytes;
  step.memory.scratch_bytes = kIterationBytes + body->plan.workspace_bytes;
  std::vector<std::uint32_t> operands(op.operands().begin(), op.operands().end());
  std::vector<std::size_t> bytes;
  for (std::size_t c = 0; c < carried; ++c) {
    bytes.push_back(static_cast<std::size_t>(op.result_type(c).bytes()));
    step.memory.in_place.emplace_back(op.result(c), operands[c]);
  }
  step.bind = [trips, carried, body, operands, bytes, first_result = op.result()](const Addresses& addresses,
                                                                                  std::byte* scratch) -> Task {
    auto loop = std::make_shared<Loop>();
    loop->trips = trips;
    loop->iteration = reinterpret_cast<std::int32_t*>(scratch);
    std::vector<std::byte*> slots = {scratch};
    for (std::size_t i = 0; i < operands.size(); ++i) {
      std::byte* operand = addresses.of(operands[i]);
      if (i >= carried) {
        slots.push_back(operand);
        continue;
      }
      std::byte* result = addresses.of(first_result + static_cast<std::uint32_t>(i));
      slots.push_back(result);
      if (result != operand && bytes[i] > 0) loop->first.push_back({result, operand, bytes[i]});
    }
    loop->body = body->bind(slots, scratch + kIterationBytes);
    return [loop, body] { (*loop)(); };
  };
  return step;
}

}  // namespace thrt::cpu
