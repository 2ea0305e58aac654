#include "compile.hpp"

#include <thrt/emit/describe.hpp>
#include <thrt/emit/emit.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <optional>
#include <sstream>
#include <utility>

namespace thrt_vulkan {

using namespace thrt;

namespace {

// A repeat's counter where it is kept in memory.
constexpr const char* kIncrementText =
    "#version 450\n"
    "layout(local_size_x = 1) in;\n"
    "layout(set = 0, binding = 0) buffer Counter { int counter; };\n"
    "void main() { counter += 1; }\n";

bool reads(const Program& program, const sdk::ProgramView& view, std::uint32_t value) {
  for (const Program::Step& step : program.steps) {
    const sdk::PlanStep& memory = step.step.memory;
    if (std::count(memory.reads.begin(), memory.reads.end(), value) != 0) return true;
    for (const auto& [result, operand] : memory.views) {
      if (operand == value) return true;
    }
  }
  for (std::uint32_t s = 0; s < view.slot_count(); ++s) {
    if (view.slot(s).output_value == value) return true;
  }
  return false;
}

// Commands one after another.
std::uint64_t stages(const emit::Step& step) {
  return step.kernels.empty() ? 0 : std::uint64_t{step.kernels.back().stage} + 1;
}

std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  if (a == Program::kEndless || b == Program::kEndless) return Program::kEndless;
  return b != 0 && a > Program::kEndless / b ? Program::kEndless : a * b;
}

std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
  return a == Program::kEndless || b == Program::kEndless ? Program::kEndless : a + b;
}

std::uint64_t aligned(std::uint64_t bytes, std::uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

// The longest unrolled loop that reads its iteration.
std::int64_t iterations_read(const Program& program) {
  std::int64_t most = 0;
  for (const Program::Step& step : program.steps) {
    if (step.repeat == nullptr) continue;
    if (step.repeat->body->commands == 0) continue;  // nothing of it is recorded
    if (step.repeat->unrolled && step.repeat->reads_iteration) most = std::max(most, step.repeat->trips);
    most = std::max(most, iterations_read(*step.repeat->body));
  }
  return most;
}

bool counts_in_memory(const Program& program) {
  return std::any_of(program.steps.begin(), program.steps.end(), [](const Program::Step& step) {
    if (step.repeat == nullptr) return false;
    return (!step.repeat->unrolled && step.repeat->reads_iteration) || counts_in_memory(*step.repeat->body);
  });
}

std::uint64_t place_constants(Program& program, std::uint64_t offset) {
  program.first_constant = offset;
  offset += aligned(program.constants.size(), sdk::kPlanAlignment);
  for (Program::Step& step : program.steps) {
    if (step.repeat != nullptr) offset = place_constants(*step.repeat->body, offset);
  }
  return offset;
}

void copy_constants(const Program& program, std::vector<std::byte>& bytes) {
  std::copy(program.constants.begin(), program.constants.end(),
            bytes.begin() + static_cast<std::ptrdiff_t>(program.first_constant));
  for (const Program::Step& step : program.steps) {
    if (step.repeat != nullptr) copy_constants(*step.repeat->body, bytes);
  }
}

std::uint64_t constants_in_all(const Program& program) {
  std::uint64_t bytes = program.constants.size();
  for (const Program::Step& step : program.steps) {
    if (step.repeat != nullptr) bytes += constants_in_all(*step.repeat->body);
  }
  return bytes;
}

std::uint32_t steps_in_all(const Program& program) {
  auto count = static_cast<std::uint32_t>(program.plan.final_copies.size());
  for (const Program::Step& step : program.steps) {
    count += static_cast<std::uint32_t>(step.step.kernels.size());
    if (step.repeat != nullptr) count += steps_in_all(*step.repeat->body);
  }
  return count;
}

emit::Dialect dialect_for(const Device& device) {
  emit::Dialect dialect = emit::glsl();
  // Mesa's llvmpipe leaves all loops of a work-item after as many turns, counted over all of them (LP_MAX_TGSI_LOOP_ITERATIONS).
  if (device.listed().driver_id == VK_DRIVER_ID_MESA_LLVMPIPE) dialect.most_turns = 65535;
  return dialect;
}

// THRUST_VULKAN_KERNELS, an aid for debugging, picks the kernels of the other kind of device: those for GPUs can be tried without one.
emit::DeviceKind kernels_for(const Device& device) {
  const char* wanted = std::getenv("THRUST_VULKAN_KERNELS");
  if (wanted == nullptr || *wanted == '\0') {
    return device.info().kind == THRT_DEVICE_SOFTWARE ? emit::DeviceKind::kProcessor : emit::DeviceKind::kGpu;
  }
  const std::string_view name = wanted;
  if (name == "gpu") return emit::DeviceKind::kGpu;
  if (name == "processor") return emit::DeviceKind::kProcessor;
  throw sdk::Error(THRT_INVALID_ARGUMENT,
                   "THRUST_VULKAN_KERNELS is '" + std::string(name) + "'; it must be gpu or processor, or not be set");
}

std::optional<std::string> refuse(const sdk::OpView& op, const Device& device, const emit::Dialect& dialect) {
  const std::uint64_t most = device.limits().maxStorageBufferRange;
  const auto refuse_size = [&](const ir::Type& type) -> std::optional<std::string> {
    if (type.bytes() <= most) return std::nullopt;
    return std::string(op.name()) + ": a value of " + std::to_string(type.bytes()) +
           " bytes; this device binds at most " + std::to_string(most);
  };
  for (std::size_t i = 0; i < op.operands().size(); ++i) {
    if (auto text = refuse_size(op.operand_type(i))) return text;
  }
  for (std::uint32_t r = 0; r < op.result_count(); ++r) {
    if (auto text = refuse_size(op.result_type(r))) return text;
  }
  return emit::refuse(op, dialect, device.info().storage_dtypes);
}

// What a kernel takes beyond the values that check_program has seen.
void require_fits(const emit::Kernel& kernel, const Target& target) {
  const auto require = [&](const char* what, std::uint64_t needed, std::uint64_t most) {
    if (needed <= most) return;
    throw sdk::Error(THRT_UNSUPPORTED, "kernel " + kernel.name + " needs " + std::to_string(needed) + what +
                                           "; this device has at most " + std::to_string(most));
  };
  for (const emit::Argument& argument : kernel.arguments) {
    if (argument.value == THRT_NONE) require(" bytes between its stages", argument.bytes, target.max_value_bytes);
  }
  require(" arguments", kernel.arguments.size(), target.options.max_arguments);
  require(" bytes of group memory", kernel.shared_bytes, target.max_shared_bytes);
  require(" work-items in a group", kernel.group_size, target.max_group_size);
  require(" work-groups", kernel.groups, target.max_groups);
}

void check_ops(const Device& device, const emit::Dialect& dialect, const sdk::ProgramView& program,
               std::vector<sdk::Refusal>& refusals) {
  for (const sdk::OpView& op : program.ops()) {
    if (std::optional<std::string> reason = refuse(op, device, dialect)) {
      refusals.push_back({op.flat_index(), *std::move(reason)});
    } else if (op.kind() == ir::OpKind::REPEAT) {
      check_ops(device, dialect, op.body(), refusals);
    }
  }
}

}  // namespace

