// What emitted kernels compute: every op against its definition, and random programs with a known result, fused in several ways.
#include "../../plugins/cpu/check_op.hpp"
#include "../../plugins/cpu/random_chain.hpp"
#include "host_kernels.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace thrt::testing {
namespace {

TEST(Emit, EveryOpEqualsItsDefinition) {
  HostKernels kernels;
  std::vector<std::unique_ptr<OpProgram>> programs;
  std::vector<HostKernels::Program> planned;
  for (const ir::OpInfo& info : ir::all_ops()) {
    if (info.kind == OpKind::CONSTANT || info.kind == OpKind::REPEAT) continue;
    for (int seed = 0; seed < 12; ++seed) {
      OpGenerator generator(static_cast<std::uint32_t>(seed * 1013 + static_cast<int>(info.kind)));
      programs.push_back(std::make_unique<OpProgram>(generator.make(info.kind)));
      emit::Options options;
      if (seed % 2 == 1) {  // tiles of products wherever they fit
        options.tile_rows = options.tile_columns = 4;
        options.min_work_items = 1;
      }
      planned.push_back(kernels.add(programs.back()->builder.built(), options));
    }
  }
  ASSERT_NO_FATAL_FAILURE(kernels.compile());
  for (std::size_t i = 0; i < programs.size(); ++i) {
    SCOPED_TRACE(describe(programs[i]->op));
    ASSERT_NO_FATAL_FAILURE(programs[i]->expect(kernels.run(planned[i], programs[i]->inputs).at("y")));
  }
}

TEST(Emit, RandomProgramsGiveTheExactResultHoweverTheyAreFused) {
  HostKernels kernels;
  std::vector<std::unique_ptr<Chain>> chains;
  std::vector<HostKernels::Program> planned;
  for (std::uint32_t seed = 0; seed < 90; ++seed) {
    chains.push_back(std::make_unique<Chain>(5000 + seed));
    emit::Options options;
    if (seed % 3 == 1) options.max_arguments = 8;
    if (seed % 3 == 2) {  // everything into everything
      options.launch_cost = options.serial_cost = 1e9;
      options.tile_rows = options.tile_columns = 2;
      options.min_work_items = 1;
    }
    if (seed % 10 == 0) options.fuse = false;
    planned.push_back(kernels.add(chains.back()->builder().built(), options));
    for (const emit::Step& step : planned.back().plan.steps) {
      for (const emit::Kernel& kernel : step.kernels) EXPECT_LE(kernel.arguments.size(), options.max_arguments);
    }
  }
  ASSERT_NO_FATAL_FAILURE(kernels.compile());
  for (std::size_t i = 0; i < chains.size(); ++i) {
    SCOPED_TRACE(i);
    ASSERT_NO_FATAL_FAILURE(chains[i]->expect(kernels.run(planned[i], chains[i]->inputs())));
  }
}

TEST(Emit, AConcatOfMoreOperandsThanAKernelTakesComesInParts) {
  Builder builder;
  std::vector<std::uint32_t> parts;
  std::map<std::string, Bytes> inputs;
  std::vector<std::int32_t> expected;
  for (std::int32_t i = 0; i < 61; ++i) {
    const std::string name = "x" + std::to_string(i);
    const std::int64_t size = i % 4;  // some are empty
    parts.push_back(builder.input(name, {DType::kI32, {size}}));
    inputs[name] = bytes_of(std::vector<std::int32_t>(static_cast<std::size_t>(size), i));
    expected.insert(expected.end(), static_cast<std::size_t>(size), i);
  }
  builder.output("y", builder.op(OpKind::CONCAT, parts, {0}));
  HostKernels kernels;
  const HostKernels::Program program = kernels.add(builder.built(), {});
  ASSERT_EQ(program.plan.steps.size(), 1u);
  EXPECT_EQ(program.plan.steps[0].kernels.size(), 3u);
  ASSERT_NO_FATAL_FAILURE(kernels.compile());
  EXPECT_EQ(elements_of<std::int32_t>(kernels.run(program, inputs).at("y")), expected);
}

// Numbers are in the text to the bit: shortest decimal, or the bits where there is none.
TEST(Emit, LiteralsAreExact) {
  const std::vector<float> numbers = {0.1f,      -0.0f,      1e-45f,          3.4028235e38f, -16777217.0f,
                                      HUGE_VALF, -HUGE_VALF, 1.17549435e-38f, 1.0f / 3.0f};
  Builder builder;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::uint32_t number = builder.constant<float>({DType::kF32, {}}, {numbers[i]});
    builder.output("y" + std::to_string(i), builder.op(OpKind::BROADCAST, {number}, {}, Type{DType::kF32, {1}}));
  }
  HostKernels kernels;
  const HostKernels::Program program = kernels.add(builder.built(), {});
  ASSERT_NO_FATAL_FAILURE(kernels.compile());
  const auto outputs = kernels.run(program, {});
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(outputs.at("y" + std::to_string(i)), bytes_of(std::vector<float>{numbers[i]})) << numbers[i];
  }
}

}  // namespace
}  // namespace thrt::testing
