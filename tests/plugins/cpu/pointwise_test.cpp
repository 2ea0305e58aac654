// Pointwise steps as a program has them: the optimiser's update of many tensors, reductions of all sorts, broadcasts of
// rows and columns, sorting.
#include "host.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace thrt::testing {
namespace {

using ir::DType;
using ir::OpKind;
using ir::Type;
using Floats = std::vector<float>;

Host& cpu(std::uint32_t threads = 1) {
  static Host one(THRT_CPU_PLUGIN, 1), two(THRT_CPU_PLUGIN, 2);
  return threads == 1 ? one : two;
}

Type f32(const ir::Shape& shape) {
  return {DType::kF32, shape};
}

Floats random_floats(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Floats list(count);
  for (float& x : list) x = uniform(random);
  return list;
}

// ------------------------------------------------------------------------------------------------------------- Adam
struct AdamProgram {
  Builder b;
  std::vector<ir::Shape> shapes;
  std::map<std::string, Bytes> inputs;
  bool clipped, decayed;

  std::uint32_t scalar(float x) { return b.constant(f32({}), Floats{x}); }
  std::uint32_t times(std::uint32_t factor, std::uint32_t x) {
    return b.op(OpKind::MUL, {b.op(OpKind::BROADCAST, {factor}, {}, b.type(x)), x});
  }
  std::uint32_t add(std::uint32_t x, std::uint32_t y) { return b.op(OpKind::ADD, {x, y}); }

  // The gradients are the slots "g0", "g1" ...; `norm` is an output where they are clipped to length 1/2.
  AdamProgram(std::vector<ir::Shape> all, bool clip, bool decay, bool chained = false)
      : shapes(std::move(all)), clipped(clip), decayed(decay) {
    std::vector<std::uint32_t> p, m, v, g;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      for (const auto& [letter, list] : {std::pair{"p", &p}, {"m", &m}, {"v", &v}, {"g", &g}}) {
        const std::string name = letter + std::to_string(i);
        list->push_back(b.input(name, f32(shapes[i])));
        Floats values =
            random_floats(static_cast<std::size_t>(shapes[i].elements()), static_cast<std::uint32_t>(7 * i + *letter));
        if (*letter == 'v') std::for_each(values.begin(), values.end(), [](float& x) { x *= x; });
        inputs[name] = bytes_of(values);
      }
    }
    const std::uint32_t rate = b.input("rate", f32({}));
    inputs["rate"] = bytes_of(Floats{0.01f});
    std::uint32_t scale = THRT_NONE, last = THRT_NONE;
    if (clip) {
      std::uint32_t total = THRT_NONE;
      for (const std::uint32_t each : g) {
        std::vector<std::int64_t> axes(static_cast<std::size_t>(b.type(each).shape.rank()));
        std::iota(axes.begin(), axes.end(), 0);
        const std::uint32_t squares = b.op(OpKind::REDUCE_SUM, {b.op(OpKind::MUL, {each, each})}, axes);
        total = total == THRT_NONE ? squares : add(total, squares);
      }
      const std::uint32_t norm = b.op(OpKind::SQRT, {total});
      b.output("norm", norm);
      scale = b.op(OpKind::DIV, {scalar(0.5f), norm});
    }
    const std::uint32_t keep = b.op(OpKind::SUB, {scalar(1.0f), b.op(OpKind::MUL, {rate, scalar(0.1f)})});
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      std::uint32_t gradient = g[i];
      if (clip) gradient = b.op(OpKind::MUL, {g[i], b.op(OpKind::BROADCAST, {scale}, {}, f32(shapes[i]))});
      if (chained && i > 0) gradient = b.op(OpKind::MUL, {gradient, last});
      const std::uint32_t old = decay ? times(keep, p[i]) : p[i];
      const std::uint32_t first = add(times(scalar(0.9f), m[i]), times(scalar(0.1f), gradient));
      const std::uint32_t second =
          add(times(scalar(0.99f), v[i]), times(scalar(0.01f), b.op(OpKind::MUL, {gradient, gradient})));
      const std::uint32_t root = times(scalar(1.25f), b.op(OpKind::SQRT, {second}));
      const std::uint32_t below = add(root, b.op(OpKind::BROADCAST, {scalar(1e-3f)}, {}, f32(shapes[i])));
      const std::uint32_t step = times(rate, b.op(OpKind::DIV, {first, below}));
      last = b.op(OpKind::SUB, {old, step});
      b.output("p" + std::to_string(i), last);
      b.output("m" + std::to_string(i), first);
      b.output("v" + std::to_string(i), second);
    }
  }

  // The formula in f64.
  void expect_right(const std::map<std::string, Bytes>& got) {
    double squares = 0;
    std::vector<Floats> gradients;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      gradients.push_back(elements_of<float>(inputs.at("g" + std::to_string(i))));
      for (const float x : gradients.back()) squares += static_cast<double>(x) * static_cast<double>(x);
    }
    const double scale = clipped ? 0.5 / std::sqrt(squares) : 1.0;
    if (clipped) {
      EXPECT_NEAR(elements_of<float>(got.at("norm"))[0], std::sqrt(squares), 1e-5 * std::sqrt(squares));
    }
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const auto of = [&](const char* letter) { return elements_of<float>(inputs.at(letter + std::to_string(i))); };
      const Floats p = of("p"), m = of("m"), v = of("v"), got_p = elements_of<float>(got.at("p" + std::to_string(i)));
      for (std::size_t k = 0; k < p.size(); ++k) {
        const double g = static_cast<double>(gradients[i][k]) * scale;
        const double first = 0.9 * static_cast<double>(m[k]) + 0.1 * g,
                     second = 0.99 * static_cast<double>(v[k]) + 0.01 * g * g;
        const double kept = static_cast<double>(p[k]) * (decayed ? 0.999 : 1.0);
        const double exact = kept - 0.01 * first / (1.25 * std::sqrt(second) + 1e-3);
        ASSERT_NEAR(got_p[k], exact, 1e-6 * (1 + std::fabs(exact))) << "tensor " << i << " element " << k;
      }
    }
  }
};

