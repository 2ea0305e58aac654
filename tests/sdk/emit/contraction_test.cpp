// Matrix products and convolutions that work-groups compute in tiles: every op against its definition for many shapes of tiles,
// what is fused before and after them, sums in pieces, and which tiles the table gives.
#include "../../plugins/cpu/check_op.hpp"
#include "host_kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

namespace thrt::testing {
namespace {

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

// A program and, op by op, what it computes by definition. Data are small integers, so that every order of a sum is exact.
class Defined {
 public:
  std::uint32_t input(const ir::Type& type, int least = -2, int most = 2) {
    const std::string name = "x" + std::to_string(inputs.size());
    const std::uint32_t value = builder.input(name, type);
    Naive& data = values_.emplace(value, Naive{type, {}}).first->second;
    for (std::int64_t i = 0; i < type.elements(); ++i) {
      state_ = state_ * 1664525 + 1013904223;
      data.x.push_back(static_cast<double>(least + static_cast<int>((state_ >> 16) % (most - least + 1))));
    }
    inputs[name] = encode(data);
    return value;
  }
  std::uint32_t input(std::initializer_list<std::int64_t> dims) { return input({DType::kF32, dims}); }
  std::uint32_t op(OpKind kind, const std::vector<std::uint32_t>& operands, const Index& attributes = {},
                   std::optional<ir::Type> declared = {}) {
    const std::uint32_t value = builder.op(kind, operands, attributes, declared);
    std::vector<Naive> in;
    for (const std::uint32_t operand : operands) in.push_back(values_.at(operand));
    values_.emplace(value, naive(kind, in, attributes, builder.type(value)));
    return value;
  }
  std::uint32_t relu(std::uint32_t x) {
    const std::uint32_t zero = builder.constant<float>({DType::kF32, {}}, {0.0f});
    values_.emplace(zero, Naive{{DType::kF32, {}}, {0.0}});
    return op(OpKind::MAX, {x, op(OpKind::BROADCAST, {zero}, {}, builder.type(x))});
  }
  // bias along an axis
  std::uint32_t add(std::uint32_t x, std::uint32_t bias, std::int64_t axis) {
    return op(OpKind::ADD, {x, op(OpKind::BROADCAST, {bias}, {axis}, builder.type(x))});
  }
  void output(std::uint32_t value) {
    const std::string name = "y" + std::to_string(expected_.size());
    builder.output(name, value);
    expected_[name] = value;
  }
  void expect(const std::map<std::string, Bytes>& outputs) const {
    for (const auto& [name, value] : expected_) {
      const Naive& exact = values_.at(value);
      const std::vector<double> got = decode(outputs.at(name), exact.type.dtype);
      ASSERT_EQ(got.size(), exact.x.size());
      for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], exact.x[i]) << name << " element " << i;
    }
  }

  Builder builder;
  std::map<std::string, Bytes> inputs;

 private:
  std::map<std::uint32_t, Naive> values_;
  std::map<std::string, std::uint32_t> expected_;
  std::uint32_t state_ = 12345;
};

// Programs with ops before and after the product.
struct Fused {
  std::string name;
  Defined program;
};

