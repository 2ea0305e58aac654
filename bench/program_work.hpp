// Programs on synthetic data.
#pragma once

#include <thrt/bench/groups.hpp>
#include <thrt/graph/graph.hpp>
#include <thrt/runtime/buffer_set.hpp>

#include <functional>
#include <string>

namespace thrt::bench {

struct SyntheticData {
  double learning_rate = 1e-3;
  std::int64_t actions = 2;  // what i32 "actions" are drawn from
  // For slots that want something of their own; called last.
  std::function<void(BufferSet&)> fill = {};
};

// The program compiled and bound to buffers of its own. Its inputs are filled by their names: "learning_rate", "clip"
// 0.2, "log_probs" those of a fair coin, "terminated" 0, i32 from 0 to actions - 1, all else normal. `expected`: the
// elements of its state under the scope `weights`; throws Error when that is another number, for then it is not the
// work that was meant.
Work program_work(const Context& context, const Graph& graph, const SyntheticData& data, const std::string& weights,
                  std::int64_t expected);
// The group whose work that is; `group` has all but `make`.
Group program_group(Group group, const SyntheticData& data, const std::string& weights, std::int64_t expected);
std::int64_t parameter_count(const Graph& graph, const std::string& weights);

}  // namespace thrt::bench
