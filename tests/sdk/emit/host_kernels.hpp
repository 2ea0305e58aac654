// Runs emitted kernels on the processor: their dialect is C++, so the compiler at hand compiles them.
#pragma once

#include "../../plugins/cpu/host.hpp"

#include <thrt/emit/emit.hpp>
#include <thrt/sdk/plan_memory.hpp>

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace thrt::testing {

// How the compiled text runs a kernel: the work-items of a group are fibers, so that they can wait for each other. Between two
// barriers they run one after the other in an order that differs each time: where a barrier is missing, some read too early. All
// of a group must come to the same barriers. Group memory holds large numbers at first. Groups too run in an order that differs
// each time, and so do the kernels of a stage.
inline constexpr const char* kHostPreamble = R"(
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ucontext.h>
#include <utility>
#include <vector>
static float thrt_float_of(unsigned bits) { float x; std::memcpy(&x, &bits, 4); return x; }
static unsigned thrt_bits_of(float x) { unsigned bits; std::memcpy(&bits, &x, 4); return bits; }
static unsigned thrt_group, thrt_item;

extern char __start_thrt_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_thrt_shared[] __attribute__((weak, visibility("hidden")));
// Its work-item's next turn begins where it left, at a barrier (its line) or, at 0, before the kernel. Switching by the compiler's
// own setjmp, because swapcontext calls the system.
struct thrt_fiber { ucontext_t context; void* resume[5]; int at; bool started; };
static const unsigned thrt_most = 1024, thrt_stack = 1 << 16;
static thrt_fiber thrt_fibers[thrt_most];
static char thrt_stacks[thrt_most][thrt_stack];
static void* thrt_scheduler[5];
static void (*thrt_call)(void*);
static void* thrt_data;
__attribute__((noinline)) static void thrt_leave() { __builtin_longjmp(thrt_scheduler, 1); }
__attribute__((noinline)) static void thrt_barrier(int line) {
  thrt_fiber& own = thrt_fibers[thrt_item];
  own.at = line;
  if (__builtin_setjmp(own.resume) == 0) thrt_leave();
}
static void thrt_begin() {
  for (;;) {
    thrt_call(thrt_data);
    thrt_barrier(0);
  }
}
__attribute__((noinline)) static void thrt_enter(thrt_fiber& fiber, char* stack) {
  if (fiber.started) __builtin_longjmp(fiber.resume, 1);
  fiber.started = true;
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = stack;
  fiber.context.uc_stack.ss_size = thrt_stack;
  makecontext(&fiber.context, thrt_begin, 0);
  setcontext(&fiber.context);
}
__attribute__((noinline)) static void thrt_continue(unsigned item) {
  thrt_item = item;
  if (__builtin_setjmp(thrt_scheduler) == 0) thrt_enter(thrt_fibers[item], thrt_stacks[item]);
}
static unsigned thrt_random = 1;
static void thrt_shuffle(unsigned* order, unsigned size) {
  for (unsigned i = size; i > 1; --i) {
    thrt_random = thrt_random * 1664525u + 1013904223u;
    std::swap(order[i - 1], order[(thrt_random >> 8) % i]);
  }
}
static const char* thrt_run_group(unsigned size, bool waits) {
  static unsigned order[thrt_most];
  static char problem[200];
  for (unsigned i = 0; i < size; ++i) order[i] = i;
  if (!waits) {
    thrt_shuffle(order, size);
    for (unsigned i = 0; i < size; ++i) {
      thrt_item = order[i];
      thrt_call(thrt_data);
    }
    return nullptr;
  }
  for (;;) {
    thrt_shuffle(order, size);
    for (unsigned i = 0; i < size; ++i) thrt_continue(order[i]);
    for (unsigned i = 1; i < size; ++i) {
      if (thrt_fibers[i].at == thrt_fibers[0].at) continue;
      std::snprintf(problem, sizeof problem, "group %u: work-item 0 waits at line %d, work-item %u at line %d",
                    thrt_group, thrt_fibers[0].at, i, thrt_fibers[i].at);
      for (thrt_fiber& fiber : thrt_fibers) fiber.started = false;
      return problem;
    }
    if (thrt_fibers[0].at == 0) return nullptr;
  }
}
template <class F>
const char* thrt_run_call(F call, unsigned groups, unsigned size, bool waits) {
  if (__start_thrt_shared != nullptr && waits)
    std::memset(__start_thrt_shared, 0x7f, __stop_thrt_shared - __start_thrt_shared);
  thrt_call = [](void* data) { (*static_cast<F*>(data))(); };
  thrt_data = &call;
  std::vector<unsigned> order(groups);
  for (unsigned i = 0; i < groups; ++i) order[i] = i;
  thrt_shuffle(order.data(), groups);
  for (const unsigned group : order) {
    thrt_group = group;
    const char* problem = thrt_run_group(size, waits);
    if (problem != nullptr) return problem;
  }
  return nullptr;
}
template <class... A, std::size_t... I>
const char* thrt_run(void (*f)(A...), void** a, unsigned groups, unsigned size, bool waits, std::index_sequence<I...>) {
  return thrt_run_call([=] { f((A)a[I]...); }, groups, size, waits);
}
template <class... A>
const char* thrt_run(void (*f)(A...), void** a, unsigned groups, unsigned size, bool waits) {
  return thrt_run(f, a, groups, size, waits, std::make_index_sequence<sizeof...(A)>());
}
)";

