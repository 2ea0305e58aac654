// Which thrust this is, as `thrust version` prints it and config.toml records it.
#pragma once

#include <cstdint>
#include <string>

namespace thrt::rl {

struct Versions {
  std::string thrust;        // "0.1.0"
  std::string abi;           // "1.0": of the backend interface, thrt/abi.h
  std::uint32_t op_set = 0;  // thrt/ops.def
};

Versions versions();

}  // namespace thrt::rl
