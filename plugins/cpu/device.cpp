#include "device.hpp"
#include "launch.hpp"
#include "processors.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstring>
#include <thread>

namespace thrt::cpu {
namespace {

using ir::DType;
using ir::OpKind;
using ir::Rule;

constexpr std::uint32_t kComputed = ir::dtype_bit(DType::kF32) | ir::dtype_bit(DType::kI32) |
                                    ir::dtype_bit(DType::kU32) | ir::dtype_bit(DType::kU8) |
                                    ir::dtype_bit(DType::kBool);
constexpr std::uint32_t kStored = kComputed | ir::dtype_bit(DType::kF16) | ir::dtype_bit(DType::kBF16);

// Beyond this a schedule gains nothing, and its counters cost.
constexpr std::uint32_t kMostThreads = 64;

// Ops that move bytes without looking at them, so that they take whatever can be stored.
bool only_moves(OpKind kind) {
  switch (ir::op_info(kind).rule) {
    case Rule::kConstant:
    case Rule::kCast:
    case Rule::kSelect:
    case Rule::kBroadcast:
    case Rule::kReshape:
    case Rule::kTranspose:
    case Rule::kSlice:
    case Rule::kPad:
    case Rule::kConcat:
    case Rule::kGather:
    case Rule::kDynamicSlice:
    case Rule::kDynamicUpdateSlice:
    case Rule::kRepeat:
      return true;
    default:
      return false;
  }
}

class Executable : public sdk::HostExecutable {
 public:
  Executable(Routine routine, std::shared_ptr<Team> team) : routine_(std::move(routine)), team_(std::move(team)) {}

  std::uint64_t workspace_bytes() const override { return routine_.plan.workspace_bytes; }
  std::uint64_t constant_bytes() const override { return routine_.constant_bytes; }
  void info(thrt_executable_info& info) const override {
    info.steps = routine_.kernel_count;
    info.launches = 1;
    sdk::set_text(info.kind, fmt::format("closures, {} thread{}", routine_.threads, routine_.threads == 1 ? "" : "s"));
  }
  std::string describe() const override { return routine_.describe(); }
  std::unique_ptr<sdk::HostRun> prepare(std::span<std::byte* const> slots, std::byte* workspace) override {
    return std::make_unique<Launch>(routine_.bind(slots, workspace), team_);
  }

 private:
  Routine routine_;
  std::shared_ptr<Team> team_;
};

}  // namespace

thrt_device_info describe_processor() {
  thrt_device_info info{};
  const Kernels& kernels = best_kernels();
  const sdk::HostMemory memory = sdk::host_memory();
  info.kind = THRT_DEVICE_CPU;
  info.available = 1;
  info.compute_units = std::max(1u, std::thread::hardware_concurrency());
  info.memory_total = memory.total;
  info.memory_free = memory.available;
  info.max_buffer_bytes = memory.total;
  info.storage_dtypes = kStored;
  info.precisions = 1u << THRT_PRECISION_F32;
  if (has_bf16(kernels)) info.precisions |= 1u << THRT_PRECISION_BF16;
  info.subgroup_size = kernels.lanes;
  sdk::set_text(info.name, processor_name());
  sdk::set_text(info.architecture, kernels.level);
  return info;
}

Device::Device(const thrt_context_options& options)
    : kernels_(&best_kernels()),
      precision_(options.precision),
      team_(std::make_shared<Team>(options.threads == 0 ? default_threads()
                                                        : static_cast<int>(std::min(options.threads, kMostThreads)))) {}

std::optional<std::string> Device::refuse(const sdk::OpView& op) const {
  const bool moves = only_moves(op.kind());
  const auto check = [&](const ir::Type& type) -> std::optional<std::string> {
    const std::uint32_t bit = ir::dtype_bit(type.dtype);
    if ((kStored & bit) == 0) {
      return fmt::format("{}: this backend has no {}", op.name(), ir::dtype_name(type.dtype));
    }
    if (!moves && (kComputed & bit) == 0) {
      return fmt::format("{}: this backend stores and casts {}, but computes in f32 only", op.name(),
                         ir::dtype_name(type.dtype));
    }
    return std::nullopt;
  };
  for (std::size_t i = 0; i < op.operands().size(); ++i) {
    if (auto reason = check(op.operand_type(i))) return reason;
  }
  for (std::uint32_t i = 0; i < op.result_count(); ++i) {
    if (auto reason = check(op.result_type(i))) return reason;
  }
  return std::nullopt;
}

std::unique_ptr<sdk::HostExecutable> Device::compile(const sdk::ProgramView& program, std::uint32_t flags) {
  return std::make_unique<Executable>(
      compile_routine(program, CompileSettings{kernels_, flags, team_->threads(), precision_}), team_);
}

}  // namespace thrt::cpu
