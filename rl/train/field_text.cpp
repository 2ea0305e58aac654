// Settings as text: reading, writing, and saying what was expected.
#include <thrt/rl/train/fields.hpp>

#include <thrt/nearest_name.hpp>
#include <thrt/utf8.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>

namespace thrt::rl {
namespace {

constexpr std::size_t kMostLayers = 16;

template <typename Number>
std::optional<Number> parse_all(std::string_view text) {
  Number value{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Unit {
  std::string_view name;
  double bytes;
};

constexpr std::array<Unit, 9> kUnits = {{{"B", 1.0},
                                         {"KiB", 0x1p10},
                                         {"MiB", 0x1p20},
                                         {"GiB", 0x1p30},
                                         {"TiB", 0x1p40},
                                         {"KB", 1e3},
                                         {"MB", 1e6},
                                         {"GB", 1e9},
                                         {"TB", 1e12}}};

bool same_without_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::optional<std::vector<std::int64_t>> parse_list(std::string_view text) {
  std::vector<std::int64_t> values;
  while (true) {
    const std::size_t comma = text.find(',');
    const auto value = parse_whole_number(text.substr(0, comma));
    if (!value) return std::nullopt;
    values.push_back(*value);
    if (comma == std::string_view::npos) return values;
    text.remove_prefix(comma + 1);
  }
}

// A value for the member of type T, or nothing when the text is none.
template <typename T>
std::optional<T> parse_as(const Field& field, std::string_view text) {
  if constexpr (std::is_same_v<T, std::string>) {
    return is_utf8(text) ? std::optional(std::string(text)) : std::nullopt;  // config.toml must be
  } else if constexpr (std::is_same_v<T, bool>) {
    if (text == "true") return true;
    if (text == "false") return false;
    return std::nullopt;
  } else if constexpr (std::is_same_v<T, double>) {
    if (!field.infinity_word.empty() && text == field.infinity_word) return std::numeric_limits<double>::infinity();
    if (!field.zero_word.empty() && text == field.zero_word) return 0.0;
    const auto number = parse_number(text);
    return number == 0.0 && !field.zero_word.empty() ? std::nullopt : number;  // 0 has a word of its own
  } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
    return parse_list(text);
  } else {
    if (!field.zero_word.empty() && text == field.zero_word) return T{0};
    std::optional<T> value;
    if (field.bytes) {
      if (const auto bytes = parse_bytes(text)) value = static_cast<T>(*bytes);
    } else if (const auto number = parse_whole_number(text); number && (std::is_signed_v<T> || *number >= 0)) {
      value = static_cast<T>(*number);
    }
    if (value && *value == 0 && !field.zero_word.empty()) return std::nullopt;  // 0 has a word of its own
    return value;
  }
}

std::string range_text(const Range& range) {
  const bool low = std::isfinite(range.low), high = std::isfinite(range.high);
  if (low && high && range.high < 1e9) return fmt::format(" from {} to {}", range.low, range.high);
  if (low) return range.above_low ? fmt::format(" above {}", range.low) : fmt::format(" of {} or more", range.low);
  return {};
}

}  // namespace

std::optional<std::int64_t> parse_whole_number(std::string_view text) {
  if (const auto digits = parse_all<std::int64_t>(text)) return digits;
  const auto number = parse_number(text);
  const bool exact = number && std::trunc(*number) == *number && std::abs(*number) <= 0x1p53;
  return exact && text.find_first_of("eE") != std::string_view::npos ? std::optional(static_cast<std::int64_t>(*number))
                                                                     : std::nullopt;
}

std::optional<double> parse_number(std::string_view text) {
  const auto number = parse_all<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto amount = parse_number(text.substr(0, digits));
  if (!amount) return std::nullopt;
  for (const Unit& unit : kUnits) {
    if (!same_without_case(text.substr(digits), unit.name)) continue;
    const double bytes = std::floor(*amount * unit.bytes);
    return bytes >= 1.0 && bytes < 0x1p63 ? std::optional(static_cast<std::uint64_t>(bytes)) : std::nullopt;
  }
  return std::nullopt;
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 5> kNames = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (unit + 1 < kNames.size() && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{}{}", bytes, kNames[unit]);
}

std::string option_name(const Field& field) {
  std::string name = "--" + std::string(field.name);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string expectation(const Field& field) {
  if (field.choices != nullptr) return fmt::format("one of {}", fmt::join(field.choices(), ", "));
  RunConfig probe;
  const std::string kind = std::visit(
      [&](auto* member) -> std::string {
        using T = std::remove_pointer_t<decltype(member)>;
        if constexpr (std::is_same_v<T, std::string>) return "a text in UTF-8";
        if constexpr (std::is_same_v<T, bool>) return "true or false";
        if constexpr (std::is_same_v<T, double>) return "a number" + range_text(field.range);
        if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
          return fmt::format("1 to {} whole numbers{}, as in 64,64", kMostLayers, range_text(field.range));
        }
        return field.bytes ? "a size with its unit, as in 8GiB" : "a whole number" + range_text(field.range);
      },
      field.pointer(probe));
  const std::string_view word = field.zero_word.empty() ? field.infinity_word : field.zero_word;
  return word.empty() ? kind : fmt::format("{} or {}", kind, word);
}

std::string field_text(const Field& field, const RunConfig& config) {
  RunConfig copy = config;  // pointer() gives write access
  return std::visit(
      [&](auto* member) -> std::string {
        using T = std::remove_pointer_t<decltype(member)>;
        if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
          return fmt::format("{}", fmt::join(*member, ","));
        } else if constexpr (std::is_same_v<T, std::uint64_t> || std::is_same_v<T, std::int64_t>) {
          if (*member == 0 && !field.zero_word.empty()) return std::string(field.zero_word);
          return field.bytes ? bytes_text(static_cast<std::uint64_t>(*member)) : fmt::format("{}", *member);
        } else if constexpr (std::is_same_v<T, double>) {
          if (*member == 0.0 && !field.zero_word.empty()) return std::string(field.zero_word);
          return std::isinf(*member) && !field.infinity_word.empty() ? std::string(field.infinity_word)
                                                                     : fmt::format("{}", *member);
        } else {
          return fmt::format("{}", *member);
        }
      },
      field.pointer(copy));
}

bool field_holds(const Field& field, const RunConfig& config) {
  RunConfig copy = config;
  return std::visit(
      [&](auto* member) -> bool {
        using T = std::remove_pointer_t<decltype(member)>;
        if constexpr (std::is_same_v<T, std::string>) {
          if (field.choices == nullptr) return true;
          const std::vector<std::string> names = field.choices();
          return std::find(names.begin(), names.end(), *member) != names.end();
        } else if constexpr (std::is_same_v<T, bool>) {
          return true;
        } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
          return !member->empty() && member->size() <= kMostLayers &&
                 std::all_of(member->begin(), member->end(),
                             [&](std::int64_t side) { return field.range.contains(static_cast<double>(side)); });
        } else {
          if (*member == T{0} && !field.zero_word.empty()) return true;
          return field.range.contains(static_cast<double>(*member));
        }
      },
      field.pointer(copy));
}

Error bad_field(const Field& field, std::string_view value, std::string_view where, std::string_view label) {
  if (field.choices != nullptr) {
    const std::vector<std::string> names = field.choices();
    const std::string nearest = nearest_name(value, names);
    return Error(fmt::format("{}unknown {} '{}'", where, field.name, value),
                 fmt::format("choices: {}", fmt::join(names, ", ")),
                 nearest.empty() ? fmt::format("one of these, as in {}", names.front())
                                 : fmt::format("the nearest is '{}'", nearest));
  }
  return Error(fmt::format("{}{} is '{}'", where, label, value), fmt::format("it takes {}", expectation(field)),
               fmt::format("for example {}", field.bytes                    ? "8GiB"
                                             : !field.infinity_word.empty() ? "475"
                                                                            : field_text(field, RunConfig{})));
}

void set_field(const Field& field, RunConfig& config, std::string_view text, std::string_view where,
               std::string_view label) {
  RunConfig changed = config;
  const bool parsed = std::visit(
      [&](auto* member) {
        auto value = parse_as<std::remove_pointer_t<decltype(member)>>(field, text);
        if (value) *member = std::move(*value);
        return value.has_value();
      },
      field.pointer(changed));
  if (!parsed || !field_holds(field, changed)) throw bad_field(field, text, where, label);
  config = std::move(changed);
}

}  // namespace thrt::rl
