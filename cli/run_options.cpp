#include "run_options.hpp"

#include <thrt/rl/env/vector_env.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace thrt::cli {
namespace {

bool is_flag(const rl::Field& field) {
  rl::RunConfig probe;
  return std::holds_alternative<bool*>(field.pointer(probe));
}

const char* value_name(const rl::Field& field) {
  if (field.bytes) return "SIZE";
  if (field.choices != nullptr) return "NAME";
  rl::RunConfig probe;
  return std::visit(
      [](auto* member) {
        using T = std::remove_pointer_t<decltype(member)>;
        if constexpr (std::is_same_v<T, std::string>) return "TEXT";
        if constexpr (std::is_same_v<T, double>) return "X";
        if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) return "N,N,..";
        return "N";
      },
      field.pointer(probe));
}

std::string off_name(const rl::Field& field) {
  return "--no-" + rl::option_name(field).substr(2);
}

// "environments that run side by side; a whole number from 1 to 1048576 [4]"
std::string description(const rl::Field& field) {
  const std::string standard = rl::field_text(field, rl::RunConfig{});
  if (field.positional) return fmt::format("{}; {}", field.help, rl::expectation(field));
  if (is_flag(field)) return fmt::format("{} ({}: do not) [{}]", field.help, off_name(field), standard);
  return fmt::format("{}; {} [{}]", field.help, rl::expectation(field), standard);
}

std::string algorithms_of(const std::vector<const rl::Field*>& fields) {
  std::vector<std::string_view> names;
  for (const rl::Field* field : fields) names.push_back(field->section);
  return fmt::format("{}", fmt::join(names, ", "));
}

// Which hyper-parameters have tuned values for which environment.
std::string tuned_defaults_text(const std::string& algorithm) {
  std::string text;
  const rl::RunConfig standard;
  for (const std::string& environment : rl::vector_env_ids()) {
    const rl::RunConfig tuned = rl::default_config(algorithm, environment);
    std::vector<std::string> differences;
    for (const rl::Field& field : rl::run_fields()) {
      const std::string value = rl::field_text(field, tuned);
      if (field.positional || value == rl::field_text(field, standard)) continue;
      differences.push_back(is_flag(field) ? (value == "true" ? rl::option_name(field) : off_name(field))
                                           : fmt::format("{} {}", rl::option_name(field), value));
    }
    if (!differences.empty()) {
      text += fmt::format("Defaults for {} {}:\n  {}\n", algorithm, environment, fmt::join(differences, "\n  "));
    }
  }
  return text;
}

}  // namespace

const rl::Field* RunOptions::Setting::field_of(std::string_view algorithm) const {
  for (const rl::Field* field : fields) {
    if (field->section.empty() || field->section == algorithm) return field;
  }
  return nullptr;
}

std::string RunOptions::Setting::value() const {
  if (!is_flag(*fields.front())) return text;
  const bool on = off != nullptr && off->count() > 0 ? !off_flag : flag;
  return on ? "true" : "false";
}

std::string RunOptions::Setting::label() const {
  const rl::Field& field = *fields.front();
  if (field.positional) return std::string(field.name);
  return off != nullptr && off->count() > 0 ? off_name(field) : rl::option_name(field);
}

RunOptions::RunOptions(CLI::App& app) {
  for (const rl::Field& field : rl::run_fields()) {
    const auto same = std::find_if(settings_.begin(), settings_.end(),
                                   [&](const auto& setting) { return setting->fields.front()->name == field.name; });
    if (same == settings_.end()) {
      add(app, field);
    } else {
      (*same)->fields.push_back(&field);
    }
  }
  app.formatter_fn([this](const CLI::App* command, std::string name, CLI::AppFormatMode mode) {
    const std::string algorithm = given("algorithm");
    const std::vector<std::string> known = rl::algorithm_names();
    const bool one = std::find(known.begin(), known.end(), algorithm) != known.end();
    describe(one ? algorithm : std::string());
    return CLI::Formatter().make_help(command, std::move(name), mode) +
           (one ? tuned_defaults_text(algorithm)
                : std::string("`thrust train ALGO --help` lists what ALGO takes, with its defaults.\n")) +
           "What an option says goes before --config, and that before these defaults.\n";
  });
}

