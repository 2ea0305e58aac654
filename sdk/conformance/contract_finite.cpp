// THRT_COMPILE_CHECK_FINITE: what a run that made a NaN or an infinity owes to who waits for it.
#include "raw_host.hpp"

#include <thrt/graph/tensor_ops.hpp>

namespace thrt::conformance {
namespace {

constexpr std::int64_t kCount = 33;

void require_non_finite(const RawContext& context, thrt_ticket ticket, std::uint32_t op, const char* what) {
  Answer answer;
  answer.require_refused(context.api().wait(context.handle(), ticket, UINT64_MAX, answer.slot()), {THRT_NON_FINITE},
                         what);
  require(answer.error().op_index == op, "{}: op {} is named, op {} made it", what, answer.error().op_index, op);
}

// s becomes s^2: from 2^k it is 2^(k 2^n) after n runs, and 2^128 is above the largest f32.
void check_finite_in_repeated_runs(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  Graph graph("growth");
  const Tensor s = graph.state("s", {DType::kF32, {}}, Init::zeros());
  graph.update("s", s * s);
  const RawBinding bound = context.prepare(lower(graph), THRT_COMPILE_CHECK_FINITE);
  struct Trial {
    std::uint32_t runs;
    float first;
  };
  // Infinite with the last of the runs; with the seventh of twenty.
  for (const auto& [runs, first] : {Trial{2, 0x1p32f}, Trial{3, 0x1p16f}, Trial{7, 2.0f}, Trial{20, 2.0f}}) {
    context.write(bound.buffers[0], std::vector<float>{first});
    require_non_finite(context, context.enqueue(bound.binding, runs), 0, "wait after repeated runs that overflow");
    context.write(bound.buffers[0], std::vector<float>{1.0f});
    context.wait(context.enqueue(bound.binding, runs));
  }
  context.destroy(bound);
  require_works(context);
}

// "Fails the run, which wait() reports": the wait for the run's own ticket does, whatever was waited for before it, and
// so does one for what was queued after it when nobody asked in between. abi.h leaves open what the wait for an earlier
// ticket says of a failure that is already known.
void failure_is_reported(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  Graph graph("logarithm");
  graph.output("y", graph.append(OpKind::LOG, {graph.input("x", {DType::kF32, {kCount}})}));
  const Program program = lower(graph);
  const RawBinding good = context.prepare(program, THRT_COMPILE_CHECK_FINITE);
  const RawBinding bad = context.prepare(program, THRT_COMPILE_CHECK_FINITE);
  context.write(good.buffers[0], std::vector<float>(kCount, 1.0f));
  context.write(bad.buffers[0], std::vector<float>(kCount, -1.0f));

  const thrt_ticket before = context.enqueue(good.binding);
  const thrt_ticket failed = context.enqueue(bad.binding);
  Answer early;
  const thrt_status status = context.api().wait(context.handle(), before, UINT64_MAX, early.slot());
  if (status != THRT_OK) early.require_refused(status, {THRT_NON_FINITE}, "wait for a run before one that fails");
  require_non_finite(context, failed, 0, "wait for a run that fails, after a wait for the run before it");

  context.enqueue(bad.binding);
  require_non_finite(context, context.enqueue(good.binding), 0, "wait for a run queued after one that fails");
  context.wait(context.enqueue(good.binding));
  context.destroy(good);
  context.destroy(bad);
  require_works(context);
}

void check_finite_of(DType dtype, const Bench& bench) {
  const RawHost host(bench);
  if ((host.info().storage_dtypes & ir::dtype_bit(dtype)) == 0) {
    throw Declined(fmt::format("no value of this device is {}", ir::dtype_name(dtype)));
  }
  const RawContext context = host.context();
  Graph graph("logarithm");
  const Tensor x = graph.input("x", {DType::kF32, {kCount}});
  // op 0 rounds to the dtype, op 1 makes what is not finite in it, op 2 widens.
  graph.output("y", cast(graph.append(OpKind::LOG, {cast(x, dtype)}), DType::kF32));
  const RawBinding bound = context.prepare(lower(graph), THRT_COMPILE_CHECK_FINITE);
  for (const std::size_t place : {std::size_t{0}, std::size_t{16}, std::size_t{kCount - 1}}) {
    for (const float value : {-1.0f, 0.0f}) {  // a NaN, an infinity
      std::vector<float> numbers(kCount, 1.0f);
      context.write(bound.buffers[0], numbers);
      context.wait(context.enqueue(bound.binding));
      numbers[place] = value;
      context.write(bound.buffers[0], numbers);
      require_non_finite(context, context.enqueue(bound.binding), 1, "wait after a logarithm that is not finite");
    }
  }
  context.destroy(bound);
  require_works(context);
}

Case check_finite_case(DType dtype, Level level) {
  return contract_case(
      fmt::format("check_finite_{}", ir::dtype_name(dtype)),
      [dtype](const Bench& bench) { check_finite_of(dtype, bench); }, level);
}

}  // namespace

std::vector<Case> finite_cases() {
  return {
      contract_case("check_finite_in_repeated_runs", check_finite_in_repeated_runs),
      contract_case("failure_is_reported", failure_is_reported),
      check_finite_case(DType::kF16, Level::kMixedPrecision),
      check_finite_case(DType::kBF16, Level::kMixedPrecision),
      check_finite_case(DType::kF64, Level::kNone),
  };
}

}  // namespace thrt::conformance
