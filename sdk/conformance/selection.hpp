// Which cases are run.
#pragma once

#include "case.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace thrt::conformance {

// Operations, programs, contract.
std::vector<Case> all_cases();

// A case's whole name chooses that case alone; a text with '*' or '?' is a pattern for the whole name; any other text
// chooses the names that contain it.
bool matches(const std::string& filter, const std::vector<Case>& cases, const Case& one);

// With filters: what any of them chooses. With a level: of that, the cases of it and of what it builds on. Throws Error
// for a filter that chooses nothing.
std::vector<bool> choose(const std::vector<Case>& cases, const std::vector<std::string>& filters,
                         std::optional<Level> level);

Level parse_level(std::string_view text);  // "core", "training", "vision", "mixed"; throws Error

}  // namespace thrt::conformance
