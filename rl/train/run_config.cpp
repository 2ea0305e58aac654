#include <thrt/rl/train/run_config.hpp>

#include <thrt/rl/train/fields.hpp>

namespace thrt::rl {

std::vector<std::string> algorithm_names() {
  return {"ppo"};
}

RunConfig default_config(std::string_view algorithm, std::string_view environment) {
  RunConfig config;
  config.algorithm = algorithm;
  config.environment = environment;
  config.ppo = ppo_defaults(environment);
  return config;
}

void validate(const RunConfig& config) {
  for (const Field& field : run_fields()) {
    if (!field_holds(field, config)) throw bad_field(field, field_text(field, config), "", field.name);
  }
  validate(config.ppo);
}

}  // namespace thrt::rl
