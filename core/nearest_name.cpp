#include <thrt/nearest_name.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <numeric>

namespace thrt {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

// One row of the Wagner-Fischer table at a time.
std::size_t levenshtein(const std::string& from, const std::string& to) {
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

}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string>& names) {
  constexpr std::size_t kLongest = 64;  // nothing here has longer names; bounds the work for a hostile one
  if (name.size() > kLongest) return {};
  std::string best;
  std::size_t least = kLongest + 1;
  for (const std::string& candidate : names) {
    const std::size_t distance = levenshtein(lower(name), lower(candidate));
    if (distance < least && 2 * distance <= std::max(name.size(), candidate.size())) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace thrt
