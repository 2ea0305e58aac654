// The one list of a run's settings. Command-line options, config.toml, range checks and their messages all come from
// it: a new setting is a member of RunConfig and one line in fields.cpp, or a member of an algorithm's configuration and
// one line in that algorithm's list.
#pragma once

#include <thrt/error.hpp>
#include <thrt/rl/train/run_config.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace thrt::rl {

// Where a setting lies in a RunConfig.
using FieldPointer =
    std::variant<std::int64_t*, std::uint64_t*, double*, bool*, std::string*, std::vector<std::int64_t>*>;

struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool above_low = false;  // low itself is not allowed

  bool contains(double value) const { return (above_low ? value > low : value >= low) && value <= high; }
};

struct Field {
  std::string_view section;  // table of config.toml; "": the top level
  std::string_view name;     // as config.toml spells it; as an option with dashes
  std::string_view help;
  FieldPointer (*pointer)(RunConfig&);
  Range range = {};                                 // of a number, or of each number in a list
  std::vector<std::string> (*choices)() = nullptr;  // of a text
  std::string_view zero_word = {};                  // how 0 is written; the number itself is refused then
  std::string_view infinity_word = {};              // how infinity is written, which a number cannot say
  bool bytes = false;                               // written with a unit: 8GiB
  bool positional = false;                          // an argument of `thrust train`, not an option
};

std::span<const Field> run_fields();

std::string option_name(const Field& field);  // "--num-envs"
// What the setting may be: "a whole number of 1 or more", "one of tanh, relu".
std::string expectation(const Field& field);
// The value as set_field() takes it: "64,64", "8GiB", "true".
std::string field_text(const Field& field, const RunConfig& config);
// `where` precedes the message ("run.toml:3: "), `label` names the setting as the user wrote it. Throws Error when
// `text` is not what the field expects; `config` is as it was then.
void set_field(const Field& field, RunConfig& config, std::string_view text, std::string_view where,
               std::string_view label);
// Whether the value lies in the range or among the choices.
bool field_holds(const Field& field, const RunConfig& config);
// The Error for a value that it does not take.
Error bad_field(const Field& field, std::string_view value, std::string_view where, std::string_view label);

// A whole number, in digits or as in 1e6. Nothing for anything else.
std::optional<std::int64_t> parse_whole_number(std::string_view text);
// A finite number.
std::optional<double> parse_number(std::string_view text);
// A size with its unit: 512MiB, 1.5GiB, 8GB. Nothing for anything else and for less than a byte.
std::optional<std::uint64_t> parse_bytes(std::string_view text);
std::string bytes_text(std::uint64_t bytes);  // with the largest binary unit that leaves a whole number

}  // namespace thrt::rl
