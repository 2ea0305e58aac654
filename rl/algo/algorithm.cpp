#include "rl/algo/algorithm.hpp"

#include <thrt/error.hpp>
#include <thrt/nearest_name.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace thrt::rl {

std::span<const Algorithm> algorithms() {
  static const std::array kAlgorithms = {ppo_algorithm(), a2c_algorithm(), dqn_algorithm(), sac_algorithm()};
  return kAlgorithms;
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : algorithms()) names.emplace_back(algorithm.name);
  return names;
}

const Algorithm& algorithm_of(const RunConfig& config) {
  const auto all = algorithms();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Algorithm& a) { return a.name == config.algorithm; });
  if (found != all.end()) return *found;
  const std::vector<std::string> names = algorithm_names();
  const std::string nearest = nearest_name(config.algorithm, names);
  throw Error(fmt::format("unknown algorithm '{}'", config.algorithm),
              fmt::format("algorithms: {}", fmt::join(names, ", ")),
              nearest.empty() ? std::string("choose one of them") : fmt::format("the nearest is '{}'", nearest));
}

std::unique_ptr<Learner> make_learner(const Context& context, const RunConfig& config) {
  return algorithm_of(config).make_learner(context, config);
}

std::int64_t steps_per_iteration(const RunConfig& config) {
  return algorithm_of(config).steps_per_iteration(config);
}

}  // namespace thrt::rl
