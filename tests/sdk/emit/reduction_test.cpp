// Reductions by work-groups: teams of every size, whole and in pieces, against the definitions.
#include "../../plugins/cpu/check_op.hpp"
#include "host_kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

namespace thrt::testing {
namespace {

constexpr DType kF32 = DType::kF32;

emit::Options with_teams(std::int64_t lanes, std::int64_t splits, std::uint32_t group_size = 64) {
  emit::Options options;
  options.teams = {lanes, splits};
  options.group_size = group_size;
  return options;
}

const std::vector<emit::Options>& team_sizes() {
  static const std::vector<emit::Options> kSizes = {with_teams(2, 1),     with_teams(8, 1),       with_teams(16, 3),
                                                    with_teams(64, 1),    with_teams(64, 5),      with_teams(1, 7),
                                                    with_teams(4, 2, 32), with_teams(128, 1, 128)};
  return kSizes;
}

bool is_together(const HostKernels::Program& program) {
  for (const emit::Step& step : program.plan.steps) {
    for (const emit::Kernel& kernel : step.kernels) {
      if (kernel.text.find("thrt_barrier") != std::string::npos || kernel.stage > 0) return true;
    }
  }
  return false;
}

// Programs of one op, compiled together, each with the options of a turn.
class Cases {
 public:
  void add(const RandomOp& op, const emit::Options& options) {
    programs_.push_back(std::make_unique<OpProgram>(op));
    planned_.push_back(kernels_.add(programs_.back()->builder.built(), options));
  }
  void expect_definitions() {
    ASSERT_NO_FATAL_FAILURE(kernels_.compile());
    for (std::size_t i = 0; i < programs_.size(); ++i) {
      SCOPED_TRACE(describe(programs_[i]->op));
      const Bytes y = kernels_.run(planned_[i], programs_[i]->inputs).at("y");
      ASSERT_NO_FATAL_FAILURE(programs_[i]->expect(y));
      ASSERT_EQ(kernels_.run(planned_[i], programs_[i]->inputs).at("y"), y) << "other bits in a second run";
      together_ += is_together(planned_[i]) ? 1 : 0;
    }
  }
  std::size_t size() const { return programs_.size(); }
  std::size_t together() const { return together_; }

