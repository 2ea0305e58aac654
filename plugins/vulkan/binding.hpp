// An executable with its buffers: workspace, descriptor sets and command buffers, all made once.
#pragma once

#include "record.hpp"

#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace thrt_vulkan {

class Binding final : public thrt::sdk::Binding {
 public:
  Binding(Device& device, const Executable& executable, std::span<const thrt::sdk::SlotRegion> slots);
  ~Binding() override;  // waits for queued runs

  // Queues `repeat` runs. A program compiled with THRT_COMPILE_DEBUG is run op by op, waiting for each; wait() reports NON_FINITE.
  thrt_ticket enqueue(std::uint32_t repeat);

 private:
  void write_sets();
  Region region(const Place& place) const;
  void list(const std::vector<Schedule::Node>& nodes);
  thrt_ticket run_op_by_op(const std::vector<Schedule::Node>& nodes);
  void require_finite(const Schedule::Checked& checked);

  Device& device_;
  const Executable& executable_;
  std::vector<Region> slots_;
  Memory workspace_;
  VkDescriptorPool pool_ = nullptr;
  std::vector<VkDescriptorSet> sets_;  // by launch of the schedule
  std::optional<Recording> recording_;
  std::vector<VkCommandBuffer> order_;  // the segments of a run as they are submitted
};

}  // namespace thrt_vulkan
