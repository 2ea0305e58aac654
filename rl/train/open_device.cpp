#include "rl/train/open_device.hpp"

#include <thrt/error.hpp>

#include <fmt/format.h>

#include <array>

namespace thrt::rl {

Context open_device(const SelectedBackend& backend, const RunConfig& config) {
  constexpr std::array<const char*, 4> kNames = {"f32", "tf32", "bf16", "f16"};  // by THRT_PRECISION_...
  for (std::uint32_t precision = 0; precision < kNames.size(); ++precision) {
    if (config.precision != kNames[precision]) continue;
    return Context(backend.plugin, {.device_index = backend.device_index,
                                    .memory_budget = config.memory_budget,
                                    .threads = static_cast<std::uint32_t>(config.threads),
                                    .precision = precision});
  }
  throw Error(fmt::format("unknown precision '{}'", config.precision), {},
              fmt::format("choose one of {}", fmt::join(kNames, ", ")));
}

}  // namespace thrt::rl
