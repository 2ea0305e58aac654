// The context that a run's configuration asks for.
#pragma once

#include <thrt/plugin/registry.hpp>
#include <thrt/rl/train/run_config.hpp>
#include <thrt/runtime/context.hpp>

namespace thrt::rl {

// Throws Error for a precision that is none or that the device lacks.
Context open_device(const SelectedBackend& backend, const RunConfig& config);

}  // namespace thrt::rl
