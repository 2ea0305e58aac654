#include "binding.hpp"

#include <thrt/sdk/host_memory.hpp>

#include <algorithm>

namespace thrt_vulkan {

using namespace thrt;

Binding::Binding(Device& device, const Executable& executable, std::span<const sdk::SlotRegion> slots)
    : device_(device),
      executable_(executable),
      workspace_(device, executable.workspace_bytes(), sdk::kPlanAlignment, THRT_MEMORY_DEVICE, "workspace") {
  for (const sdk::SlotRegion& slot : slots) {
    slots_.push_back(static_cast<const Buffer&>(*slot.buffer).region(slot.offset, slot.bytes));
  }
  try {
    write_sets();
    recording_.emplace(device, executable, sets_, [this](const Place& place) { return region(place); });
    if (!executable.op_by_op()) list(executable.schedule().nodes);
  } catch (...) {
    device_.vk().vkDestroyDescriptorPool(device_.handle(), pool_, nullptr);
    throw;
  }
}

Binding::~Binding() {
  device_.stream().finish();
  recording_.reset();
  device_.vk().vkDestroyDescriptorPool(device_.handle(), pool_, nullptr);
}

Region Binding::region(const Place& place) const {
  if (place.space == Place::kConstants) return executable_.constants().region(place.offset, place.bytes);
  if (place.space == Place::kWorkspace) return workspace_.region(place.offset, place.bytes);
  Region region = slots_[place.space - Place::kFirstSlot];
  region.offset += place.offset;
  region.bytes = place.bytes;
  if (region.host != nullptr) region.host += place.offset;
  return region;
}

void Binding::write_sets() {
  const DeviceTable& vk = device_.vk();
  const std::vector<Schedule::Launch>& launches = executable_.schedule().launches;
  if (launches.empty()) return;
  std::size_t arguments = 0;
  std::vector<VkDescriptorSetLayout> layouts;
  for (const Schedule::Launch& launch : launches) {
    arguments += launch.arguments.size();
    layouts.push_back(executable_.pipeline(launch.kernel).set_layout());
  }
  VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                            static_cast<std::uint32_t>(std::max<std::size_t>(arguments, 1))};
  VkDescriptorPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  pool.maxSets = static_cast<std::uint32_t>(launches.size());
  pool.poolSizeCount = 1;
  pool.pPoolSizes = &size;
  THRT_VK(vk, vkCreateDescriptorPool, device_.handle(), &pool, nullptr, &pool_);
  sets_.resize(launches.size());
  VkDescriptorSetAllocateInfo allocate{};
  allocate.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  allocate.descriptorPool = pool_;
  allocate.descriptorSetCount = pool.maxSets;
  allocate.pSetLayouts = layouts.data();
  THRT_VK(vk, vkAllocateDescriptorSets, device_.handle(), &allocate, sets_.data());

  const Region nothing = executable_.constants().region(0, sdk::kPlanAlignment);  // for values without elements
  std::vector<VkDescriptorBufferInfo> infos;
  infos.reserve(arguments);  // the writes point into it
  std::vector<VkWriteDescriptorSet> writes;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    if (launches[i].arguments.empty()) continue;
    VkWriteDescriptorSet& write = writes.emplace_back();
    write = {};
    write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    write.dstSet = sets_[i];
    write.descriptorCount = static_cast<std::uint32_t>(launches[i].arguments.size());  // bindings 0, 1, ...
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = infos.data() + infos.size();
    for (const Place& place : launches[i].arguments) {
      const Region bytes = place.bytes > 0 ? region(place) : nothing;
      infos.push_back({bytes.buffer, bytes.offset, bytes.bytes});
    }
  }
  vk.vkUpdateDescriptorSets(device_.handle(), static_cast<std::uint32_t>(writes.size()), writes.data(), 0, nullptr);
}

void Binding::list(const std::vector<Schedule::Node>& nodes) {
  for (const Schedule::Node& node : nodes) {
    if (node.segment != UINT32_MAX) {
      order_.push_back(recording_->segment(node.segment));
      continue;
    }
    const std::size_t first = order_.size();
    list(node.body);
    const std::vector<VkCommandBuffer> once(order_.begin() + static_cast<std::ptrdiff_t>(first), order_.end());
    for (std::int64_t i = 1; i < node.trips; ++i) order_.insert(order_.end(), once.begin(), once.end());
  }
}

thrt_ticket Binding::enqueue(std::uint32_t repeat) {
  if (!executable_.op_by_op()) return device_.stream().run(order_, repeat);
  thrt_ticket ticket = 0;
  try {
    for (std::uint32_t i = 0; i < repeat; ++i) ticket = run_op_by_op(executable_.schedule().nodes);
  } catch (const sdk::Error& e) {
    if (e.status() != THRT_NON_FINITE) throw;
    ticket = device_.stream().last();
    device_.stream().fail(ticket, std::current_exception());
  }
  return ticket;
}

thrt_ticket Binding::run_op_by_op(const std::vector<Schedule::Node>& nodes) {
  thrt_ticket ticket = device_.stream().last();
  for (const Schedule::Node& node : nodes) {
    if (node.segment == UINT32_MAX) {
      for (std::int64_t i = 0; i < node.trips; ++i) ticket = run_op_by_op(node.body);
      continue;
    }
    const VkCommandBuffer commands = recording_->segment(node.segment);
    ticket = device_.stream().run({&commands, 1}, 1);
    device_.stream().wait(ticket, UINT64_MAX);
    if (!executable_.check_finite()) continue;
    for (const Schedule::Checked& checked : node.results) require_finite(checked);
  }
  return ticket;
}

void Binding::require_finite(const Schedule::Checked& checked) {
  const auto& result = *static_cast<const Program::Result*>(checked.result);
  if (!ir::is_float(result.type.dtype)) return;
  std::vector<std::byte> data(result.type.bytes());
  device_.stream().read(region(checked.place), data);
  sdk::require_finite(result.type, data.data(), result.flat_index, result.op, result.value);
}

}  // namespace thrt_vulkan
