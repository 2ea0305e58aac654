#include <thrt/rl/train/versions.hpp>

#include <thrt/abi.h>

#include <fmt/format.h>

namespace thrt::rl {

Versions versions() {
  return {THRT_PROJECT_VERSION, fmt::format("{}.{}", THRT_ABI_MAJOR, THRT_ABI_MINOR), THRT_OPSET};
}

}  // namespace thrt::rl
