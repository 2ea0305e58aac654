#include "report.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace thrt::cli {

std::string backend_name(const SelectedBackend& backend) {
  return fmt::format("{}:{}", backend.plugin->manifest().id, backend.device_index);
}

std::string first_line(const SelectedBackend& backend, const rl::RunConfig& config) {
  return fmt::format("backend {} ({})  precision {}  threads {}  plugin {}", backend_name(backend),
                     backend.device().name, config.precision,
                     config.threads == 0 ? std::string("auto") : std::to_string(config.threads),
                     backend.plugin->file().string());
}

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t place = digits.size(); place > first + 3;) {
    place -= 3;
    digits.insert(place, 1, ',');
  }
  return digits;
}

std::string short_number(double number) {
  constexpr std::array<const char*, 4> kSuffixes = {"", "k", "M", "G"};
  std::size_t suffix = 0;
  // 999.95 would show as 1000.0.
  while (suffix + 1 < kSuffixes.size() && std::abs(number) >= 999.95) {
    number /= 1000.0;
    ++suffix;
  }
  return suffix == 0 ? fmt::format("{:.0f}", number) : fmt::format("{:.1f}{}", number, kSuffixes[suffix]);
}

std::string clock_text(double seconds) {
  if (!(seconds >= 0.0) || seconds > 1e7) return "--:--";
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  const std::int64_t hours = whole / 3600, minutes = whole / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60)
                   : fmt::format("{}:{:02}", minutes, whole % 60);
}

std::string mean_text(double mean) {
  return std::isnan(mean) ? "-" : fmt::format("{:.1f}", mean);
}

}  // namespace thrt::cli