void RunOptions::add(CLI::App& app, const rl::Field& field) {
  settings_.push_back(std::make_unique<Setting>());
  Setting& setting = *settings_.back();
  setting.fields = {&field};
  const std::string name = rl::option_name(field);
  if (field.positional) {
    setting.option = app.add_option(field.name == "algorithm" ? "ALGO" : "ENV", setting.text, description(field));
    setting.option->type_name("");
  } else if (is_flag(field)) {
    setting.option = app.add_flag(name, setting.flag, "");
    setting.off = app.add_flag(off_name(field), setting.off_flag, "the opposite");
    setting.off->group("");  // not listed apart
  } else {
    setting.option = app.add_option(name, setting.text, "");
    setting.option->type_name(value_name(field));
  }
}

// For one algorithm its own settings with their defaults, else all, with the algorithms that have them.
void RunOptions::describe(std::string_view algorithm) const {
  for (const auto& setting : settings_) {
    const rl::Field& first = *setting->fields.front();
    if (first.positional) continue;
    const rl::Field* field = setting->field_of(algorithm);
    if (first.section.empty()) {
      setting->option->description(description(first))->group("Run");
    } else if (algorithm.empty()) {
      const std::string off = is_flag(first) ? fmt::format(" ({}: do not)", off_name(first)) : std::string();
      setting->option->description(fmt::format("{}{} ({})", first.help, off, algorithms_of(setting->fields)))
          ->group("Hyper-parameters");
    } else if (field != nullptr) {
      setting->option->description(description(*field))->group(fmt::format("Hyper-parameters of {}", algorithm));
    } else {
      setting->option->group("");  // another algorithm's
    }
  }
}

void RunOptions::apply(rl::RunConfig& config) const {
  for (const auto& setting : settings_) {  // the algorithm is the first
    if (setting->off != nullptr && setting->off->count() > 0 && setting->option->count() > 0) {
      const rl::Field& field = *setting->fields.front();
      throw Error(fmt::format("{} and {} exclude each other", rl::option_name(field), off_name(field)),
                  "both were given", "leave one of them out");
    }
    if (!setting->given()) continue;
    if (const rl::Field* field = setting->field_of(config.algorithm)) {
      rl::set_field(*field, config, setting->value(), "", setting->label());
    } else if (!config.algorithm.empty()) {
      throw Error(fmt::format("{} has no setting {}", config.algorithm, setting->label()),
                  fmt::format("it is one of {}", algorithms_of(setting->fields)),
                  fmt::format("`thrust train {} --help` lists the settings of {}", config.algorithm, config.algorithm));
    }
  }
}

std::string RunOptions::given(std::string_view name) const {
  for (const auto& setting : settings_) {
    if (setting->fields.front()->name == name && setting->given()) return setting->value();
  }
  return {};
}

void RunOptions::refuse_conflicts(const rl::RunConfig& run, const std::vector<std::string_view>& free) const {
  rl::RunConfig wanted = run;
  apply(wanted);
  for (const auto& setting : settings_) {
    const rl::Field* field = setting->field_of(run.algorithm);
    if (!setting->given() || field == nullptr) continue;
    if (std::find(free.begin(), free.end(), field->name) != free.end()) continue;
    const std::string ours = rl::field_text(*field, wanted), theirs = rl::field_text(*field, run);
    if (ours == theirs) continue;
    throw Error(fmt::format("{} {} conflicts with the run that is resumed", setting->label(), ours),
                fmt::format("the run has {} {}, and goes on with it", field->name, theirs),
                fmt::format("leave {} out, or start a new run with --config", setting->label()));
  }
}

}  // namespace thrt::cli