inline emit::Dialect host_dialect() {
  emit::Dialect d;
  d.name = "C++";
  d.preamble = kHostPreamble;
  d.kernel = "static void";
  d.function = "static inline";
  d.group = "thrt_group";
  d.item = "thrt_item";
  d.barrier = "thrt_barrier(__LINE__);";
  d.shared = "__attribute__((section(\"thrt_shared\"))) static";
  d.i32 = "int";
  d.u32 = "unsigned";
  d.u8 = "unsigned char";
  d.u16 = "unsigned short";
  d.i64 = "long long";
  d.u64 = "unsigned long long";
  d.float_suffix = "f";
  d.bits_to_float = "thrt_float_of";
  d.float_to_bits = "thrt_bits_of";
  d.fused = "fmaf";
  return d;
}

// Kernels of many programs, compiled together.
class HostKernels {
 public:
  // A planned program; it runs after compile().
  struct Program {
    const thrt_program* raw;
    emit::Plan plan;
  };

  explicit HostKernels(emit::Dialect dialect = host_dialect()) : dialect_(std::move(dialect)) {}
  HostKernels(const HostKernels&) = delete;
  HostKernels& operator=(const HostKernels&) = delete;
  ~HostKernels() {
    if (library_ != nullptr) dlclose(library_);
  }

  Program add(const thrt_program& program, const emit::Options& options) {
    Program added{&program, emit::plan(sdk::ProgramView(program), dialect_, options)};
    for (const emit::Step& step : added.plan.steps) {
      for (const emit::Kernel& kernel : step.kernels) kernels_.emplace(kernel.text, kernel);
    }
    return added;
  }