std::vector<std::unique_ptr<Fused>> fused_programs() {
  std::vector<std::unique_ptr<Fused>> list;
  const auto add = [&](const std::string& name) -> Defined& {
    list.push_back(std::make_unique<Fused>());
    list.back()->name = name;
    return list.back()->program;
  };
  {
    Defined& p = add("layer: relu(relu(x) w + b), and its double");
    const std::uint32_t x = p.relu(p.input({37, 29})), w = p.input({29, 43}), b = p.input({43});
    const std::uint32_t y = p.relu(p.add(p.op(OpKind::MATMUL, {x, w}, {0, 0}), b, 1));
    p.output(y);
    p.output(p.op(OpKind::ADD, {y, y}));
  }
  {
    Defined& p = add("operands computed as transposes, from bytes");
    const std::uint32_t bytes = p.input({DType::kU8, {31, 18}}, 0, 9);
    const std::uint32_t x = p.op(OpKind::CAST, {bytes}, {}, ir::Type{DType::kF32, {31, 18}});
    const std::uint32_t w = p.op(OpKind::TRANSPOSE, {p.input({21, 31})}, {1, 0});
    p.output(p.op(OpKind::MATMUL, {p.op(OpKind::TRANSPOSE, {x}, {1, 0}), w}, {0, 0}));
  }
  {
    Defined& p = add("weight gradient and a step down it");
    const std::uint32_t x = p.input({200, 17}), dy = p.input({200, 9}), w = p.input({17, 9});
    const std::uint32_t gradient = p.op(OpKind::MATMUL, {x, dy}, {1, 0});
    p.output(p.op(OpKind::SUB, {w, p.op(OpKind::ADD, {gradient, gradient})}));
  }
  {
    Defined& p = add("batched, its rows added to another batched product");
    const std::uint32_t a = p.input({3, 2, 10, 13}), b = p.input({3, 2, 11, 13});
    const std::uint32_t c = p.input({3, 2, 10, 6}), d = p.input({3, 2, 6, 11});
    const std::uint32_t first = p.op(OpKind::MATMUL, {a, b}, {0, 1}), second = p.op(OpKind::MATMUL, {c, d}, {0, 0});
    p.output(p.op(OpKind::ADD, {first, second}));
  }
  {
    Defined& p = add("images of bytes, convolution, bias, relu, flattened");
    const ir::Type images{DType::kU8, {3, 4, 19, 21}};
    const std::uint32_t x = p.op(OpKind::CAST, {p.input(images, 0, 5)}, {}, ir::Type{DType::kF32, images.shape});
    const std::uint32_t filter = p.input({7, 4, 5, 4}), bias = p.input({7});
    const std::uint32_t y = p.op(OpKind::CONV2D, {x, filter}, {2, 3, 1, 2, 0, 1});
    const ir::Shape shape = p.builder.type(y).shape;
    const std::uint32_t z = p.relu(p.add(y, bias, 1));
    p.output(p.op(OpKind::RESHAPE, {z}, {}, ir::Type{DType::kF32, {3, shape[1] * shape[2] * shape[3]}}));
  }
  {
    Defined& p = add("convolution's gradients, where relu let them pass");
    const ir::Type x{DType::kF32, {2, 5, 13, 11}}, filter{DType::kF32, {6, 5, 3, 4}};
    const Index attributes = {2, 3, 2, 1, 1, 0};
    const std::uint32_t in = p.input(x), f = p.input(filter);
    const std::uint32_t y = p.op(OpKind::CONV2D, {in, f}, attributes);
    const std::uint32_t zero = p.op(OpKind::SUB, {y, y});
    const std::uint32_t dy =
        p.op(OpKind::SELECT, {p.op(OpKind::LT, {zero, y}), p.input({DType::kF32, p.builder.type(y).shape}), zero});
    p.output(p.op(OpKind::CONV2D_GRAD_INPUT, {dy, f}, attributes, x));
    p.output(p.op(OpKind::ADD, {p.op(OpKind::CONV2D_GRAD_FILTER, {dy, in}, attributes, filter), f}));
  }
  return list;
}

TEST(Contraction, WhatIsFusedIntoTilesIsExact) {
  HostKernels kernels;
  std::vector<std::vector<std::unique_ptr<Fused>>> programs;
  std::vector<std::vector<HostKernels::Program>> planned;
  for (const Case& each : kCases) {
    programs.push_back(fused_programs());
    planned.emplace_back();
    for (const auto& fused : programs.back())
      planned.back().push_back(kernels.add(fused->program.builder.built(), options_of(each)));
  }
  ASSERT_NO_FATAL_FAILURE(kernels.compile());
  for (std::size_t c = 0; c < kCases.size(); ++c) {
    for (std::size_t i = 0; i < programs[c].size(); ++i) {
      const Fused& fused = *programs[c][i];
      SCOPED_TRACE(fused.name + ", case " + std::to_string(c));
      const auto outputs = kernels.run(planned[c][i], fused.program.inputs);
      ASSERT_NO_FATAL_FAILURE(fused.program.expect(outputs));
    }
  }
}

