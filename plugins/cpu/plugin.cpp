// The cpu backend: f32 programs on the host's own processor.
#include "device.hpp"

namespace thrt::cpu {

class CpuPlugin : public sdk::HostPlugin {
 public:
  explicit CpuPlugin(const sdk::PluginOptions&) {}

  std::vector<thrt_device_info> devices() override { return {describe_processor()}; }
  std::unique_ptr<sdk::HostDevice> open_device(const thrt_context_options& options) override {
    return std::make_unique<Device>(options);
  }
};

}  // namespace thrt::cpu

THRT_BACKEND(thrt::cpu::CpuPlugin, "cpu", "0.1.0", "Thrust RL",
             "the host's processor: oneDNN and vectorised kernels, f32");
