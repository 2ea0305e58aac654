// Runs emitted kernels on the processor: their dialect is C++, so the compiler at hand compiles them.
#pragma once

#include "../../plugins/cpu/host.hpp"

#include <thrt/emit/emit.hpp>
#include <thrt/sdk/plan_memory.hpp>

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace thrt::testing {

inline emit::Dialect host_dialect() {
  emit::Dialect d;
  d.name = "C++";
  d.preamble =
      "#include <cmath>\n#include <cstring>\n#include <utility>\n"
      "static thread_local unsigned thrt_group, thrt_item;\n"
      "static float thrt_float_of(unsigned bits) { float x; std::memcpy(&x, &bits, 4); return x; }\n"
      "static unsigned thrt_bits_of(float x) { unsigned bits; std::memcpy(&bits, &x, 4); return bits; }\n"
      "template <class... A, std::size_t... I>\n"
      "void thrt_run(void (*f)(A...), void** a, unsigned groups, unsigned size, std::index_sequence<I...>) {\n"
      "  for (thrt_group = 0; thrt_group < groups; ++thrt_group) {\n"
      "    for (thrt_item = 0; thrt_item < size; ++thrt_item) f((A)a[I]...);\n  }\n}\n"
      "template <class... A>\n"
      "void thrt_run(void (*f)(A...), void** a, unsigned groups, unsigned size) {\n"
      "  thrt_run(f, a, groups, size, std::make_index_sequence<sizeof...(A)>());\n}\n";
  d.kernel = "static void";
  d.function = "static inline";
  d.group = "thrt_group";
  d.item = "thrt_item";
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

  HostKernels() = default;
  HostKernels(const HostKernels&) = delete;
  HostKernels& operator=(const HostKernels&) = delete;
  ~HostKernels() {
    if (library_ != nullptr) dlclose(library_);
  }

  Program add(const thrt_program& program, const emit::Options& options) {
    Program added{&program, emit::plan(sdk::ProgramView(program), host_dialect(), options)};
    for (const emit::Step& step : added.plan.steps) {
      for (const emit::Kernel& kernel : step.kernels) kernels_.emplace(kernel.text, kernel);
    }
    return added;
  }

  void compile() {
    std::vector<const emit::Kernel*> distinct;
    for (const auto& [text, kernel] : kernels_) distinct.push_back(&kernel);
    std::string text = emit::translation_unit(host_dialect(), distinct);
    for (const emit::Kernel* kernel : distinct) {
      text += "extern \"C\" void run_" + kernel->name + "(void** a, unsigned g, unsigned s) { thrt_run(" +
              kernel->name + ", a, g, s); }\n";
    }
    const std::string base = ::testing::TempDir() + "thrt_emit_" + std::to_string(getpid());
    std::ofstream(base + ".cpp") << text;
    const std::string command = std::string(THRT_TEST_CXX) + " -std=c++20 -O0 -w -fPIC -shared -ffp-contract=off -o " +
                                base + ".so " + base + ".cpp";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    library_ = dlopen((base + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
    std::remove((base + ".so").c_str());
    std::remove((base + ".cpp").c_str());
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
    for (const emit::Step& step : program.plan.steps) {
      for (const emit::Kernel& kernel : step.kernels) {
        std::vector<void*> arguments;
        for (const emit::Argument& argument : kernel.arguments) {
          arguments.push_back(address(plan.values[argument.value]));
          EXPECT_NE(arguments.back(), nullptr) << kernel.text;
        }
        const auto run =
            reinterpret_cast<void (*)(void**, unsigned, unsigned)>(dlsym(library_, ("run_" + kernel.name).c_str()));
        run(arguments.data(), static_cast<unsigned>(kernel.groups), kernel.group_size);
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
  std::map<std::string, emit::Kernel> kernels_;  // by text
  void* library_ = nullptr;
};

}  // namespace thrt::testing