TEST(CpuOptimiser, AdamOverManyTensorsKeepsTheBitsOfItsOps) {
  const std::vector<ir::Shape> shapes = {{4, 64}, {64}, {2}, {1}, {}, {3, 5}, {0, 4}, {64, 64}, {17}};
  for (const bool clip : {false, true}) {
    for (const bool decay : {false, true}) {
      AdamProgram adam(shapes, clip, decay);
      const auto fused = run_once(cpu(), adam.b, adam.inputs);
      EXPECT_EQ(fused, run_once(cpu(), adam.b, adam.inputs, THRT_COMPILE_DEBUG));
      adam.expect_right(fused);
      Loaded together(cpu(), adam.b), alone(cpu(), adam.b, THRT_COMPILE_DEBUG);
      EXPECT_LT(together.info.steps, 20u);
      EXPECT_GT(alone.info.steps, 100u);
    }
  }
}

TEST(CpuOptimiser, ThreadsShareLargeTensors) {
  AdamProgram adam({{300, 301}, {2}, {70001}}, true, false);
  const auto one = run_once(cpu(1), adam.b, adam.inputs), two = run_once(cpu(2), adam.b, adam.inputs);
  adam.expect_right(two);
  EXPECT_EQ(one, two);
}

// Each gradient hangs on the tensor updated before it: one step for all would have no order.
TEST(CpuOptimiser, UpdatesThatWaitForOneAnother) {
  AdamProgram adam({{5}, {5}, {5}}, false, true, true);
  const auto got = run_once(cpu(), adam.b, adam.inputs);
  EXPECT_EQ(got, run_once(cpu(), adam.b, adam.inputs, THRT_COMPILE_DEBUG));
  Loaded apart(cpu(), adam.b);
  EXPECT_GE(apart.info.steps, 5u);  // three updates, two products
}

