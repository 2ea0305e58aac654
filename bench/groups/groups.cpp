#include <thrt/bench/groups.hpp>

#include "group_files.hpp"

#include <fmt/format.h>

namespace thrt::bench {

std::vector<Group> groups() {
  std::vector<Group> all;
  add_a2c_groups(all);
  add_ppo_groups(all);
  add_off_policy_groups(all);
  add_nature_dqn_groups(all);
  add_env_groups(all);
  return all;
}

std::string benchmark_id(const Group& group, const std::string& target) {
  return fmt::format("{}/{}/b{}", group.name, target, group.batch);
}

}  // namespace thrt::bench
