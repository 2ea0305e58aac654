// The kernel sets of every instruction-set level that this processor has, for tests that go through all.
#pragma once

#include "../../../plugins/cpu/kernels/kernels.hpp"

#include <vector>

namespace thrt::cpu {

inline std::vector<const Kernels*> all_levels() {
  const KernelLevels usable = usable_kernels();
  return {usable.levels, usable.levels + usable.count};
}

}  // namespace thrt::cpu
