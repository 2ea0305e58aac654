// Which of the compiled instruction-set levels runs. Compiled for the lowest one.
#include "kernels.hpp"

namespace thrt::cpu {

namespace baseline {
const Kernels& kernels();
}
#ifdef THRT_CPU_HAS_LEVELS
namespace avx2 {
const Kernels& kernels();
}
namespace avx512 {
const Kernels& kernels();
}
#endif

KernelLevels usable_kernels() {
  KernelLevels found = {{&baseline::kernels(), nullptr, nullptr}, 1};
#ifdef THRT_CPU_HAS_LEVELS
  // Most of what -march=x86-64-v3 and -v4 let the compiler use; all processors with this much have the rest.
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                  __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  if (v3) found.levels[found.count++] = &avx2::kernels();
  if (v4) found.levels[found.count++] = &avx512::kernels();
#endif
  return found;
}

bool has_bf16(const Kernels& kernels) {
#ifdef THRT_CPU_HAS_LEVELS
  return kernels.plan_matmul_bf16 != nullptr && __builtin_cpu_supports("avx512bf16");
#else
  return kernels.plan_matmul_bf16 != nullptr;
#endif
}

const Kernels& best_kernels() {
  const KernelLevels usable = usable_kernels();
  return *usable.levels[usable.count - 1];
}

}  // namespace thrt::cpu