Target::Target(const Device& device, std::uint32_t flags)
    : dialect(dialect_for(device)),
      max_value_bytes(device.limits().maxStorageBufferRange),
      max_shared_bytes(device.limits().maxComputeSharedMemorySize),
      max_group_size(
          std::min(device.limits().maxComputeWorkGroupSize[0], device.limits().maxComputeWorkGroupInvocations)),
      // Below 2^31, so that the flat index of a grid's last row does not wrap around.
      max_groups(std::min<std::uint64_t>(INT32_MAX, std::uint64_t{device.limits().maxComputeWorkGroupCount[0]} *
                                                        device.limits().maxComputeWorkGroupCount[1])),
      op_by_op((flags & (THRT_COMPILE_DEBUG | THRT_COMPILE_CHECK_FINITE)) != 0) {
  options.fuse = !op_by_op;
  options.max_arguments = std::min<std::size_t>(device.limits().maxPerStageDescriptorStorageBuffers, 64);
  options.max_shared_bytes = device.limits().maxComputeSharedMemorySize;
  if (device.info().compute_units != 0) options.compute_units = device.info().compute_units;  // most drivers do not say
  if (kernels_for(device) == emit::DeviceKind::kProcessor) {
    // Few cores with wide registers: much work for each work-item. Tiles of 4 x 16 are no quicker than 4 x 8, but take LLVM twice as long.
    options.device = emit::DeviceKind::kProcessor;
    options.runs_all_branches = true;
    options.counted_row = 256;  // sorting in group memory takes 2.7, 1.2, 0.23 of the time at 64, 256, 2 048 elements
    options.tile_rows = 4;
    options.tile_columns = 8;
    options.launch_cost = 65536;
  } else {
    options.device = emit::DeviceKind::kGpu;
    options.launch_cost = 1e6;
  }
}

