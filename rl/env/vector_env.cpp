#include "thrt/rl/env/vector_env.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "rl/env/batch_env.hpp"
#include "rl/env/cartpole_batch.hpp"
#include "rl/env/pendulum_batch.hpp"
#include "thrt/error.hpp"
#include "thrt/nearest_name.hpp"

namespace thrt::rl {
namespace {

struct Entry {
  std::string_view id;
  std::unique_ptr<VectorEnv> (*make)(std::size_t num_envs);
};

template <class Dynamics>
constexpr Entry entry() {
  return {Dynamics::kId,
          [](std::size_t n) -> std::unique_ptr<VectorEnv> { return std::make_unique<BatchEnv<Dynamics>>(n); }};
}

// Every environment, sorted by id.
constexpr std::array kEntries{entry<CartPoleBatch>(), entry<PendulumBatch>()};

Error unknown_env(std::string_view id) {
  const std::vector<std::string> known = vector_env_ids();
  const std::string nearest = nearest_name(id, known);
  return Error(fmt::format("unknown environment '{}'", id),
               fmt::format("known environments: {}", fmt::join(known, ", ")),
               nearest.empty() ? std::string("choose one of them") : fmt::format("the nearest is '{}'", nearest));
}

}  // namespace

std::size_t BoxSpace::size() const {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, [](std::size_t product, std::int64_t side) {
    return product * static_cast<std::size_t>(side);
  });
}

void StepResult::resize(std::size_t num_envs, std::size_t observation_size) {
  observations.resize(num_envs * observation_size);
  rewards.resize(num_envs);
  terminated.resize(num_envs);
  truncated.resize(num_envs);
  final_observations.resize(num_envs * observation_size);
}

std::vector<std::string> vector_env_ids() {
  std::vector<std::string> ids;
  ids.reserve(std::size(kEntries));
  for (const Entry& known : kEntries) ids.emplace_back(known.id);
  return ids;
}

std::unique_ptr<VectorEnv> make_vector_env(std::string_view id, std::int64_t num_envs) {
  const auto known = std::find_if(kEntries.begin(), kEntries.end(), [id](const Entry& e) { return e.id == id; });
  if (known == kEntries.end()) throw unknown_env(id);
  if (num_envs < 1) {
    throw Error(fmt::format("the number of environments is {}", num_envs), "at least one is needed",
                "set --num-envs to 1 or more");
  }
  return known->make(static_cast<std::size_t>(num_envs));
}

}  // namespace thrt::rl