// The gradient by the input of a filter of 3 x 3 of ones with stride 2: dy[1, 1] goes to the rows and columns 2, 3 and 4. An
// infinity there goes nowhere else, though tiles hold taps that the filter does not have.
TEST(Contraction, AnInfinityGoesOnlyWhereItIsATerm) {
  const ir::Type x{DType::kF32, {1, 2, 9, 9}}, filter{DType::kF32, {1, 2, 3, 3}}, dy{DType::kF32, {1, 1, 4, 4}};
  std::vector<emit::Options> options;
  for (const Case& each : kCases) options.push_back(options_of(each));
  options.emplace_back();
  options.emplace_back().tile_rows = 2;
  options.back().tile_columns = 4;
  options.back().min_work_items = 1;
  Builder builder;
  builder.output("y", builder.op(OpKind::CONV2D_GRAD_INPUT, {builder.input("dy", dy), builder.input("filter", filter)},
                                 {2, 2, 0, 0, 0, 0}, x));
  HostKernels kernels;
  std::vector<HostKernels::Program> planned;
  for (const emit::Options& each : options) planned.push_back(kernels.add(builder.built(), each));
  ASSERT_NO_FATAL_FAILURE(kernels.compile());
  std::vector<float> values(16, 1.0f);
  values[5] = std::numeric_limits<float>::infinity();
  const std::map<std::string, Bytes> inputs = {{"dy", bytes_of(values)},
                                               {"filter", bytes_of(std::vector<float>(18, 1.0f))}};
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::vector<double> y = decode(kernels.run(planned[i], inputs).at("y"), DType::kF32);
    for (std::size_t at = 0; at < y.size(); ++at) {
      const std::size_t h = at / 9 % 9, w = at % 9;
      const bool is_term = h >= 2 && h <= 4 && w >= 2 && w <= 4;
      EXPECT_EQ(std::isinf(y[at]), is_term) << "options " << i << ", row " << h << ", column " << w << ": " << y[at];
      EXPECT_FALSE(std::isnan(y[at])) << "options " << i << ", row " << h << ", column " << w;
    }
  }
}

// Sums of numbers that are not exact come in one order, whichever work-item is first.
TEST(Contraction, PiecesAreAddedInOneOrder) {
  HostKernels kernels;
  RandomOp op{OpKind::MATMUL, {}, {1, 0}, {}};
  OpGenerator generator(7);
  op.operands = {generator.value({DType::kF32, {300, 6}}), generator.value({DType::kF32, {300, 10}})};
  OpProgram program(op);
  const HostKernels::Program planned = kernels.add(program.builder.built(), options_of({{2, 2, 4, 16, 7}, 32}));
  ASSERT_NO_FATAL_FAILURE(kernels.compile());
  const Bytes first = kernels.run(planned, program.inputs).at("y");
  ASSERT_NO_FATAL_FAILURE(program.expect(first));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(kernels.run(planned, program.inputs).at("y"), first);
  const emit::Step& step = planned.plan.steps.at(0);
  ASSERT_EQ(step.kernels.size(), 2u);
  EXPECT_EQ(step.kernels[0].groups, 7 * 2);  // tiles of 16 x 8
  EXPECT_EQ(step.kernels[1].stage, 1u);
  EXPECT_GE(step.memory.scratch_bytes, 7u * 60 * 4);
}

// A layer with its activation before and its bias and activation after is one kernel, in which nothing is multiplied twice.
TEST(Contraction, ALayerIsOneKernel) {
  const auto programs = fused_programs();
  emit::Options options = options_of(kCases[0]);
  const emit::Plan plan = emit::plan(sdk::ProgramView(programs[0]->program.builder.built()), host_dialect(), options);
  std::vector<const emit::Kernel*> kernels;
  for (const emit::Step& step : plan.steps) {
    for (const emit::Kernel& kernel : step.kernels) kernels.push_back(&kernel);
  }
  ASSERT_EQ(kernels.size(), 1u);
  std::size_t products = 0;
  for (std::size_t at = 0; (at = kernels[0]->text.find("fmaf(", at)) != std::string::npos; ++at) ++products;
  EXPECT_EQ(products, 16u);  // of a work-item's 4 x 4 tile
  EXPECT_EQ(kernels[0]->groups, 3 * 3);
}

