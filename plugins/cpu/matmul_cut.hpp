// How the work of one product is shared among threads.
#pragma once

#include "kernels/kernels.hpp"

#include <vector>

namespace thrt::cpu {

struct MatmulCut {
  MatmulPlan plan;
  std::vector<MatmulBlock> blocks;  // that cover C: one for each part

  std::uint64_t scratch_bytes() const { return plan.workspace * blocks.size(); }
};

// As many parts as there are threads and as is worth it.
MatmulCut cut_matmul(const MatmulPlan& plan, int threads);

}  // namespace thrt::cpu