TEST(CpuOptimiser, AMomentThatIsReadElsewhereStillComesOut) {
  AdamProgram adam({{33}}, false, false);
  Builder& b = adam.b;
  b.output("twice", b.op(OpKind::ADD, {b.slots[1].output_value, b.slots[1].output_value}));
  const auto got = run_once(cpu(), b, adam.inputs);
  const Floats m = elements_of<float>(got.at("m0")), twice = elements_of<float>(got.at("twice"));
  for (std::size_t i = 0; i < m.size(); ++i) EXPECT_EQ(twice[i], 2 * m[i]);
  adam.expect_right(got);
}

// -------------------------------------------------------------------------------------------------------- reductions
TEST(CpuReductions, EveryShapeAgainstF64AndTheSameOnTwoThreads) {
  struct Case {
    ir::Shape shape;
    std::vector<std::int64_t> axes;
  };
  const std::vector<Case> cases = {
      {{64}, {0}},       {{64, 2}, {1}},         {{64, 2}, {0}},    {{37, 2}, {1}},     {{37, 4}, {0}},
      {{3, 8}, {0}},     {{64, 64}, {0}},        {{64, 64}, {1}},   {{64, 64}, {0, 1}}, {{5, 7}, {0}},
      {{5, 7}, {1}},     {{130, 83}, {0}},       {{9, 130}, {1}},   {{4, 6, 18}, {1}},  {{4, 6, 18}, {0, 2}},
      {{100000}, {0}},   {{700, 300}, {0}},      {{700, 300}, {1}}, {{7, 1, 5}, {1}},   {{1}, {0}},
      {{2, 40000}, {0}}, {{40000, 2}, {0}},      {{40000, 2}, {1}}, {{3, 0, 2}, {1}},   {{12288}, {0}},
      {{31}, {}},        {{2, 3, 4, 5}, {0, 3}}, {{300, 16}, {0}},  {{300, 15}, {0}},   {{2, 5000, 3}, {1}}};
  std::uint32_t seed = 0;
  for (const Case& each : cases) {
    for (const OpKind kind : {OpKind::REDUCE_SUM, OpKind::REDUCE_MAX}) {
      Builder b;
      const std::uint32_t y = b.op(kind, {b.input("x", f32(each.shape))}, each.axes);
      b.output("y", y);
      const Floats x = random_floats(static_cast<std::size_t>(each.shape.elements()), ++seed);
      const auto got = run_once(cpu(1), b, {{"x", bytes_of(x)}});
      EXPECT_EQ(got, run_once(cpu(2), b, {{"x", bytes_of(x)}}));
      const bool sum = kind == OpKind::REDUCE_SUM;
      std::vector<double> exact(static_cast<std::size_t>(b.type(y).elements()), sum ? 0.0 : -HUGE_VAL),
          size(exact.size(), 0.0);
      for (std::int64_t i = 0; i < each.shape.elements(); ++i) {
        std::int64_t rest = i, to = 0, stride = 1;
        for (int d = each.shape.rank() - 1; d >= 0; --d) {
          const std::int64_t at = rest % each.shape[d];
          rest /= each.shape[d];
          if (std::count(each.axes.begin(), each.axes.end(), d) > 0) continue;
          to += at * stride;
          stride *= each.shape[d];
        }
        const double term = static_cast<double>(x[static_cast<std::size_t>(i)]);
        double& total = exact[static_cast<std::size_t>(to)];
        total = sum ? total + term : std::max(total, term);
        size[static_cast<std::size_t>(to)] += std::fabs(term);
      }
      const Floats values = elements_of<float>(got.at("y"));
      ASSERT_EQ(values.size(), exact.size());
      const double terms = exact.empty() ? 0.0 : static_cast<double>(x.size()) / static_cast<double>(exact.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (std::isinf(exact[i])) {
          ASSERT_EQ(values[i], -HUGE_VALF);
        } else {
          ASSERT_LE(std::fabs(static_cast<double>(values[i]) - exact[i]), sum ? terms * 0x1p-24 * size[i] : 0.0)
              << b.type(0).str() << " element " << i;
        }
      }
    }
  }
}

