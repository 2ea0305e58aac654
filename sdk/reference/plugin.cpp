// The reference backend: one device, the host's processor, one thread, no fusion. Slow, and right.
#include "kernel.hpp"

namespace thrt::reference {
namespace {

Kernel find_kernel(OpKind kind) {
  switch (kind) {
#define THRT_OP(ID, ...)                           \
  case OpKind::ID:                                 \
    if constexpr (sdk::needs_kernel(OpKind::ID)) { \
      return &kernel<OpKind::ID>;                  \
    } else {                                       \
      return nullptr;                              \
    }
#include <thrt/ops.def>
#undef THRT_OP
  }
  return nullptr;
}

// What a kernel needs while it runs.
std::uint64_t scratch_bytes(const sdk::OpView& op) {
  switch (op.kind()) {
    case OpKind::SCATTER_ADD:  // a wide sum per element
      return static_cast<std::uint64_t>(op.result_type().elements()) * sizeof(double);
    case OpKind::ARGSORT: {  // a row of indices, twice
      const std::int64_t length = op.result_type().shape[static_cast<int>(op.attribute(0))];
      return static_cast<std::uint64_t>(length) * 2 * sizeof(std::int32_t);
    }
    default:
      return 0;
  }
}

class Plugin final : public sdk::InterpreterPlugin {
 public:
  explicit Plugin(const sdk::PluginOptions&) {}

  thrt_device_info describe() const override {
    thrt_device_info info = sdk::describe_processor("reference interpreter", {});
    for (const DType dtype : ir::kAllDTypes) info.storage_dtypes |= ir::dtype_bit(dtype);
    sdk::set_text(info.driver, "plain loops in f64");
    return info;
  }

  // Everything that is well formed.
  sdk::KernelChoice find(const sdk::OpView& op) const override { return {find_kernel(op.kind()), scratch_bytes(op)}; }
};

}  // namespace
}  // namespace thrt::reference

THRT_BACKEND(thrt::reference::Plugin, "reference", "0.1.0", "Thrust RL",
             "Every op in plain loops, computed in f64: what other backends are compared with");