// What follows the product reads the product's operands as well, and the pieces of the sums are one argument more.
TEST(Contraction, ASecondStageKeepsToTheArgumentsThatThereAre) {
  for (int others = 0; others < 12; ++others) {
    Builder b;
    const ir::Type type{DType::kF32, {16, 16}};
    const std::uint32_t x = b.input("x", type), w = b.input("w", type);
    std::uint32_t z = b.input("z", type);
    for (int i = 0; i < others; ++i) z = b.op(OpKind::MUL, {z, b.input("z" + std::to_string(i), type)});
    const std::uint32_t y = b.op(OpKind::ADD, {b.op(OpKind::MATMUL, {x, w}, {0, 0}), x});
    b.output("y", b.op(OpKind::ADD, {b.op(OpKind::ADD, {y, w}), z}));
    emit::Options options = options_of({{1, 1, 4, 4, 4}, 16});
    options.max_arguments = 8;
    const emit::Plan plan = emit::plan(sdk::ProgramView(b.built()), host_dialect(), options);
    for (const emit::Step& step : plan.steps) {
      for (const emit::Kernel& kernel : step.kernels) EXPECT_LE(kernel.arguments.size(), 8u) << others << " others";
    }
  }
}

std::optional<emit::Tiles> chosen(const ir::Shape& a, const ir::Shape& b, const Index& transposes,
                                  const emit::Options& options) {
  Builder builder;
  const std::uint32_t x = builder.input("a", {DType::kF32, a}), w = builder.input("b", {DType::kF32, b});
  builder.output("y", builder.op(OpKind::MATMUL, {x, w}, transposes));
  return emit::detail::tiles_of(sdk::ProgramView(builder.built()).ops()[0], options);
}

TEST(Contraction, TheTableGivesEachSizeWhatSuitsIt) {
  emit::Options processor, gpu;
  gpu.device = emit::DeviceKind::kGpu;
  gpu.compute_units = 40;
  EXPECT_FALSE(chosen({1024, 1024}, {1024, 1024}, {0, 0}, processor).has_value());
  EXPECT_FALSE(chosen({64, 4}, {4, 64}, {0, 0}, gpu).has_value()) << "four terms: nothing is read often";
  const auto large = chosen({1024, 1024}, {1024, 1024}, {0, 0}, gpu);
  ASSERT_TRUE(large.has_value());
  EXPECT_EQ(large->rows * large->columns, 64);
  EXPECT_EQ(large->splits, 1);
  const auto layer = chosen({2048, 64}, {64, 64}, {0, 0}, gpu);
  ASSERT_TRUE(layer.has_value());
  EXPECT_EQ(layer->splits, 1);
  // The weights' gradient: few elements, long sums.
  const auto gradient = chosen({2048, 64}, {2048, 64}, {1, 0}, gpu);
  ASSERT_TRUE(gradient.has_value());
  EXPECT_GE(gradient->splits, 4);
  const auto head = chosen({2048, 64}, {2048, 2}, {1, 0}, gpu);
  ASSERT_TRUE(head.has_value());
  EXPECT_GE(head->splits, 4);
  // Whatever the size: tiles that cover the result, pieces none of which is empty, loads that are shared evenly.
  OpGenerator random(3);
  for (int i = 0; i < 300; ++i) {
    const std::int64_t m = random.pick(1, 3000), n = random.pick(1, 3000), k = random.pick(1, 5000);
    gpu.group_size = random.one_of<std::uint32_t>({32, 64, 128, 256});
    const auto tiles = chosen({m, k}, {k, n}, {0, 0}, gpu);
    if (!tiles.has_value()) continue;
    EXPECT_TRUE(emit::detail::fits(*tiles, gpu.group_size));
    gpu.tiles = tiles;  // the kernels that they become keep to the memory that there is
    Builder builder;
    const std::uint32_t x = builder.input("a", {DType::kF32, {m, k}}), w = builder.input("b", {DType::kF32, {k, n}});
    builder.output("y", builder.op(OpKind::MATMUL, {x, w}, {0, 0}));
    const emit::Plan plan = emit::plan(sdk::ProgramView(builder.built()), host_dialect(), gpu);
    for (const emit::Kernel& kernel : plan.steps.at(0).kernels) EXPECT_LE(kernel.shared_bytes, gpu.max_shared_bytes);
    gpu.tiles.reset();
    const std::int64_t steps = (k + tiles->depth - 1) / tiles->depth,
                       each = (steps + tiles->splits - 1) / tiles->splits;
    EXPECT_LT((tiles->splits - 1) * each, steps) << k;
  }
}

}  // namespace
}  // namespace thrt::testing
