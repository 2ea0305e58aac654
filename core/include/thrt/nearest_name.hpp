// What a mistyped name may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace thrt {

// The one of `names` with the smallest Levenshtein distance to `name`, case aside; empty when none comes near: more
// than half of the longer one would have to change.
std::string nearest_name(std::string_view name, const std::vector<std::string>& names);

}  // namespace thrt
