// For a driver that ends loops after so many turns: kernels take fewer, and compute the same to the bit.
#include "host_kernels.hpp"

#include <thrt/sdk/error.hpp>

#include <gtest/gtest.h>

#include <random>
#include <sstream>

namespace thrt::testing {
namespace {

constexpr std::int64_t kMost = 1000;

emit::Dialect limited() {
  emit::Dialect dialect = host_dialect();
  dialect.most_turns = kMost;
  return dialect;
}

// The turns of all loops of a work-item, read from the text: one statement a line, loops with a number as their end.
double turns(const std::string& text) {
  std::istringstream lines(text);
  std::vector<double> open = {1};  // how often each open block runs
  double total = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t head = line.find("for (");
    double times = 1;
    if (head != std::string::npos) {
      times = std::stod(line.substr(line.find('<', head) + 2));
      total += open.back() * times;
    }
    for (const char c : line) {
      if (c == '{') open.push_back(open.back() * std::exchange(times, 1));
      if (c == '}') open.pop_back();
    }
  }
  return total;
}

struct Case {
  const char* name;
  void (*build)(Builder&);
  double unlimited;  // turns when nothing is unrolled
};

const Case kCases[] = {
    {"sum over two axes",
     [](Builder& b) {
       b.output("y", b.op(OpKind::REDUCE_SUM, {b.input("x", {DType::kF32, {61, 3, 71}})}, {0, 2}));
     },
     61 + 61 * 71},
    {"argmax over a row longer than all unrolled ones",
     [](Builder& b) {
       b.output("y", b.op(OpKind::ARGMAX, {b.input("x", {DType::kF32, {2, 9001}})}, {1}));
     },
     9000},
    {"product with a deep sum",
     [](Builder& b) {
       const std::uint32_t x = b.input("x", {DType::kF32, {3, 4999}});
       b.output("y", b.op(OpKind::MATMUL, {x, x}, {0, 1}));
     },
     4999},
    {"gradient of a filter",
     [](Builder& b) {
       const std::uint32_t x = b.input("x", {DType::kF32, {17, 2, 13, 13}});
       const std::uint32_t dy = b.op(OpKind::SLICE, {x}, {0, 0, 0, 0, 17, 2, 11, 11, 1, 1, 1, 1});
       b.output("y", b.op(OpKind::CONV2D_GRAD_FILTER, {dy, x}, {1, 1, 0, 0, 0, 0}, Type{DType::kF32, {2, 2, 3, 3}}));
     },
     17 + 17 * 11 + 17 * 11 * 11},
};

TEST(EmitTurns, AreFewAndComputeTheSame) {
  for (const Case& each : kCases) {
    SCOPED_TRACE(each.name);
    Builder builder;
    each.build(builder);
    HostKernels plain, few(limited());
    emit::Options options;
    options.teams = emit::Teams{1, 1};  // no work is shared that a work-item may do alone
    const HostKernels::Program wanted = plain.add(builder.built(), options);
    const HostKernels::Program unrolled = few.add(builder.built(), options);
    double most = 0;
    for (const emit::Step& step : wanted.plan.steps)
      for (const emit::Kernel& kernel : step.kernels) most = std::max(most, turns(kernel.text));
    EXPECT_GE(most, each.unlimited * 0.9);
    for (const emit::Step& step : unrolled.plan.steps) {
      for (const emit::Kernel& kernel : step.kernels)
        EXPECT_LE(turns(kernel.text), kMost) << kernel.text.substr(0, 2000);
    }
    ASSERT_NO_FATAL_FAILURE(plain.compile());
    ASSERT_NO_FATAL_FAILURE(few.compile());
    std::mt19937 random(7);
    std::vector<float> x(static_cast<std::size_t>(sdk::ProgramView(builder.built()).slot(0).type.elements()));
    for (float& number : x) number = std::uniform_real_distribution<float>(-4, 4)(random);
    const std::map<std::string, Bytes> inputs = {{"x", bytes_of(x)}};
    EXPECT_EQ(few.run(unrolled, inputs).at("y"), plain.run(wanted, inputs).at("y"));
  }
}

void expect_refused(Builder& builder, const emit::Dialect& dialect, const emit::Options& options) {
  try {
    emit::plan(sdk::ProgramView(builder.built()), dialect, options);
    FAIL() << "a plan came";
  } catch (const sdk::Error& e) {
    EXPECT_EQ(e.status(), THRT_UNSUPPORTED);
    EXPECT_NE(std::string(e.what()).find("turns of loops"), std::string::npos) << e.what();
  }
}

TEST(EmitTurns, TooManyAreRefused) {
  Builder builder;
  builder.output("y", builder.op(OpKind::ARGMAX, {builder.input("x", {DType::kF32, {9000000}})}, {0}));
  expect_refused(builder, limited(), {});
}

// Its places are searched in 2^20 / 2048 blocks, with up to 12 turns and the block's own each.
TEST(EmitTurns, ThoseOfSortingCount) {
  Builder builder;
  builder.output("y", builder.op(OpKind::ARGSORT, {builder.input("x", {DType::kF32, {1 << 20}})}, {0}));
  emit::Dialect dialect = host_dialect();
  dialect.most_turns = 512 * 13;
  EXPECT_NO_THROW(emit::plan(sdk::ProgramView(builder.built()), dialect));
  dialect.most_turns = 512 * 13 - 1;
  expect_refused(builder, dialect, {});
}

// Tiles of 16 terms of 4096: 257 steps with 16 multiplications in each.
TEST(EmitTurns, ThoseOfTilesCount) {
  Builder builder;
  const std::uint32_t x = builder.input("x", {DType::kF32, {64, 4096}});
  builder.output("y", builder.op(OpKind::MATMUL, {x, x}, {0, 1}));
  emit::Options options;
  options.tiles = emit::Tiles{4, 4, 8, 16, 1};
  emit::Dialect dialect = host_dialect();
  dialect.most_turns = 257 * 17;
  EXPECT_NO_THROW(emit::plan(sdk::ProgramView(builder.built()), dialect, options));
  dialect.most_turns = 257 * 17 - 1;
  expect_refused(builder, dialect, options);
}

}  // namespace
}  // namespace thrt::testing