  void compile() {
    std::vector<const emit::Kernel*> distinct;
    for (const auto& [text, kernel] : kernels_) distinct.push_back(&kernel);
    std::string text = emit::translation_unit(dialect_, distinct);
    for (const emit::Kernel* kernel : distinct) {
      const bool waits = kernel->text.find("thrt_barrier(") != std::string::npos;
      text += "extern \"C\" const char* run_" + kernel->name + "(void** a, unsigned g, unsigned s) { return thrt_run(" +
              kernel->name + ", a, g, s, " + (waits ? "true" : "false") + "); }\n";
    }
    // A name of its own: dlopen takes an equal name for the library that it has.
    const std::string base = ::testing::TempDir() + "thrt_emit_" + std::to_string(getpid()) + "_" +
                             std::to_string(reinterpret_cast<std::uintptr_t>(this));
    std::ofstream(base + ".cpp") << text;
    const std::string command = std::string(THRT_TEST_CXX) + " -std=c++20 -O0 -w -fPIC -shared -ffp-contract=off -o " +
                                base + ".so " + base + ".cpp";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    library_ = dlopen((base + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
    std::remove((base + ".so").c_str());
    std::remove((base + ".cpp").c_str());
  }

  void add(const emit::Kernel& kernel) { kernels_.emplace(kernel.text, kernel); }

  // What went wrong with its barriers, or nothing.
  std::string launch(const emit::Kernel& kernel, std::vector<void*> arguments) const {
    const auto run =
        reinterpret_cast<const char* (*)(void**, unsigned, unsigned)>(dlsym(library_, ("run_" + kernel.name).c_str()));
    const char* problem = run(arguments.data(), static_cast<unsigned>(kernel.groups), kernel.group_size);
    return problem != nullptr ? problem : "";
  }

  // Inputs by slot name; all written slots come back.
  std::map<std::string, Bytes> run(const Program& program, const std::map<std::string, Bytes>& inputs) const {
    const sdk::ProgramView view(*program.raw);
    const sdk::MemoryPlan plan = sdk::plan_memory(view, program.plan.memory_steps());
    std::vector<Bytes> slots;
    for (std::uint32_t s = 0; s < view.slot_count(); ++s) {
      const auto given = inputs.find(std::string(view.slot(s).name));
      slots.push_back(given != inputs.end() ? given->second : Bytes(view.slot(s).type.bytes(), 0xA5));
    }
    Bytes workspace(plan.workspace_bytes, 0xA5);
    const auto address = [&](const sdk::Placement& place) -> std::uint8_t* {
      switch (place.where) {
        case sdk::Placement::Where::kSlot:
          return slots[place.slot].data();
        case sdk::Placement::Where::kWorkspace:
          return workspace.data() + place.offset;
        case sdk::Placement::Where::kConstant:
          return reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(view.constants().data())) + place.offset;
        case sdk::Placement::Where::kNowhere:
          break;
      }
      return nullptr;
    };
    for (std::size_t i = 0; i < program.plan.steps.size(); ++i) {
      const emit::Step& step = program.plan.steps[i];
      for (const emit::Kernel* each : shuffled(step.kernels)) {
        const emit::Kernel& kernel = *each;
        std::vector<void*> arguments;
        for (const emit::Argument& argument : kernel.arguments) {
          if (argument.value == THRT_NONE) {
            EXPECT_LE(argument.offset + argument.bytes, step.memory.scratch_bytes) << kernel.name;
            arguments.push_back(workspace.data() + plan.scratch[i] + argument.offset);
          } else {
            arguments.push_back(address(plan.values[argument.value]));
          }
          EXPECT_NE(arguments.back(), nullptr) << kernel.text;
        }
        const std::string problem = launch(kernel, arguments);
        EXPECT_EQ(problem, "") << kernel.text;
      }
    }
    for (const sdk::PlanCopy& copy : plan.final_copies) std::memcpy(address(copy.to), address(copy.from), copy.bytes);
    std::map<std::string, Bytes> outputs;
    for (std::uint32_t s = 0; s < view.slot_count(); ++s) {
      if (view.slot(s).written()) outputs[std::string(view.slot(s).name)] = slots[s];
    }
    return outputs;
  }

 private:
  // In the order of their stages, and in any within one.
  std::vector<const emit::Kernel*> shuffled(const std::vector<emit::Kernel>& kernels) const {
    std::vector<const emit::Kernel*> list;
    for (const emit::Kernel& kernel : kernels) {
      EXPECT_GE(kernel.stage, list.empty() ? 0 : list.back()->stage) << kernel.name;
      list.push_back(&kernel);
    }
    std::shuffle(list.begin(), list.end(), random_);
    std::stable_sort(list.begin(), list.end(),
                     [](const emit::Kernel* a, const emit::Kernel* b) { return a->stage < b->stage; });
    return list;
  }

  mutable std::mt19937 random_;
  emit::Dialect dialect_;
  std::map<std::string, emit::Kernel> kernels_;  // by text
  void* library_ = nullptr;
};

}  // namespace thrt::testing
