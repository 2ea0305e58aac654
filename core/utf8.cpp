#include "thrt/utf8.hpp"

#include <cstddef>

namespace thrt {

bool is_utf8(std::string_view text) {
  std::size_t i = 0;
  const auto continuation = [&](std::size_t k, unsigned low, unsigned high) {
    if (i + k >= text.size()) return false;
    const auto byte = static_cast<unsigned char>(text[i + k]);
    return byte >= low && byte <= high;
  };
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i]);
    std::size_t length = 1;
    unsigned low = 0x80;  // bounds of the second byte: RFC 3629, section 4
    unsigned high = 0xBF;
    if (lead >= 0x80) {
      if (lead < 0xC2 || lead > 0xF4) return false;
      length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
      if (lead == 0xE0) low = 0xA0;
      if (lead == 0xED) high = 0x9F;
      if (lead == 0xF0) low = 0x90;
      if (lead == 0xF4) high = 0x8F;
      if (!continuation(1, low, high)) return false;
      for (std::size_t k = 2; k < length; ++k) {
        if (!continuation(k, 0x80, 0xBF)) return false;
      }
    }
    i += length;
  }
  return true;
}

}  // namespace thrt
