// For messages that suggest a command.
#pragma once

#include <string>
#include <string_view>

namespace thrt {

// As one word of a POSIX shell: quoted where it has to be.
std::string shell_word(std::string_view text);

}  // namespace thrt
