// scatter_add by sorted indices, in one block and in many, against the definition.
#include "../../plugins/cpu/check_op.hpp"
#include "host_kernels.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace thrt::testing {
namespace {

constexpr DType kF32 = DType::kF32;

emit::Options sorted_always(std::int64_t block, std::uint32_t group_size) {
  emit::Options options;
  options.compared_indices = 0;
  options.sorted_block = block;
  options.group_size = group_size;
  return options;
}

// Indices outside, indices of several dimensions, every dtype; empty ones.
TEST(EmitScatter, RandomShapesGiveTheDefinition) {
  HostKernels kernels;
  std::vector<std::unique_ptr<OpProgram>> programs;
  std::vector<HostKernels::Program> planned;
  const std::vector<emit::Options> options = {sorted_always(2048, 64), sorted_always(4, 16), sorted_always(32, 64)};
  std::size_t sorted = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    OpGenerator generator(seed * 15485863 + 11);
    programs.push_back(std::make_unique<OpProgram>(generator.make(OpKind::SCATTER_ADD)));
    planned.push_back(kernels.add(programs.back()->builder.built(), options[seed % options.size()]));
    sorted += planned.back().plan.steps.size() == 1 && planned.back().plan.steps[0].kernels.size() == 2 ? 1 : 0;
  }
  EXPECT_GT(sorted, 20u);
  ASSERT_NO_FATAL_FAILURE(kernels.compile());
  for (std::size_t i = 0; i < programs.size(); ++i) {
    SCOPED_TRACE(describe(programs[i]->op));
    ASSERT_NO_FATAL_FAILURE(programs[i]->expect(kernels.run(planned[i], programs[i]->inputs).at("y")));
  }
}

// The gradient of a table of 100 rows from 5 000 lookups, some rows looked up often and others never; what is added is computed on the
// way, and the result is what was added to. Each row gets its updates in their order, so a chain of additions in that
// order gives the same bits.
TEST(EmitScatter, ManyUpdatesAreAddedInTheirOrder) {
  constexpr std::int64_t kRows = 100, kColumns = 3, kLookups = 5000;
  Builder b;
  const std::uint32_t table = b.input("table", {kF32, {kRows, kColumns}}),
                      rows = b.input("rows", {DType::kI32, {kLookups}}),
                      updates = b.input("updates", {kF32, {kLookups, kColumns}});
  b.output("table", b.op(OpKind::SCATTER_ADD, {table, rows, b.op(OpKind::MUL, {updates, updates})}, {0}));
  HostKernels kernels;
  const HostKernels::Program program = kernels.add(b.built(), {});
  ASSERT_EQ(program.plan.steps.size(), 1u);
  ASSERT_EQ(program.plan.steps[0].kernels.size(), 2u);
  const sdk::MemoryPlan memory = sdk::plan_memory(sdk::ProgramView(b.built()), program.plan.memory_steps());
  EXPECT_TRUE(memory.final_copies.empty());
  std::vector<float> elements, update;
  std::vector<std::int32_t> indices;
  for (std::int64_t i = 0; i < kRows * kColumns; ++i) elements.push_back(0.1f * static_cast<float>(i));
  for (std::int64_t k = 0; k < kLookups; ++k) {
    indices.push_back(static_cast<std::int32_t>(k * k % 103) - 1);  // -1 and 101 are outside
    for (std::int64_t c = 0; c < kColumns; ++c)
      update.push_back(0.37f * static_cast<float>((k * 7 + c) % 1000) - 100.0f);
  }
  std::vector<float> expected = elements;
  for (std::size_t k = 0; k < kLookups; ++k) {
    if (indices[k] < 0 || indices[k] >= kRows) continue;
    for (std::size_t c = 0; c < kColumns; ++c) {
      const float term = update[k * kColumns + c] * update[k * kColumns + c];
      expected[static_cast<std::size_t>(indices[k]) * kColumns + c] += term;
    }
  }
  ASSERT_NO_FATAL_FAILURE(kernels.compile());
  const auto outputs =
      kernels.run(program, {{"table", bytes_of(elements)}, {"rows", bytes_of(indices)}, {"updates", bytes_of(update)}});
  EXPECT_EQ(elements_of<float>(outputs.at("table")), expected);
}

}  // namespace
}  // namespace thrt::testing
