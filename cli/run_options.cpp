#include "run_options.hpp"

#include <thrt/rl/env/vector_env.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

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

// "environments that run side by side; a whole number from 1 to 1048576 [4]"
std::string description(const rl::Field& field) {
  const std::string standard = rl::field_text(field, rl::RunConfig{});
  return fmt::format("{}; {}{}", field.help, rl::expectation(field),
                     field.positional ? "" : fmt::format(" [{}]", standard));
}

std::string off_name(const rl::Field& field) {
  return "--no-" + rl::option_name(field).substr(2);
}

}  // namespace

std::string RunOptions::Setting::value() const {
  if (!is_flag(*field)) return text;
  const bool on = off != nullptr && off->count() > 0 ? !off_flag : flag;
  return on ? "true" : "false";
}

std::string RunOptions::Setting::label() const {
  if (field->positional) return std::string(field->name);
  return off != nullptr && off->count() > 0 ? off_name(*field) : rl::option_name(*field);
}

RunOptions::RunOptions(CLI::App& app) {
  for (const rl::Field& field : rl::run_fields()) add(app, field);
}

void RunOptions::add(CLI::App& app, const rl::Field& field) {
  settings_.push_back(std::make_unique<Setting>());
  Setting& setting = *settings_.back();
  setting.field = &field;
  const std::string group = field.section.empty() ? "Run" : fmt::format("Hyper-parameters of {}", field.section);
  if (field.positional) {
    setting.option = app.add_option(field.name == "algorithm" ? "ALGO" : "ENV", setting.text, description(field));
    setting.option->type_name("");
  } else if (is_flag(field)) {
    setting.option = app.add_flag(
        rl::option_name(field), setting.flag,
        fmt::format("{} ({}: do not) [{}]", field.help, off_name(field), rl::field_text(field, rl::RunConfig{})));
    setting.option->group(group);
    setting.off = app.add_flag(off_name(field), setting.off_flag, "the opposite");
    setting.off->group("");  // not listed apart
  } else {
    setting.option = app.add_option(rl::option_name(field), setting.text, description(field));
    setting.option->type_name(value_name(field))->group(group);
  }
}

void RunOptions::apply(rl::RunConfig& config) const {
  for (const auto& setting : settings_) {
    if (setting->off != nullptr && setting->off->count() > 0 && setting->option->count() > 0) {
      throw Error(
          fmt::format("{} and {} exclude each other", rl::option_name(*setting->field), off_name(*setting->field)),
          "both were given", "leave one of them out");
    }
    if (setting->given()) rl::set_field(*setting->field, config, setting->value(), "", setting->label());
  }
}

std::string RunOptions::given(std::string_view name) const {
  for (const auto& setting : settings_) {
    if (setting->field->name == name && setting->given()) return setting->value();
  }
  return {};
}

void RunOptions::refuse_conflicts(const rl::RunConfig& run, const std::vector<std::string_view>& free) const {
  rl::RunConfig wanted = run;
  apply(wanted);
  for (const auto& setting : settings_) {
    if (!setting->given() || std::find(free.begin(), free.end(), setting->field->name) != free.end()) continue;
    const std::string ours = rl::field_text(*setting->field, wanted), theirs = rl::field_text(*setting->field, run);
    if (ours == theirs) continue;
    throw Error(fmt::format("{} {} conflicts with the run that is resumed", setting->label(), ours),
                fmt::format("the run has {} {}, and goes on with it", setting->field->name, theirs),
                fmt::format("leave {} out, or start a new run with --config", setting->label()));
  }
}

std::string tuned_defaults_text() {
  std::string text;
  const rl::RunConfig standard;
  for (const std::string& environment : rl::vector_env_ids()) {
    const rl::RunConfig tuned = rl::default_config("ppo", environment);
    std::vector<std::string> differences;
    for (const rl::Field& field : rl::run_fields()) {
      const std::string value = rl::field_text(field, tuned);
      if (field.positional || value == rl::field_text(field, standard)) continue;
      differences.push_back(is_flag(field) ? (value == "true" ? rl::option_name(field) : off_name(field))
                                           : fmt::format("{} {}", rl::option_name(field), value));
    }
    if (!differences.empty()) {
      text += fmt::format("Defaults for ppo {}:\n  {}\n", environment, fmt::join(differences, "\n  "));
    }
  }
  return text + "What an option says goes before --config, and that before these defaults.";
}

}  // namespace thrt::cli
