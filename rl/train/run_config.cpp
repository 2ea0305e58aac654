#include <thrt/rl/train/run_config.hpp>

#include <thrt/error.hpp>
#include <thrt/rl/train/fields.hpp>

#include "rl/algo/algorithm.hpp"

#include <algorithm>
#include <cmath>

namespace thrt::rl {

RunConfig default_config(std::string_view algorithm, std::string_view environment) {
  RunConfig config;
  config.algorithm = algorithm;
  config.environment = environment;
  for (const Algorithm& known : algorithms()) {
    if (known.name == algorithm) known.set_defaults(config, environment);
  }
  return config;
}

std::int64_t evaluation_interval(const RunConfig& config) {
  if (config.eval_every > 0) return config.eval_every;
  return std::isfinite(config.stop_at) ? std::max<std::int64_t>(config.total_timesteps / 50, 1) : 0;
}

void validate(const RunConfig& config) {
  for (const Field& field : run_fields()) {
    if (!field_holds(field, config)) throw bad_field(field, field_text(field, config), "", field.name);
  }
  algorithm_of(config).validate(config);
}

}  // namespace thrt::rl
