#include "selection.hpp"

#include "report.hpp"

#include <thrt/error.hpp>
#include <thrt/nearest_name.hpp>

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <iterator>

namespace thrt::conformance {

std::vector<Case> all_cases() {
  std::vector<Case> cases = op_cases();
  for (std::vector<Case> more : {program_cases(), contract_cases()}) {
    std::move(more.begin(), more.end(), std::back_inserter(cases));
  }
  return cases;
}

bool matches(const std::string& filter, const std::vector<Case>& cases, const Case& one) {
  if (std::any_of(cases.begin(), cases.end(), [&](const Case& other) { return other.name == filter; })) {
    return one.name == filter;
  }
  if (filter.find_first_of("*?") != std::string::npos) return fnmatch(filter.c_str(), one.name.c_str(), 0) == 0;
  return one.name.find(filter) != std::string::npos;
}

std::vector<bool> choose(const std::vector<Case>& cases, const std::vector<std::string>& filters,
                         std::optional<Level> level) {
  std::vector<bool> chosen(cases.size(), filters.empty());
  for (const std::string& filter : filters) {
    bool any = false;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (!matches(filter, cases, cases[i])) continue;
      chosen[i] = true;
      any = true;
    }
    if (!any) {
      throw Error(fmt::format("no case matches --filter '{}'", filter),
                  "it takes a part of a case's name, or a pattern with * and ? for all of it",
                  "--list shows the names");
    }
  }
  if (!level) return chosen;
  const std::vector<Level> wanted = with_foundations(*level);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (std::find(wanted.begin(), wanted.end(), cases[i].level) == wanted.end()) chosen[i] = false;
  }
  if (std::find(chosen.begin(), chosen.end(), true) == chosen.end()) {
    throw Error(fmt::format("no case of level {} is chosen by the filters", level_name(*level)), {},
                "without --level, or --list to see the names");
  }
  return chosen;
}

Level parse_level(std::string_view text) {
  const std::vector<std::string> names = {"core", "training", "vision", "mixed"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (text == names[i]) return kLevels[i];
  }
  const std::string nearest = nearest_name(text, names);
  throw Error(fmt::format("--level is '{}'", text), "it takes core, training, vision or mixed",
              nearest.empty() ? "--level training" : "--level " + nearest);
}

}  // namespace thrt::conformance
