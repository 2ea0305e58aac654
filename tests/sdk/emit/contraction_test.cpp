// Matrix products and convolutions that work-groups compute in tiles: every op against its definition for many shapes of tiles,
// what is fused before and after them, sums in pieces, and which tiles the table gives.
#include "../../plugins/cpu/check_op.hpp"
#include "host_kernels.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace thrt::testing {
namespace {

using emit::detail::Contraction;
using emit::detail::contraction_of;
using emit::detail::TileSize;

struct Case {
  emit::Tiles tiles;
  std::uint32_t group_size;
};
// Rows and columns of a work-item, columns of work-items, depth, pieces.
const std::vector<Case> kCases = {
    {{4, 4, 4, 8, 1}, 16},                           // 16 x 16 by 16 work-items
    {{1, 1, 4, 4, 1}, 16},                           // the least
    {{2, 4, 8, 16, 3}, 32},                          // sums in three pieces
    {{8, 8, 8, 16, 1}, 64},                          // 64 x 64
    {{4, 1, 4, 32, 2}, 64},                          // 64 x 4
    {{2, 8, 16, 8, 5}, 32}, {{1, 2, 1, 16, 1}, 16},  // a column of work-items
};

emit::Options options_of(const Case& each) {
  emit::Options options;
  options.tiles = each.tiles;
  options.group_size = each.group_size;
  return options;
}

constexpr OpKind kOps[] = {OpKind::MATMUL, OpKind::CONV2D, OpKind::CONV2D_GRAD_INPUT, OpKind::CONV2D_GRAD_FILTER};

TEST(Contraction, EveryOpEqualsItsDefinitionInTiles) {
  HostKernels kernels;
  std::vector<std::unique_ptr<OpProgram>> programs;
  std::vector<HostKernels::Program> planned;
  std::size_t tiled = 0;
  for (const OpKind kind : kOps) {
    for (std::uint32_t seed = 0; seed < 42; ++seed) {
      OpGenerator generator(seed * 977 + static_cast<std::uint32_t>(kind));
      programs.push_back(std::make_unique<OpProgram>(generator.make(kind)));
      planned.push_back(kernels.add(programs.back()->builder.built(), options_of(kCases[seed % kCases.size()])));
      for (const emit::Step& step : planned.back().plan.steps) {
        for (const emit::Kernel& kernel : step.kernels) tiled += kernel.shared_bytes > 0 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(tiled, 100u);
  ASSERT_NO_FATAL_FAILURE(kernels.compile());
  for (std::size_t i = 0; i < programs.size(); ++i) {
    SCOPED_TRACE(describe(programs[i]->op) + " case " + std::to_string(i % 42 % kCases.size()));
    ASSERT_NO_FATAL_FAILURE(programs[i]->expect(kernels.run(planned[i], programs[i]->inputs).at("y")));
  }
}

}  // namespace
}  // namespace thrt::testing
