#include "precision.hpp"

#include <thrt/abi.h>

namespace thrt::cpu {

std::optional<std::string> refuse_precision(std::uint32_t precision, const Kernels& kernels) {
  switch (precision) {
    case THRT_PRECISION_F32:
      return std::nullopt;
    case THRT_PRECISION_BF16:
      if (has_bf16(kernels)) return std::nullopt;
      return std::string(
                 "bf16 needs a processor with AVX-512 and its BF16 instructions (avx512_bf16); this one has the ") +
             kernels.level + " kernels" + (kernels.plan_matmul_bf16 != nullptr ? ", and no avx512_bf16" : "");
    case THRT_PRECISION_F16:
      return "the cpu backend has no products of f16: where the processor has bf16, that is the faster precision";
    case THRT_PRECISION_TF32:
      return "tf32 is a format of NVIDIA's tensor cores, and no processor multiplies in it";
    default:
      return "there is no such precision";
  }
}

}  // namespace thrt::cpu
