// The processor as a device, and what it refuses.
#pragma once

#include "step.hpp"
#include "team.hpp"

#include <thrt/sdk/host_memory.hpp>

#include <memory>
#include <optional>
#include <string>

namespace thrt::cpu {

thrt_device_info describe_processor();

class Device : public sdk::HostDevice {
 public:
  explicit Device(const thrt_context_options& options);

  std::optional<std::string> refuse(const sdk::OpView& op) const override;
  std::unique_ptr<sdk::HostExecutable> compile(const sdk::ProgramView& program, std::uint32_t flags) override;

 private:
  const Kernels* kernels_;
  std::uint32_t precision_;
  std::shared_ptr<Team> team_;
};

}  // namespace thrt::cpu
