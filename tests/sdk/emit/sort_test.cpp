// Argsort by work-groups: rows in one block and in many, against the definition.
#include "../../plugins/cpu/check_op.hpp"
#include "host_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>

namespace thrt::testing {
namespace {

emit::Options with_blocks(std::int64_t block, std::uint32_t group_size) {
  emit::Options options;
  options.counted_row = 1;
  options.sorted_block = block;
  options.group_size = group_size;
  return options;
}

// Many equal elements, NaN, infinities and both zeros among them.
TEST(EmitSort, RandomShapesGiveTheDefinition) {
  HostKernels kernels;
  std::vector<std::unique_ptr<OpProgram>> programs;
  std::vector<HostKernels::Program> planned;
  const std::vector<emit::Options> options = {with_blocks(2048, 64), with_blocks(8, 16), with_blocks(16, 64),
                                              with_blocks(2, 4)};
  const auto add = [&](const RandomOp& op) {
    programs.push_back(std::make_unique<OpProgram>(op));
    planned.push_back(kernels.add(programs.back()->builder.built(), options[programs.size() % options.size()]));
  };
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    OpGenerator generator(seed * 104729 + 3);
    add(generator.make(OpKind::ARGSORT));
  }
  OpGenerator generator(17);
  for (const DType dtype : {DType::kF32, DType::kI32, DType::kU32}) {
    for (const std::int64_t length : {1, 2, 7, 8, 9, 16, 31, 33, 100}) {
      for (const std::int64_t axis : {0, 1, 2}) {
        RandomOp op{OpKind::ARGSORT, {}, {}, {}};
        ir::Shape shape = {2, 3, 2};
        shape.set(static_cast<int>(axis), length);
        op.operands.push_back(generator.value({dtype, shape}, true));
        op.attributes = {axis};
        add(op);
      }
    }
  }
  ASSERT_NO_FATAL_FAILURE(kernels.compile());
  for (std::size_t i = 0; i < programs.size(); ++i) {
    SCOPED_TRACE(describe(programs[i]->op));
    ASSERT_NO_FATAL_FAILURE(programs[i]->expect(kernels.run(planned[i], programs[i]->inputs).at("y")));
  }
}

TEST(EmitSort, BlocksKeepToTheGroupMemoryThatThereIs) {
  Builder b;
  b.output("y", b.op(OpKind::ARGSORT, {b.input("x", {DType::kF32, {5000}})}, {0}));
  for (const std::uint64_t bytes : {std::uint64_t{16384}, std::uint64_t{16383}, std::uint64_t{1000}}) {
    emit::Options options;
    options.max_shared_bytes = bytes;
    std::uint64_t most = 0;
    for (const emit::Step& step : emit::plan(sdk::ProgramView(b.built()), host_dialect(), options).steps) {
      for (const emit::Kernel& kernel : step.kernels) most = std::max(most, kernel.shared_bytes);
    }
    EXPECT_LE(most, bytes);
    EXPECT_GT(2 * most, bytes);
  }
}

// What shuffles a rollout: the order of random words. As the default options do it.
TEST(EmitSort, LongRowsOfWordsAreSortedAsTheStandardLibrarySortsThem) {
  HostKernels kernels;
  std::vector<std::unique_ptr<Builder>> builders;
  std::vector<HostKernels::Program> programs;
  const std::vector<std::int64_t> lengths = {2048, 2047, 5000};
  for (const std::int64_t length : lengths) {
    builders.push_back(std::make_unique<Builder>());
    const std::uint32_t x = builders.back()->input("x", {DType::kU32, {length}});
    builders.back()->output("y", builders.back()->op(OpKind::ARGSORT, {x}, {0}));
    programs.push_back(kernels.add(builders.back()->built(), {}));
    std::size_t stages = 0;
    for (const emit::Step& step : programs.back().plan.steps) stages += step.kernels.size();
    EXPECT_EQ(stages, length > 2048 ? 2u : 1u);
  }
  ASSERT_NO_FATAL_FAILURE(kernels.compile());
  std::mt19937 random(7);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    std::vector<std::uint32_t> words(static_cast<std::size_t>(lengths[i]));
    for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(random());
    for (std::size_t w = 0; w + 100 < words.size(); w += 100) words[w] = words[w + 1];
    words[5] = words[words.size() - 3] = UINT32_MAX;
    std::vector<std::int32_t> order(words.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
      return words[static_cast<std::size_t>(a)] < words[static_cast<std::size_t>(b)];
    });
    EXPECT_EQ(elements_of<std::int32_t>(kernels.run(programs[i], {{"x", bytes_of(words)}}).at("y")), order);
  }
}

}  // namespace
}  // namespace thrt::testing
