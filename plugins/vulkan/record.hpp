// A schedule as command buffers, one for each segment, recorded once.
#pragma once

#include "compile.hpp"

#include <functional>
#include <span>
#include <vector>

namespace thrt_vulkan {

// How a kernel's work-groups are dispatched: emit::glsl's kernels read a flat index, and those of the last row that are too many return.
struct Grid {
  std::uint32_t columns, rows;
};
// row: maxComputeWorkGroupCount[0], which drivers set to 2^32 - 1, too.
constexpr Grid grid_of(std::uint32_t groups, std::uint32_t row) {
  if (groups <= row) return {groups, 1};
  return {row, groups / row + (groups % row != 0 ? 1 : 0)};
}

class Recording {
 public:
  // sets: by launch of the schedule; region: where a place lies. Both are needed here alone.
  Recording(Device& device, const Executable& executable, std::span<const VkDescriptorSet> sets,
            const std::function<Region(const Place&)>& region);
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording();  // none of them is queued any more

  VkCommandBuffer segment(std::uint32_t index) const { return buffers_[index]; }

 private:
  void record(const Executable& executable, const Schedule::Segment& segment, VkCommandBuffer commands,
              std::span<const VkDescriptorSet> sets, const std::function<Region(const Place&)>& region);

  Device& device_;
  VkCommandPool pool_ = nullptr;  // the buffers go with it
  std::vector<VkCommandBuffer> buffers_;
};

}  // namespace thrt_vulkan
