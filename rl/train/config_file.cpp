#include <thrt/rl/train/config_file.hpp>

#include <thrt/error.hpp>
#include <thrt/io/atomic_file.hpp>
#include <thrt/nearest_name.hpp>
#include <thrt/rl/train/fields.hpp>
#include <thrt/rl/train/versions.hpp>

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <type_traits>

namespace thrt::rl {
namespace {

constexpr std::string_view kVersions = "versions";

std::string toml_text(const toml::node& node) {
  std::ostringstream out;
  out << toml::toml_formatter(node, toml::toml_formatter::default_flags & ~toml::format_flags::allow_literal_strings);
  return out.str();
}

// A field's value as a TOML literal.
std::string literal(const Field& field, const RunConfig& config) {
  RunConfig copy = config;  // pointer() gives write access
  return std::visit(
      [&](auto* member) -> std::string {
        using T = std::remove_pointer_t<decltype(member)>;
        if constexpr (std::is_same_v<T, std::string>) {
          return toml_text(toml::value<std::string>(*member));
        } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
          return fmt::format("[{}]", fmt::join(*member, ", "));
        } else if constexpr (std::is_same_v<T, double>) {
          const std::string digits = fmt::format("{}", *member);  // the fewest that read back to the same double
          return digits.find_first_of(".e") == std::string::npos ? digits + ".0" : digits;
        } else if constexpr (std::is_same_v<T, bool>) {
          return fmt::format("{}", *member);
        } else {
          const bool word = field.bytes || (*member == T{0} && !field.zero_word.empty());
          return word ? fmt::format("\"{}\"", field_text(field, config)) : fmt::format("{}", *member);
        }
      },
      field.pointer(copy));
}

std::string read_text(const std::filesystem::path& file) {
  constexpr std::uintmax_t kLargest = 1 << 20;
  std::error_code failure;
  if (std::filesystem::is_directory(file, failure)) {
    throw Error(fmt::format("cannot read {}", file.string()), "it is a folder", "name the file in it: config.toml");
  }
  if (const auto size = std::filesystem::file_size(file, failure); !failure && size > kLargest) {
    throw Error(fmt::format("cannot read {}", file.string()),
                fmt::format("it has {} bytes; a configuration has at most {}", size, kLargest), "another file");
  }
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  if (in) text << in.rdbuf();
  if (!in) {
    throw Error(fmt::format("cannot read {}", file.string()), std::strerror(errno), "check the name of the file");
  }
  return text.str();
}

// Reads one parsed file into a configuration.
class ConfigReader {
 public:
  ConfigReader(std::string file, RunConfig& config) : file_(std::move(file)), config_(config) {}

  void read(const toml::table& root) {
    for (const auto& [key, node] : root) {
      const std::string_view name = key.str();
      if (name == kVersions) continue;
      if (!is_section(name)) {
        set("", key, node);
      } else if (const toml::table* section = node.as_table()) {
        for (const auto& [inner, value] : *section) set(name, inner, value);
      } else {
        throw Error(fmt::format("{}'{}' is {}, not a table", where(key.source()), name, toml_text(node)),
                    fmt::format("it holds the settings of {}", name), fmt::format("a line [{}] above them", name));
      }
    }
  }

 private:
  std::string where(const toml::source_region& source) const {
    return fmt::format("{}:{}: ", file_, source.begin.line);
  }

  static bool is_section(std::string_view name) {
    const auto fields = run_fields();
    return !name.empty() &&
           std::any_of(fields.begin(), fields.end(), [&](const Field& field) { return field.section == name; });
  }

  Error unknown_key(std::string_view section, const toml::key& key) const {
    std::vector<std::string> names;
    std::string elsewhere;
    for (const Field& field : run_fields()) {
      if (field.section == section) names.emplace_back(field.name);
      if (field.name == key.str() && field.section != section) {
        elsewhere = field.section.empty() ? "it belongs above the first table"
                                          : fmt::format("it belongs below [{}]", field.section);
      }
    }
    std::string next = std::move(elsewhere);
    if (next.empty()) {
      const std::string nearest = nearest_name(key.str(), names);
      next = nearest.empty() ? "remove it" : fmt::format("the nearest is '{}'", nearest);
    }
    return Error(
        fmt::format("{}unknown key '{}'", where(key.source()), key.str()),
        fmt::format("keys {}: {}", section.empty() ? "here" : fmt::format("of [{}]", section), fmt::join(names, ", ")),
        std::move(next));
  }

