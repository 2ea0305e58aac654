// Kernels for programs, printed in a C-like language. For backends whose device takes source text: GPUs above all.
//
//     const emit::Plan plan = emit::plan(program, emit::opencl_c(), {});
//     const sdk::MemoryPlan memory = sdk::plan_memory(program, plan.memory_steps());
//     for (const emit::Step& step : plan.steps)
//       for (const emit::Kernel& kernel : step.kernels) ...compile kernel.text once per distinct text, launch it as
//                       kernel.groups work-groups of kernel.group_size work-items with kernel.arguments
//
// A step is what runs between two points where memory is planned: kernels, or a repeat, whose body is planned as a program of its
// own. The steps run in order. Kernels of one stage of a step need no order among themselves; a stage needs all that the
// stages before it wrote.
//
// What one kernel computes is decided twice. Fusion (fusion.hpp): all ops in between are computed where their results are needed, and
// a cost model with constants in Options says which values need memory at all; it fuses what is used once or is cheap to compute
// again, and never computes something expensive many times over. Joining (merge.hpp): what is left and needs nothing of
// each other shares a launch, each part with work-groups of its own. describe.hpp prints what became of a program.
//
// A kernel has only arrays as arguments, in the order of `arguments`; where the dialect has offsets, each is followed by a u64, the
// element at which its value begins. Shapes and small constants are in the text. Two kernels with equal text are the same
// kernel, name included, so the text is the key of a cache; translation_unit() puts any set of distinct kernels into one
// text with one copy of the functions that they share.
//
// Kernels hold no state. Sums run in a fixed order with f32 accumulators. memory.in_place says where a result may lie in an
// operand's memory.
//
// dtypes: f32, f16, bf16, i32, u32, u8, bool; every op but repeat. refuse() says what is missing.
#pragma once

#include <thrt/emit/dialect.hpp>
#include <thrt/emit/plan.hpp>
#include <thrt/emit/refuse.hpp>
#include <thrt/emit/scalar.hpp>
#include <thrt/sdk/program.hpp>

#include <span>
#include <string>

namespace thrt::emit {

// The program is verified and nothing in it is refused. Throws THRT_UNSUPPORTED where what a whole kernel needs shows only here:
// more turns of loops than Dialect::most_turns. THRT_INVALID_ARGUMENT: options that contradict what plan.hpp says of them.
inline Plan plan(const sdk::ProgramView& program, const Dialect& dialect, const Options& options = {});

// The text to compile: preamble, functions, kernels. The kernels' texts must differ.
inline std::string translation_unit(const Dialect& dialect, std::span<const Kernel* const> kernels) {
  Functions functions;
  for (const Kernel* kernel : kernels) functions.insert(kernel->functions.begin(), kernel->functions.end());
  std::string text = dialect.preamble;
  text += functions_text(dialect, functions);
  for (const Kernel* kernel : kernels) text += "\n" + kernel->text;
  return text;
}

}  // namespace thrt::emit

#include <thrt/emit/plan_impl.hpp>
