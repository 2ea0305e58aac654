// repeat: the body is compiled once, as a program whose state slots are the memory of the results. Each iteration
// updates them in place; how an iteration's outputs may share memory with its inputs is settled by the body's own
// memory plan.
#include "lanes.hpp"
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
  BoundRoutine body;        // begins by counting the iteration

  void begin() const {
    for (const Copy& copy : first) std::memcpy(copy.to, copy.from, copy.bytes);
    *iteration = -1;
  }

  void run_alone() const {
    begin();
    for (std::int64_t trip = 0; trip < trips; ++trip) body.run_alone();
  }

  // On all lanes of the body at once. An iteration begins when all lanes have ended the one before.
  void run_lane(int lane) const {
    if (lane == 0) begin();
    body.lanes->skip_pass(lane);
    for (std::int64_t trip = 0; trip < trips; ++trip) {
      body.lanes->wait_for_others(lane);
      body.lanes->run_pass(lane);
    }
    if (const std::exception_ptr failure = body.lanes->take_failure(lane)) std::rethrow_exception(failure);
  }
};

// For the wait at the end of each iteration, in nanoseconds.
constexpr double kBarrier = 300;

}  // namespace

Step lower_repeat(const sdk::OpView& op, const CompileSettings& settings) {
  Step step = step_of(op);
  const std::int64_t trips = op.attribute(0);
  const auto carried = static_cast<std::size_t>(op.attribute(1));
  const auto body = std::make_shared<const Routine>(compile_routine(op.body(), settings));
  step.kernels = body->kernel_count;
  step.cost = static_cast<double>(trips) * body->cost();
  step.constant_bytes = body->constant_bytes;
  step.inside = body->describe();
  step.memory.scratch_bytes = kIterationBytes + body->plan.workspace_bytes;
  std::vector<std::uint32_t> operands(op.operands().begin(), op.operands().end());
  std::vector<std::size_t> bytes;
  for (std::size_t c = 0; c < carried; ++c) {
    bytes.push_back(static_cast<std::size_t>(op.result_type(c).bytes()));
    step.memory.in_place.emplace_back(op.result(c), operands[c]);
  }
  step.bind = [trips, carried, body, operands, bytes, first_result = op.result()](const Addresses& addresses,
                                                                                  std::byte* scratch) -> Work {
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
    loop->body = body->bind(slots, scratch + kIterationBytes, [iteration = loop->iteration] { ++*iteration; });
    Work work([loop, body] { loop->run_alone(); });
    if (loop->body.lanes != nullptr) {
      for (int lane = 0; lane < loop->body.lanes->count(); ++lane) {
        work.together.emplace_back([loop, body, lane] { loop->run_lane(lane); });
      }
      work.together_cost = static_cast<double>(trips) * (loop->body.lanes_cost + kBarrier);
    }
    return work;
  };
  return step;
}

}  // namespace thrt::cpu