  void set(std::string_view section, const toml::key& key, const toml::node& node) {
    const auto fields = run_fields();
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&](const Field& f) { return f.section == section && f.name == key.str(); });
    if (field == fields.end()) throw unknown_key(section, key);
    // Words and sizes are strings; from there on the rules are those of the command line.
    const auto text = node.value<std::string>();
    const bool takes_text = !field->zero_word.empty() && text;
    if (takes_text) {
      set_field(*field, config_, *text, where(key.source()), field->name);
    } else if (!assign(*field, node) || !field_holds(*field, config_)) {
      throw bad_field(*field, text ? *text : toml_text(node), where(key.source()), field->name);
    }
  }

  // False when the node has another type than the field, or a value that only a word may stand for.
  bool assign(const Field& field, const toml::node& node) {
    return std::visit(
        [&](auto* member) -> bool {
          using T = std::remove_pointer_t<decltype(member)>;
          if constexpr (std::is_same_v<T, double>) {
            const bool number = node.is_number();
            if (number) *member = *node.value<double>();
            return number;
          } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
            const toml::array* array = node.as_array();
            if (array == nullptr) return false;
            member->clear();
            for (const toml::node& element : *array) {
              if (!element.is_integer()) return false;
              member->push_back(element.as_integer()->get());
            }
            return true;
          } else if constexpr (std::is_same_v<T, bool>) {
            if (const auto* value = node.as_boolean()) *member = value->get();
            return node.is_boolean();
          } else if constexpr (std::is_same_v<T, std::string>) {
            if (const auto* value = node.as_string()) *member = value->get();
            return node.is_string();
          } else {
            const auto* value = node.as_integer();
            if (value == nullptr || field.bytes) return false;
            if (value->get() == 0 && !field.zero_word.empty()) return false;
            if (std::is_unsigned_v<T> && value->get() < 0) return false;
            *member = static_cast<T>(value->get());
            return true;
          }
        },
        field.pointer(config_));
  }

  const std::string file_;
  RunConfig& config_;
};

}  // namespace

std::string to_toml(const RunConfig& config) {
  std::string text = "# The settings of this run. `thrust train --config THIS-FILE` starts another one like it.\n";
  std::string_view section;
  for (const Field& field : run_fields()) {
    if (field.section != section) text += fmt::format("\n[{}]\n", field.section);
    section = field.section;
    text += fmt::format("{} = {}  # {}\n", field.name, literal(field, config), field.help);
  }
  const Versions wrote = versions();
  text += fmt::format("\n[{}]\nthrust = \"{}\"\nabi = \"{}\"\nop_set = {}\n", kVersions, wrote.thrust, wrote.abi,
                      wrote.op_set);
  return text;
}

void apply_config_file(const std::filesystem::path& file, RunConfig& config) {
  apply_config_text(read_text(file), file.string(), config);
}

void apply_config_text(std::string_view text, const std::string& source, RunConfig& config) {
  RunConfig changed = config;
  try {
    ConfigReader(source, changed).read(toml::parse(text));
  } catch (const toml::parse_error& failure) {
    throw Error(fmt::format("{}:{}: not valid TOML", source, failure.source().begin.line),
                std::string(failure.description()),
                "lines are KEY = VALUE; the format is described at https://toml.io");
  }
  config = std::move(changed);
}

void write_config(const RunFolder& folder, const RunConfig& config) {
  io::write_file_atomically(folder.config_file(), to_toml(config));
}

RunConfig read_config(const RunFolder& folder) {
  RunConfig config;
  config.algorithm.clear();
  apply_config_file(folder.config_file(), config);
  for (const auto& [name, value] : {std::pair{"algorithm", &config.algorithm}, {"environment", &config.environment}}) {
    if (value->empty()) {
      throw Error(fmt::format("{} has no '{}'", folder.config_file().string(), name), "a run's own file names it",
                  "name the run's folder, or start a new run");
    }
  }
  return config;
}

}  // namespace thrt::rl