 private:
  HostKernels kernels_;
  std::vector<std::unique_ptr<OpProgram>> programs_;
  std::vector<HostKernels::Program> planned_;
  std::size_t together_ = 0;
};

TEST(EmitReduction, RandomShapesAndAxesGiveTheDefinition) {
  Cases cases;
  for (const OpKind kind : {OpKind::REDUCE_SUM, OpKind::REDUCE_MAX, OpKind::ARGMAX}) {
    for (std::uint32_t seed = 0; seed < 40; ++seed) {
      OpGenerator generator(seed * 7919 + static_cast<std::uint32_t>(kind));
      cases.add(generator.make(kind), team_sizes()[seed % team_sizes().size()]);
    }
  }
  ASSERT_NO_FATAL_FAILURE(cases.expect_definitions());
  EXPECT_GT(cases.together(), cases.size() / 3);
}

// Every set of axes; lengths around the sizes of teams; NaN and infinities among the elements.
TEST(EmitReduction, AllAxesAndOddLengthsGiveTheDefinition) {
  Cases cases;
  OpGenerator generator(5);
  std::size_t turn = 0;
  const auto add = [&](OpKind kind, DType dtype, const ir::Shape& shape, const std::vector<std::int64_t>& axes) {
    RandomOp op{kind, {}, {}, {}};
    op.operands.push_back(generator.value({dtype, shape}, kind != OpKind::REDUCE_SUM));
    op.attributes.assign(axes.begin(), axes.end());
    cases.add(op, team_sizes()[turn++ % team_sizes().size()]);
  };
  for (std::uint32_t set = 0; set < 16; ++set) {
    std::vector<std::int64_t> axes;
    for (std::int64_t d = 0; d < 4; ++d) {
      if ((set >> d & 1u) != 0) axes.push_back(d);
    }
    for (const OpKind kind : {OpKind::REDUCE_SUM, OpKind::REDUCE_MAX}) {
      for (const DType dtype : {kF32, DType::kI32, DType::kU32}) add(kind, dtype, {3, 7, 5, 19}, axes);
    }
  }
  for (const std::int64_t length : {1, 2, 63, 64, 65, 127, 128, 513, 1000}) {
    for (const OpKind kind : {OpKind::REDUCE_SUM, OpKind::REDUCE_MAX, OpKind::ARGMAX}) {
      add(kind, kF32, {length}, {0});
      add(kind, kF32, {3, length}, {1});
      add(kind, kF32, {length, 21}, {0});
    }
    add(OpKind::ARGMAX, DType::kI32, {length, 3}, {0});
    add(OpKind::ARGMAX, DType::kU32, {2, length}, {1});
  }
  for (const OpKind kind : {OpKind::REDUCE_SUM, OpKind::REDUCE_MAX}) {
    add(kind, kF32, {0, 5}, {0});
    add(kind, kF32, {0, 5}, {1});
    add(kind, kF32, {5, 0, 3}, {0, 1});
  }
  ASSERT_NO_FATAL_FAILURE(cases.expect_definitions());
}

// All sums of small integers are exact in f32: no order of addition, no piece may be lost or counted twice.
TEST(EmitReduction, LongSumsOfIntegersAreExact) {
  HostKernels kernels;
  struct Sum {
    std::unique_ptr<Builder> builder;
    HostKernels::Program program;
    Bytes x;
    std::vector<float> expected;
  };
  std::vector<Sum> sums;
  const std::vector<ir::Shape> shapes = {{70001}, {4096, 16}, {1021, 37}};
  for (const ir::Shape& shape : shapes) {
    for (int device = 0; device < 4; ++device) {
      emit::Options options = with_teams(64, 9);
      if (device < 2) {
        options.teams.reset();
        options.device = device == 0 ? emit::DeviceKind::kGpu : emit::DeviceKind::kProcessor;
      } else if (device == 3) {
        options = with_teams(4, 100);
      }
      Sum sum;
      sum.builder = std::make_unique<Builder>();
      const std::uint32_t x = sum.builder->input("x", {kF32, shape});
      sum.builder->output("y", sum.builder->op(OpKind::REDUCE_SUM, {x}, {0}));
      sum.program = kernels.add(sum.builder->built(), options);
      if (device == 0) {
        EXPECT_TRUE(is_together(sum.program)) << shape.elements();
      }
      std::vector<float> elements(static_cast<std::size_t>(shape.elements()));
      const auto columns = static_cast<std::size_t>(shape.elements() / shape[0]);
      sum.expected.resize(columns);
      for (std::size_t i = 0; i < elements.size(); ++i) {
        elements[i] = static_cast<float>(static_cast<int>(i * 7919 % 17) - 5);
        sum.expected[i % columns] += elements[i];
      }
      sum.x = bytes_of(elements);
      sums.push_back(std::move(sum));
    }
  }
  ASSERT_NO_FATAL_FAILURE(kernels.compile());
  for (const Sum& sum : sums)
    EXPECT_EQ(elements_of<float>(kernels.run(sum.program, {{"x", sum.x}}).at("y")), sum.expected);
}

// The mean of squared differences, its root, and the largest difference: what is computed per term and of the result joins in.
TEST(EmitReduction, WhatIsComputedBeforeAndAfterIsOneKernel) {
  constexpr std::int64_t kLength = 3000;
  Builder b;
  const std::uint32_t x = b.input("x", {kF32, {kLength}}), y = b.input("y", {kF32, {kLength}});
  const std::uint32_t difference = b.op(OpKind::SUB, {x, y});
  const std::uint32_t sum = b.op(OpKind::REDUCE_SUM, {b.op(OpKind::MUL, {difference, difference})}, {0});
  const std::uint32_t mean = b.op(OpKind::MUL, {sum, b.constant<float>({kF32, {}}, {1.0f / kLength})});
  const std::uint32_t most = b.op(OpKind::REDUCE_MAX, {b.op(OpKind::ABS, {difference})}, {0});
  b.output("z", b.op(OpKind::ADD, {b.op(OpKind::SQRT, {mean}), most}));
  std::vector<float> xs, ys;
  double squares = 0, largest = 0;
  for (int i = 0; i < kLength; ++i) {
    xs.push_back(static_cast<float>(std::sin(i)));
    ys.push_back(static_cast<float>(std::cos(1.3 * i)));
    const double d = static_cast<double>(xs.back()) - static_cast<double>(ys.back());
    squares += d * d;
    largest = std::max(largest, std::fabs(d));
  }
  HostKernels kernels;
  std::vector<HostKernels::Program> programs;
  for (const emit::Options& options : team_sizes()) {
    programs.push_back(kernels.add(b.built(), options));
    ASSERT_EQ(programs.back().plan.steps.size(), 1u);
    EXPECT_EQ(programs.back().plan.steps[0].kernels.back().groups, 1);
  }
  ASSERT_NO_FATAL_FAILURE(kernels.compile());
  for (const HostKernels::Program& program : programs) {
    const float z = elements_of<float>(kernels.run(program, {{"x", bytes_of(xs)}, {"y", bytes_of(ys)}}).at("z"))[0];
    EXPECT_NEAR(z, std::sqrt(squares / kLength) + largest, 1e-5);
  }
}

// The gradient of a layer's bias, and the bias and its momentum after a step along it: in their own memory.
TEST(EmitReduction, AnUpdateByASumWorksInPlace) {
  constexpr std::int64_t kRows = 301, kColumns = 37;
  Builder b;
  const Type type{kF32, {kColumns}};
  const std::uint32_t x = b.input("x", {kF32, {kRows, kColumns}}), bias = b.input("b", type), m = b.input("m", type);
  const std::uint32_t half = b.op(OpKind::BROADCAST, {b.constant<float>({kF32, {}}, {0.5f})}, {}, type);
  const std::uint32_t m2 = b.op(OpKind::ADD, {b.op(OpKind::MUL, {m, half}), b.op(OpKind::REDUCE_SUM, {x}, {0})});
  b.output("m", m2);
  b.output("b", b.op(OpKind::SUB, {bias, m2}));
  HostKernels kernels;
  std::vector<HostKernels::Program> programs;
  for (const emit::Options& options : team_sizes()) {
    programs.push_back(kernels.add(b.built(), options));
    ASSERT_EQ(programs.back().plan.steps.size(), 1u);
    EXPECT_TRUE(is_together(programs.back()));
    const sdk::MemoryPlan memory = sdk::plan_memory(sdk::ProgramView(b.built()), programs.back().plan.memory_steps());
    EXPECT_TRUE(memory.final_copies.empty());
  }
  std::vector<float> xs, bs, ms;
  for (std::int64_t i = 0; i < kRows * kColumns; ++i) xs.push_back(static_cast<float>(i * 31 % 13 - 6));
  for (std::int64_t c = 0; c < kColumns; ++c) {
    bs.push_back(static_cast<float>(c));
    ms.push_back(static_cast<float>(2 * c - 9));
  }
  std::vector<float> expected_m = ms, expected_b = bs;
  for (std::size_t c = 0; c < kColumns; ++c) {
    expected_m[c] *= 0.5f;
    for (std::size_t r = 0; r < kRows; ++r) expected_m[c] += xs[r * kColumns + c];
    expected_b[c] -= expected_m[c];
  }
  ASSERT_NO_FATAL_FAILURE(kernels.compile());
  for (const HostKernels::Program& program : programs) {
    const auto outputs = kernels.run(program, {{"x", bytes_of(xs)}, {"b", bytes_of(bs)}, {"m", bytes_of(ms)}});
    EXPECT_EQ(elements_of<float>(outputs.at("m")), expected_m);
    EXPECT_EQ(elements_of<float>(outputs.at("b")), expected_b);
  }
}

}  // namespace
}  // namespace thrt::testing