TEST(CpuReductions, ANanReachesItsOwnResultOnly) {
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{40, 2}, {40, 64}, {40, 5}, {3, 20}}) {
    for (const std::int64_t axis : {0, 1}) {
      for (const OpKind kind : {OpKind::REDUCE_SUM, OpKind::REDUCE_MAX}) {
        Builder b;
        b.output("y", b.op(kind, {b.input("x", f32({rows, columns}))}, {axis}));
        Floats x = random_floats(static_cast<std::size_t>(rows * columns), 3);
        const std::int64_t r = rows - 2, c = columns - 1;
        x[static_cast<std::size_t>(r * columns + c)] = std::nanf("");
        const Floats y = elements_of<float>(run_once(cpu(), b, {{"x", bytes_of(x)}}).at("y"));
        for (std::size_t i = 0; i < y.size(); ++i) {
          EXPECT_EQ(std::isnan(y[i]), i == static_cast<std::size_t>(axis == 0 ? c : r))
              << rows << "x" << columns << " axis " << axis;
        }
      }
    }
  }
}

// ------------------------------------------------------------------------------------------- broadcasts, tiles, threads
TEST(CpuGroups, RowsAndColumnsAreReadWhereverATileBegins) {
  for (const auto& [rows, columns] :
       {std::pair<std::int64_t, std::int64_t>{64, 2}, {700, 3}, {600, 64}, {90, 1000}, {3, 4097}, {1500, 301}}) {
    Builder b;
    const std::uint32_t x = b.input("x", f32({rows, columns})), row = b.input("row", f32({columns})),
                        column = b.input("column", f32({rows}));
    const auto over = [&](std::uint32_t from, std::int64_t axis) {
      return b.op(OpKind::BROADCAST, {from}, {axis}, f32({rows, columns}));
    };
    b.output("y", b.op(OpKind::MUL, {b.op(OpKind::ADD, {x, over(row, 1)}), over(column, 0)}));
    const Floats xs = random_floats(static_cast<std::size_t>(rows * columns), 4),
                 r = random_floats(static_cast<std::size_t>(columns), 5),
                 c = random_floats(static_cast<std::size_t>(rows), 6);
    const std::map<std::string, Bytes> inputs = {{"x", bytes_of(xs)}, {"row", bytes_of(r)}, {"column", bytes_of(c)}};
    const auto got = run_once(cpu(1), b, inputs);
    EXPECT_EQ(got, run_once(cpu(2), b, inputs));
    const Floats y = elements_of<float>(got.at("y"));
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::size_t width = static_cast<std::size_t>(columns);
      ASSERT_EQ(y[i], (xs[i] + r[i % width]) * c[i / width]) << rows << "x" << columns << " element " << i;
    }
  }
}

TEST(CpuSort, IsStableAtEveryLength) {
  for (const std::int64_t n : {1, 2, 63, 64, 65, 128, 256, 1000, 5000}) {
    std::mt19937 random(static_cast<std::uint32_t>(n));
    std::vector<std::uint32_t> x(static_cast<std::size_t>(n));
    for (std::uint32_t& each : x) each = random() % 3 == 0 ? random() : random() % 50;  // with equals
    Builder b;
    b.output("y", b.op(OpKind::ARGSORT, {b.input("x", Type{DType::kU32, {n}})}, {0}));
    std::vector<std::int32_t> expected(x.size());
    std::iota(expected.begin(), expected.end(), 0);
    std::stable_sort(expected.begin(), expected.end(), [&](std::int32_t i, std::int32_t j) {
      return x[static_cast<std::size_t>(i)] < x[static_cast<std::size_t>(j)];
    });
    EXPECT_EQ(elements_of<std::int32_t>(run_once(cpu(), b, {{"x", bytes_of(x)}}).at("y")), expected) << n;
  }
}

}  // namespace
}  // namespace thrt::testing
