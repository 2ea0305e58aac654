#include "record.hpp"

namespace thrt_vulkan {

Recording::Recording(Device& device, const Executable& executable, std::span<const VkDescriptorSet> sets,
                     const std::function<Region(const Place&)>& region)
    : device_(device) {
  const DeviceTable& vk = device.vk();
  VkCommandPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool.queueFamilyIndex = device.queue_family();
  THRT_VK(vk, vkCreateCommandPool, device.handle(), &pool, nullptr, &pool_);
  try {
    const std::vector<Schedule::Segment>& segments = executable.schedule().segments;
    buffers_.resize(segments.size());
    if (segments.empty()) return;
    VkCommandBufferAllocateInfo allocate{};
    allocate.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    allocate.commandPool = pool_;
    allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    allocate.commandBufferCount = static_cast<std::uint32_t>(buffers_.size());
    THRT_VK(vk, vkAllocateCommandBuffers, device.handle(), &allocate, buffers_.data());
    for (std::size_t i = 0; i < segments.size(); ++i) record(executable, segments[i], buffers_[i], sets, region);
  } catch (...) {
    vk.vkDestroyCommandPool(device.handle(), pool_, nullptr);
    throw;
  }
}

Recording::~Recording() {
  device_.vk().vkDestroyCommandPool(device_.handle(), pool_, nullptr);
}

void Recording::record(const Executable& executable, const Schedule::Segment& segment, VkCommandBuffer commands,
                       std::span<const VkDescriptorSet> sets, const std::function<Region(const Place&)>& region) {
  const DeviceTable& vk = device_.vk();
  const Schedule& schedule = executable.schedule();
  const std::uint32_t row = device_.limits().maxComputeWorkGroupCount[0];
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  begin.flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;  // queued again before it has ended
  THRT_VK(vk, vkBeginCommandBuffer, commands, &begin);
  device_.begin_barrier(commands);
  std::uint32_t level = 0;
  bool copies = false;  // in this level
  VkPipeline bound = nullptr;
  const auto level_has_copies = [&](std::size_t i) {  // the level that begins with command i
    for (; i < segment.last && schedule.commands[i].level == level; ++i) {
      if (schedule.commands[i].kind != Schedule::Command::Kind::kLaunch) return true;
    }
    return false;
  };
  for (std::size_t i = segment.first; i < segment.last; ++i) {
    const Schedule::Command& command = schedule.commands[i];
    if (i == segment.first) {
      copies = level_has_copies(i);
    } else if (command.level != level) {
      level = command.level;
      const bool copied = copies;
      copies = level_has_copies(i);
      // A barrier between kernels alone orders no copies: there is a full one on both sides of each.
      if (copied || copies) {
        device_.barrier(commands);
      } else {
        device_.compute_barrier(commands);
      }
    }
    switch (command.kind) {
      case Schedule::Command::Kind::kLaunch: {
        const Schedule::Launch& launch = schedule.launches[command.index];
        const Pipeline& pipeline = executable.pipeline(launch.kernel);
        if (bound != pipeline.handle()) {
          bound = pipeline.handle();
          vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, bound);
        }
        vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout(), 0, 1,
                                   &sets[command.index], 0, nullptr);
        const Grid grid = grid_of(launch.groups, row);
        vk.vkCmdDispatch(commands, grid.columns, grid.rows, 1);
        break;
      }
      case Schedule::Command::Kind::kCopy: {
        const Schedule::Copy& copy = schedule.copies[command.index];
        const Region from = region(copy.from), to = region(copy.to);
        const VkBufferCopy range{from.offset, to.offset, copy.from.bytes};
        vk.vkCmdCopyBuffer(commands, from.buffer, to.buffer, 1, &range);
        break;
      }
      case Schedule::Command::Kind::kZero: {
        const Region to = region(schedule.zeros[command.index]);
        vk.vkCmdFillBuffer(commands, to.buffer, to.offset, to.bytes, 0);
        break;
      }
    }
  }
  device_.end_barrier(commands);
  THRT_VK(vk, vkEndCommandBuffer, commands);
}

}  // namespace thrt_vulkan