std::vector<sdk::Refusal> check_program(const Device& device, const sdk::ProgramView& program) {
  std::vector<sdk::Refusal> refusals;
  check_ops(device, dialect_for(device), program, refusals);
  return refusals;
}

Program::Program(const sdk::ProgramView& view, const Target& target) : slot_count(view.slot_count()) {
  for (std::uint32_t v = 0; v < view.value_count(); ++v) types.push_back(view.type(v));
  emit::Plan planned = emit::plan(view, target.dialect, target.options);
  emit::Describer describer(view);
  for (emit::Step& step : planned.steps) add_step(std::move(step), view, target, describer);
  if (!target.op_by_op) order_by_level();
  std::vector<sdk::PlanStep> memory_steps;
  for (const Step& step : steps) memory_steps.push_back(step.step.memory);
  plan = sdk::plan_memory(view, memory_steps);
  constants.assign(view.constants().begin(), view.constants().end());
  commands = sum(commands, plan.final_copies.size());
}

void Program::add_step(emit::Step planned, const sdk::ProgramView& view, const Target& target,
                       emit::Describer& describer) {
  Step& step = steps.emplace_back();
  for (const std::uint32_t index : planned.ops) {
    const sdk::OpView& op = view.ops()[index];
    for (std::uint32_t r = 0; r < op.result_count(); ++r) {
      step.results.push_back({op.result(r), op.flat_index(), std::string(op.name()), op.result_type(r)});
    }
  }
  for (const emit::Kernel& kernel : planned.kernels) step.descriptions.push_back(describer.kernel(kernel));
  commands = sum(commands, planned.kernels.size());
  if (planned.is_repeat) {
    const sdk::OpView& op = view.ops()[planned.ops[0]];
    const sdk::ProgramView body = op.body();
    step.repeat = std::make_unique<Repeat>();
    Repeat& repeat = *step.repeat;
    repeat.body = std::make_unique<Program>(body, target);
    repeat.trips = op.attribute(0);
    repeat.reads_iteration = reads(*repeat.body, body, body.slot(0).input_value);
    repeat.operands.assign(op.operands().begin(), op.operands().end());
    for (std::uint32_t r = 0; r < op.result_count(); ++r) repeat.results.push_back(op.result(r));
    planned.memory.scratch_bytes = kCounterBytes + repeat.body->plan.workspace_bytes;
    const std::uint64_t unrolled = product(repeat.body->commands, static_cast<std::uint64_t>(repeat.trips));
    repeat.unrolled = !target.op_by_op && unrolled <= kMostUnrolled;
    commands = sum(commands, repeat.unrolled ? sum(unrolled, repeat.results.size()) : kEndless);
  }
  step.step = std::move(planned);
}

// Steps that need nothing of each other stand side by side, and the memory of what they read and write is not used again before all of
// them have ended: dependencies that planned memory would add cost barriers.
void Program::order_by_level() {
  struct At {
    std::uint64_t begin = 0, end = 0;
    bool overwrites = false;
    std::size_t index = 0;
  };
  std::vector<std::uint64_t> ready(types.size(), 0);  // by value: the level at which it can be read
  std::vector<At> order(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const sdk::PlanStep& memory = steps[i].step.memory;
    At& at = order[i];
    at.index = i;
    at.overwrites = !memory.in_place.empty();
    for (const std::uint32_t value : memory.reads) at.begin = std::max(at.begin, ready[value]);
    for (const auto& [result, operand] : memory.views) at.begin = std::max(at.begin, ready[operand]);
    const std::uint64_t within =
        steps[i].repeat != nullptr
            ? std::max<std::uint64_t>(
                  1, product(steps[i].repeat->body->depth, static_cast<std::uint64_t>(steps[i].repeat->trips)))
            : stages(steps[i].step);
    at.end = sum(at.begin, within);
    for (const std::uint32_t value : memory.writes) ready[value] = at.end;
    for (const auto& [result, operand] : memory.views) ready[result] = ready[operand];
    depth = std::max(depth, at.end);
  }
  // What overwrites an operand comes after those that read it beside.
  std::stable_sort(order.begin(), order.end(), [](const At& a, const At& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.overwrites < b.overwrites;
  });
  std::vector<Step> sorted;
  for (std::size_t i = 0; i < order.size(); ++i) {
    sdk::PlanStep& memory = steps[order[i].index].step.memory;
    std::size_t last = i;
    while (last + 1 < order.size() && order[last + 1].begin < order[i].end) ++last;
    memory.runs_beside = static_cast<std::uint32_t>(last);
    sorted.push_back(std::move(steps[order[i].index]));
  }
  steps = std::move(sorted);
}

