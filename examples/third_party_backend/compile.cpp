#include "compile.hpp"

#include <algorithm>
#include <set>

namespace thrt_opencl {

using namespace thrt;

namespace {

const emit::Dialect& dialect() {
  static const emit::Dialect kDialect = emit::opencl_c();
  return kDialect;
}

emit::Options options_for(const Device& device, std::uint32_t flags) {
  emit::Options options;
  options.fuse = (flags & THRT_COMPILE_DEBUG) == 0;
  if (device.info.kind == THRT_DEVICE_SOFTWARE) {  // few cores with wide registers: much work for each work-item
    options.tile_rows = 4;
    options.tile_columns = 16;
    options.group_size = 16;
  } else {
    options.device = emit::DeviceKind::kGpu;
    options.compute_units = device.info.compute_units;
    options.tile_rows = 2;
    options.tile_columns = 2;
    options.min_work_items = 256 * std::int64_t{device.info.compute_units};
  }
  return options;
}

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

}  // namespace

void KernelCache::add(const std::vector<const emit::Kernel*>& kernels) {
  std::vector<const emit::Kernel*> fresh;
  for (const emit::Kernel* kernel : kernels) {
    if (entries_.emplace(kernel->text, Entry{nullptr, kernel->name}).second) fresh.push_back(kernel);
  }
  if (fresh.empty()) return;
  const KeepSignalHandlers keep;
  const std::string text = emit::translation_unit(dialect(), fresh);
  const Api& api = device_.api;
  try {
    const char* source = text.c_str();
    const std::size_t size = text.size();
    cl_int code = CL_SUCCESS;
    auto program = std::make_shared<Handle<cl_program>>(
        api.clCreateProgramWithSource(device_.context.get(), 1, &source, &size, &code), api.clReleaseProgram);
    check(code, "clCreateProgramWithSource");
    code = api.clBuildProgram(program->get(), 1, &device_.id, "-cl-std=CL1.2 -w", nullptr, nullptr);
    if (code != CL_SUCCESS) {
      std::size_t log_size = 0;
      api.clGetProgramBuildInfo(program->get(), device_.id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &log_size);
      std::string log(log_size, ' ');
      api.clGetProgramBuildInfo(program->get(), device_.id, CL_PROGRAM_BUILD_LOG, log_size, log.data(), nullptr);
      const std::size_t error = log.find("error");
      throw sdk::Error(THRT_INTERNAL, "the driver does not compile " + fresh[0]->name + " and " +
                                          std::to_string(fresh.size() - 1) +
                                          " more kernels: " + log.substr(error == std::string::npos ? 0 : error))
          .native("clBuildProgram", code);
    }
    for (const emit::Kernel* kernel : fresh) entries_.at(kernel->text).program = program;
  } catch (...) {
    for (const emit::Kernel* kernel : fresh) entries_.erase(kernel->text);
    throw;
  }
}

Handle<cl_kernel> KernelCache::make(const std::string& text) const {
  const Entry& entry = entries_.at(text);
  cl_int code = CL_SUCCESS;
  cl_kernel kernel = device_.api.clCreateKernel(entry.program->get(), entry.name.c_str(), &code);
  check(code, "clCreateKernel");
  return {kernel, device_.api.clReleaseKernel};
}

Program::Program(const sdk::ProgramView& view, const emit::Options& options) {
  for (std::uint32_t v = 0; v < view.value_count(); ++v) types.push_back(view.type(v));
  emit::Plan kernels = emit::plan(view, dialect(), options);
  for (emit::Step& planned : kernels.steps) {
    Step& step = steps.emplace_back();
    for (const std::uint32_t index : planned.ops) {
      const sdk::OpView& op = view.ops()[index];
      for (std::uint32_t r = 0; r < op.result_count(); ++r) {
        step.results.push_back({op.result(r), op.flat_index(), std::string(op.name()), op.result_type(r)});
      }
    }
    if (planned.is_repeat) {
      const sdk::OpView& op = view.ops()[planned.ops[0]];
      const sdk::ProgramView body = op.body();
      step.repeat = std::make_unique<Repeat>();
      step.repeat->body = std::make_unique<Program>(body, options);
      step.repeat->trips = op.attribute(0);
      step.repeat->reads_iteration = reads(*step.repeat->body, body, body.slot(0).input_value);
      step.repeat->operands.assign(op.operands().begin(), op.operands().end());
      for (std::uint32_t r = 0; r < op.result_count(); ++r) step.repeat->results.push_back(op.result(r));
      planned.memory.scratch_bytes = kIterationBytes + step.repeat->body->plan.workspace_bytes;
    }
    step.step = std::move(planned);
  }
  std::vector<sdk::PlanStep> memory_steps;
  for (const Step& step : steps) memory_steps.push_back(step.step.memory);
  plan = sdk::plan_memory(view, memory_steps);
  constants.assign(view.constants().begin(), view.constants().end());
}

void Program::add_kernels(std::vector<const emit::Kernel*>& kernels) const {
  for (const Step& step : steps) {
    for (const emit::Kernel& kernel : step.step.kernels) kernels.push_back(&kernel);
    if (step.repeat != nullptr) step.repeat->body->add_kernels(kernels);
  }
}

std::uint64_t Program::launches() const {
  std::uint64_t count = plan.final_copies.size();
  for (const Step& step : steps) {
    count += step.step.kernels.size();
    if (step.repeat == nullptr) continue;
    const std::uint64_t each = step.repeat->body->launches() + (step.repeat->reads_iteration ? 1 : 0);
    count += static_cast<std::uint64_t>(step.repeat->trips) * each;
  }
  return count;
}

std::uint32_t Program::steps_in_all() const {
  auto count = static_cast<std::uint32_t>(plan.final_copies.size());
  for (const Step& step : steps) {
    count += static_cast<std::uint32_t>(step.step.kernels.size());
    if (step.repeat != nullptr) count += step.repeat->body->steps_in_all();
  }
  return count;
}

std::uint64_t Program::constants_in_all() const {
  std::uint64_t bytes = constants.size();
  for (const Step& step : steps) bytes += step.repeat != nullptr ? step.repeat->body->constants_in_all() : 0;
  return bytes;
}

Executable::Executable(Device& device, KernelCache& cache, const sdk::ProgramView& view, std::uint32_t flags)
    : program_(view, options_for(device, flags)), flags_(flags) {
  std::vector<const emit::Kernel*> kernels;
  program_.add_kernels(kernels);
  cache.add(kernels);
  upload_constants(device, program_);
}

void Executable::upload_constants(Device& device, Program& program) {
  if (!program.constants.empty()) {
    program.constant_memory =
        std::make_unique<Memory>(device, program.constants.size(), THRT_MEMORY_DEVICE, "constants");
    THRT_CL(device.api, clEnqueueWriteBuffer, device.queue.get(), program.constant_memory->get(), CL_TRUE, 0,
            program.constants.size(), program.constants.data(), 0, nullptr, nullptr);
  }
  for (Program::Step& step : program.steps) {
    if (step.repeat != nullptr) upload_constants(device, *step.repeat->body);
  }
}

void Executable::info(thrt_executable_info& info) const {
  info.steps = program_.steps_in_all();
  info.launches = static_cast<std::uint32_t>(std::min<std::uint64_t>(program_.launches(), UINT32_MAX));
  info.workspace_bytes = program_.plan.workspace_bytes;
  info.constant_bytes = program_.constants_in_all();
  sdk::set_text(info.kind, "kernels");
}

}  // namespace thrt_opencl
