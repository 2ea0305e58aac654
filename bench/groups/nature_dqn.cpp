// The convolution network of Mnih et al. 2015: inference and a gradient step, on frames that are on the device.
#include "group_files.hpp"
#include "program_work.hpp"

#include <thrt/rl/algo/nature_cnn.hpp>

#include <fmt/format.h>

namespace thrt::bench {
namespace {

void add(std::vector<Group>& groups, const char* kind, const rl::NatureCnn& net, std::int64_t parameters) {
  for (const std::int64_t batch : {std::int64_t{32}, std::int64_t{256}}) {
    groups.push_back(program_group({.name = fmt::format("nature_dqn_{}_forward", kind),
                                    .batch = batch,
                                    .description = fmt::format("Nature-CNN inference, {} frames of 4x84x84", batch),
                                    .mixed = true,
                                    .graph = [net, batch] { return rl::nature_forward_graph(net, batch); }},
                                   {}, "agent", parameters));
    groups.push_back(
        program_group({.name = fmt::format("nature_dqn_{}_train_step", kind),
                       .batch = batch,
                       .description = fmt::format("Nature-CNN forward, backward and Adam, {} frames", batch),
                       .mixed = true,
                       .graph = [net, batch] { return rl::nature_train_step_graph(net, batch); }},
                      {.learning_rate = 2.5e-4}, "agent", parameters));
  }
}

}  // namespace

void add_nature_dqn_groups(std::vector<Group>& groups) {
  add(groups, "policy", {.heads = rl::NatureHeads::kPolicy}, 1'693'875);
  add(groups, "qnet", {.heads = rl::NatureHeads::kQValues}, 1'693'362);
}

}  // namespace thrt::bench
