#include "matmul_cut.hpp"

#include <algorithm>

namespace thrt::cpu {
namespace {

// To hand a part to another thread and wait for it takes a microsecond or two when that thread is awake.
constexpr double kPartNanoseconds = 10'000;

}  // namespace

MatmulCut cut_matmul(const MatmulPlan& plan, int threads) {
  const MatmulShape& shape = plan.shape;
  const bool columns = plan.cut_columns;
  const std::int64_t length = columns ? shape.n : shape.m;
  const std::int64_t multiple = columns ? plan.column_multiple : plan.row_multiple;
  const std::int64_t units = std::max<std::int64_t>(1, (length + multiple - 1) / multiple);
  const auto worth = static_cast<std::int64_t>(plan.nanoseconds / kPartNanoseconds);
  const std::int64_t parts = std::clamp<std::int64_t>(std::min<std::int64_t>(threads, worth), 1, units);
  MatmulCut cut{plan, {}};
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t first = std::min(length, units * part / parts * multiple);
    const std::int64_t end = std::min(length, units * (part + 1) / parts * multiple);
    cut.blocks.push_back(columns ? MatmulBlock{0, shape.m, first, end} : MatmulBlock{first, end, 0, shape.n});
  }
  return cut;
}

}  // namespace thrt::cpu
