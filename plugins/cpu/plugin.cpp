// The cpu backend: programs on the host's own processor.
#include "device.hpp"
#include "precision.hpp"

namespace thrt::cpu {

class CpuPlugin : public sdk::HostPlugin {
 public:
  explicit CpuPlugin(const sdk::PluginOptions&) {}

  std::vector<thrt_device_info> devices() override { return {describe_processor()}; }
  std::unique_ptr<sdk::HostDevice> open_device(const thrt_context_options& options) override {
    return std::make_unique<Device>(options);
  }
  std::string why_no_precision(std::uint32_t precision) override {
    return refuse_precision(precision, best_kernels()).value_or("");
  }
};

}  // namespace thrt::cpu

THRT_BACKEND(thrt::cpu::CpuPlugin, "cpu", "0.1.0", "Thrust RL",
             "the host's processor: vectorised kernels, f32, and bf16 where the processor has it");
