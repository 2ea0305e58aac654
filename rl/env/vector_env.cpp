#include "thrt/rl/env/vector_env.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "rl/env/batch_env.hpp"
#include "rl/env/cartpole_batch.hpp"
#include "thrt/error.hpp"

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
constexpr std::array kEntries{entry<CartPoleBatch>()};

// Levenshtein distance: insertions, deletions and substitutions that turn one into the other.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t substituted = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

Error unknown_env(std::string_view id) {
  const auto nearest = std::min_element(kEntries.begin(), kEntries.end(), [id](const Entry& a, const Entry& b) {
    return edit_distance(id, a.id) < edit_distance(id, b.id);
  });
  return Error(fmt::format("unknown environment '{}'", id),
               fmt::format("known environments: {}", fmt::join(vector_env_ids(), ", ")),
               fmt::format("the nearest is '{}'", nearest->id));
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
