// A plugin of a later minor version (make_future_abi.py): it fills the fields that 1.0 does not know and does the op that 1.0
// does not have.
#include <thrt/sdk/interpreter.hpp>

namespace {

using namespace thrt::sdk;
using thrt::ir::DType, thrt::ir::OpKind;

template <typename F>
void map(const Call& call) {
  for (std::int64_t i = 0; i < call.out().count; ++i) {
    const float* y = elements<float>(call.in(call.operands.size() - 1));
    elements<float>(call.out())[i] = F{}(elements<float>(call.in(0))[i], y[i]);
  }
}
template <typename F>
Kernel each(F) {
  return &map<F>;
}

class FuturePlugin final : public InterpreterPlugin {
 public:
  explicit FuturePlugin(const PluginOptions&) {}
  thrt_device_info describe() const override {
    thrt_device_info info = describe_processor("a later processor", {DType::kF32});
    info.future_number = 11;
    info.future_more = 12;
    return info;
  }
  KernelChoice find(const OpView& op) const override {
    switch (op.kind()) {
      case OpKind::NEG:
        return each([](float x, float) { return -x; });
      case OpKind::ADD:
        return each([](float x, float y) { return x + y; });
      case OpKind::MUL:
        return each([](float x, float y) { return x * y; });
      case OpKind::CUBE:
        return each([](float x, float) { return x * x * x; });
      default:
        return nullptr;
    }
  }
};

}  // namespace

THRT_BACKEND(FuturePlugin, THRT_FUTURE_ID, "9.0.0", "Thrust RL's tests", "Built against a later ABI");
