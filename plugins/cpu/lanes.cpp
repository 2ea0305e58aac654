#include "lanes.hpp"

#include <utility>

namespace thrt::cpu {

Lanes::Lanes(const Schedule& schedule, const std::vector<std::vector<const Task*>>& tasks) {
  for (std::size_t i = 0; i < schedule.lanes.size(); ++i) lanes_.push_back(std::make_unique<Lane>());
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = *lanes_[i];
    lane.stride = static_cast<std::uint32_t>(schedule.lanes[i].size()) + 1;
    for (std::size_t other = 0; other < lanes_.size(); ++other) {
      if (other != i) lane.others.push_back(lanes_[other].get());
    }
    for (std::size_t k = 0; k < schedule.lanes[i].size(); ++k) {
      const Item& item = schedule.lanes[i][k];
      const std::vector<const Task*>& own = tasks[item.unit];
      Entry entry{own.size() == 1 ? own[0] : own[i], item.unit, static_cast<std::uint32_t>(lane.conditions.size()), 0,
                  item.awaited ? static_cast<std::uint32_t>(k) + 1 : 0};
      for (const Wait& wait : item.waits) lane.conditions.push_back({lanes_[wait.lane].get(), wait.count});
      entry.last_condition = static_cast<std::uint32_t>(lane.conditions.size());
      lane.entries.push_back(entry);
    }
  }
}

void Lanes::run_pass(int index) noexcept {
  Lane& lane = *lanes_[static_cast<std::size_t>(index)];
  const std::uint32_t pass = lane.passes;
  for (const Entry& entry : lane.entries) {
    for (std::uint32_t i = entry.first_condition; i < entry.last_condition; ++i) {
      const Condition& condition = lane.conditions[i];
      condition.lane->progress.wait_for(pass * condition.lane->stride + condition.count);
    }
    if (entry.task != nullptr) {
      try {
        (*entry.task)();
      } catch (...) {
        if (lane.failure == nullptr) {
          lane.failure = std::current_exception();
          lane.failed_unit = entry.unit;
        }
      }
    }
    if (entry.mark != 0) lane.progress.advance_to(pass * lane.stride + entry.mark);
  }
  skip_pass(index);
}

void Lanes::skip_pass(int index) noexcept {
  Lane& lane = *lanes_[static_cast<std::size_t>(index)];
  ++lane.passes;
  lane.progress.advance_to(lane.passes * lane.stride);
}

void Lanes::wait_for_others(int index) noexcept {
  const Lane& lane = *lanes_[static_cast<std::size_t>(index)];
  for (Lane* other : lane.others) other->progress.wait_for(lane.passes * other->stride);
}

std::exception_ptr Lanes::take_failure(int lane) noexcept {
  return std::exchange(lanes_[static_cast<std::size_t>(lane)]->failure, nullptr);
}

std::exception_ptr Lanes::take_first_failure() noexcept {
  Lane* first = nullptr;
  for (const auto& lane : lanes_) {
    if (lane->failure != nullptr && (first == nullptr || lane->failed_unit < first->failed_unit)) first = lane.get();
  }
  if (first == nullptr) return nullptr;
  const std::exception_ptr failure = first->failure;
  for (const auto& lane : lanes_) lane->failure = nullptr;
  return failure;
}

void run_together(Lanes& lanes, Team& team) {
  team.start({[](void* self, int lane) noexcept { static_cast<Lanes*>(self)->run_pass(lane); }, &lanes}, lanes.count());
  lanes.run_pass(0);
  team.wait_until_done(lanes.count());
  if (const std::exception_ptr failure = lanes.take_first_failure()) std::rethrow_exception(failure);
}

}  // namespace thrt::cpu
