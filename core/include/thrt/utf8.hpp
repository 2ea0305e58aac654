#pragma once

#include <string_view>

namespace thrt {

// Well-formed UTF-8 as of RFC 3629: shortest form, no surrogates, at most U+10FFFF.
bool is_utf8(std::string_view text);

}  // namespace thrt
