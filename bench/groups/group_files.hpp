// What each file of this folder adds to the list.
#pragma once

#include <thrt/bench/groups.hpp>

#include <vector>

namespace thrt::bench {

void add_a2c_groups(std::vector<Group>& groups);
void add_ppo_groups(std::vector<Group>& groups);
void add_off_policy_groups(std::vector<Group>& groups);  // DQN and SAC
void add_nature_dqn_groups(std::vector<Group>& groups);
void add_env_groups(std::vector<Group>& groups);

}  // namespace thrt::bench