Executable::Executable(Device& device, Kernels& kernels, const sdk::ProgramView& view, std::uint32_t flags)
    : target_(device, flags), flags_(flags), program_(view, target_) {
  std::map<std::string, std::uint32_t, std::less<>> numbers;
  std::vector<KernelSource> sources;
  collect(program_, numbers, sources);
  const auto increment_kernel = static_cast<std::uint32_t>(sources.size());
  if (counts_in_memory(program_)) sources.push_back({"increment", kIncrementText, 1});
  pipelines_ = kernels.make(sources);

  const std::uint64_t table = place_constants(program_, 0);
  const std::uint64_t stride = std::max<std::uint64_t>(device.limits().minStorageBufferOffsetAlignment, 4);
  const auto iterations = static_cast<std::uint64_t>(iterations_read(program_));
  schedule_ = make_schedule(program_, {table, stride, increment_kernel, target_.op_by_op});
  std::vector<std::byte> bytes(table + iterations * stride);
  copy_constants(program_, bytes);
  for (std::uint64_t i = 0; i < iterations; ++i) {
    const auto number = static_cast<std::int32_t>(i);
    std::memcpy(bytes.data() + table + i * stride, &number, sizeof number);
  }
  // Never empty: values without elements are bound to it.
  bytes.resize(std::max<std::size_t>(bytes.size(), sdk::kPlanAlignment));
  constants_ = std::make_unique<Memory>(device, bytes.size(), sdk::kPlanAlignment, THRT_MEMORY_DEVICE, "constants");
  device.stream().upload(constants_->region(), bytes);
}

void Executable::collect(Program& program, std::map<std::string, std::uint32_t, std::less<>>& numbers,
                         std::vector<KernelSource>& sources) {
  for (Program::Step& step : program.steps) {
    for (emit::Kernel& kernel : step.step.kernels) {
      const emit::Kernel* one = &kernel;
      std::string text = emit::translation_unit(target_.dialect, {&one, 1});
      require_fits(kernel, target_);
      const auto [at, is_new] = numbers.try_emplace(text, static_cast<std::uint32_t>(sources.size()));
      if (is_new) {
        sources.push_back({kernel.name, std::move(text), static_cast<std::uint32_t>(kernel.arguments.size())});
      }
      step.kernels.push_back(at->second);
      kernel.text = std::string();
      kernel.functions.clear();
    }
    if (step.repeat != nullptr) collect(*step.repeat->body, numbers, sources);
  }
}

void Executable::info(thrt_executable_info& info) const {
  info.steps = steps_in_all(program_);
  info.launches = 1;
  info.workspace_bytes = workspace_bytes();
  info.constant_bytes = constants_in_all(program_);
  sdk::set_text(info.kind, target_.op_by_op ? "command buffers, op by op" : "command-buffer");
}

std::string Executable::describe() const {
  std::string text;
  describe(program_, "", text);
  const Schedule::Counters& all = schedule_.counters;
  text += "one run: " + std::to_string(all.launches) + " launches, " + std::to_string(all.barriers) + " barriers, " +
          std::to_string(all.bytes_read) + " bytes read, " + std::to_string(all.bytes_written) +
          " written; workspace " + std::to_string(workspace_bytes()) + " bytes; " +
          std::to_string(schedule_.segments.size()) + " command buffer" + (schedule_.segments.size() == 1 ? "" : "s") +
          "\n";
  return text;
}

void Executable::describe(const Program& program, const std::string& indent, std::string& text) {
  for (const Program::Step& step : program.steps) {
    for (std::size_t k = 0; k < step.descriptions.size(); ++k) {
      std::istringstream lines(step.step.kernels[k].name + ": " + step.descriptions[k]);
      for (std::string line; std::getline(lines, line);) text += indent + line + "\n";
    }
    if (step.repeat == nullptr) continue;
    text += indent + "repeat " + std::to_string(step.repeat->trips) + " times, " +
            (step.repeat->unrolled ? "unrolled" : "not unrolled") + ":\n";
    describe(*step.repeat->body, indent + "  ", text);
  }
  for (const sdk::PlanCopy& copy : program.plan.final_copies) {
    text += indent + "copy: " + std::to_string(copy.bytes) + " bytes\n";
  }
}

bool Executable::counters(thrt_program_counters& counters) const {
  counters.launches = schedule_.counters.launches;
  counters.barriers = schedule_.counters.barriers;
  counters.bytes_read = schedule_.counters.bytes_read;
  counters.bytes_written = schedule_.counters.bytes_written;
  return true;
}

}  // namespace thrt_vulkan
