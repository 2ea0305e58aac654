// The shortest way to a backend: a processor that runs one kernel per op. The author derives from InterpreterPlugin,
// says what the device is and which kernel does an op, and writes the kernels. Compiling, memory, constants, reshape,
// repeat, the check for NaN and infinity, budgets, tickets and statistics are done.
//
//     void neg(const sdk::Call& call) {
//       for (std::int64_t i = 0; i < call.out().count; ++i) {
//         sdk::elements<float>(call.out())[i] = -sdk::elements<float>(call.in(0))[i];
//       }
//     }
//
//     class Plugin final : public sdk::InterpreterPlugin {
//      public:
//       explicit Plugin(const sdk::PluginOptions&) {}
//       thrt_device_info describe() const override { return sdk::describe_processor("plain loops", {ir::DType::kF32}); }
//       sdk::KernelChoice find(const sdk::OpView& op) const override {
//         if (op.kind() == ir::OpKind::NEG) return &neg;
//         return sdk::KernelChoice::refuse("only neg is done here");
//       }
//     };
//
//     THRT_BACKEND(Plugin, "myid", "1.0.0", "My name", "Negates f32");
//
// A backend that fuses ops or has threads starts one level below, at host_memory.hpp and plan_memory.hpp.
#pragma once

#include <thrt/sdk/host_memory.hpp>
#include <thrt/sdk/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace thrt::sdk {

// One op with its memory. Types, counts and attributes are as ops.def says: the program was verified, so a kernel checks
// nothing. A result's memory is an operand's only where the op's kind allows it: elementwise ops may find their result
// on any operand of the same size in bytes (element i is read before element i is written, and not after), scatter_add
// and dynamic_update_slice on their first.
struct Call {
  std::vector<Tensor> operands;
  std::vector<Tensor> results;
  std::vector<std::int64_t> attributes;
  std::byte* scratch;  // the bytes the choice asked for, 64-byte aligned; undefined at the start of each call

  const Tensor& in(std::size_t i) const { return operands[i]; }
  const Tensor& out() const { return results[0]; }
};

// Runs the op. Allocates nothing, keeps nothing between calls; two contexts may run one kernel at the same time. May
// throw, which fails the run: wait() reports it.
using Kernel = void (*)(const Call&);

// The kernel for the type among Stored that `dtype`'s elements have, choose(Stored{}), or null when it is none of them:
//     kernel_for<float, std::int32_t>(dtype, [](auto x) { return &neg<decltype(x)>; })
template <typename... Stored, typename Choose>
Kernel kernel_for(ir::DType dtype, Choose choose) {
  Kernel kernel = nullptr;
  static_cast<void>(((dtype == kDTypeOf<Stored> ? (kernel = choose(Stored{}), true) : false) || ...));
  return kernel;
}

// Constants are used where they are, a reshape is another name for its operand, and repeat runs its body.
constexpr bool needs_kernel(ir::OpKind kind) {
  return kind != ir::OpKind::CONSTANT && kind != ir::OpKind::RESHAPE && kind != ir::OpKind::REPEAT;
}

// How an op is done, or why not.
class KernelChoice {
 public:
  // `scratch`: bytes of its own that the kernel needs while it runs. Without a function the op is refused.
  KernelChoice(Kernel function, std::uint64_t scratch = 0) : kernel_(function), scratch_bytes_(scratch) {}

  // `reason` without the op's name, which is put in front: "dilation 3 exceeds 2".
  static KernelChoice refuse(std::string reason) {
    KernelChoice choice(nullptr);
    choice.refusal_ = std::move(reason);
    return choice;
  }

  Kernel kernel() const { return kernel_; }  // null: refused
  std::uint64_t scratch_bytes() const { return scratch_bytes_; }
  const std::string& refusal() const { return refusal_; }

 private:
  Kernel kernel_;
  std::uint64_t scratch_bytes_ = 0;
  std::string refusal_;
};

class InterpreterPlugin : public HostPlugin {
 public:
  // The one device. Ops with a value of a dtype that storage_dtypes lacks are refused before find() is asked.
  virtual thrt_device_info describe() const = 0;

  // Asked for every op that needs a kernel, those of a repeat's body included. The answer depends on the op alone: it is
  // asked again when the program is compiled.
  virtual KernelChoice find(const OpView& op) const = 0;

  inline std::vector<thrt_device_info> devices() final;
  inline std::unique_ptr<HostDevice> open_device(const thrt_context_options& options) final;
};

// A description of the host's processor, used by one thread: its memory, f32 precision, these dtypes. Change what is
// different.
inline thrt_device_info describe_processor(std::string_view name, std::initializer_list<ir::DType> dtypes);

}  // namespace thrt::sdk

#include <thrt/sdk/interpreter_impl.hpp>
