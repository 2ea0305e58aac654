// Products with what follows them, on the plugin: layers forward and backward against f64, and against the same program op
// by op; at several numbers of threads; and the precisions of a context.
#include "host.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>

namespace thrt::testing {
namespace {

using ir::DType;
using ir::OpKind;
using ir::Type;
using Floats = std::vector<float>;

Type f32(std::initializer_list<std::int64_t> dims) {
  return {DType::kF32, dims};
}

Floats random_floats(std::int64_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Floats list(static_cast<std::size_t>(count));
  for (float& x : list) x = uniform(random);
  return list;
}

enum class Form { kTanh, kRelu };

struct Sizes {
  std::int64_t rows, in, hidden, out;
};

// h = act(x w + b), y = h v + c; and from dy: dh = dy v^T, da = dh act'(h), db = column sums of da, dw = x^T da.
void build(Builder& p, const Sizes& s, Form form) {
  const Type hidden = f32({s.rows, s.hidden});
  const std::uint32_t x = p.input("x", f32({s.rows, s.in})), w = p.input("w", f32({s.in, s.hidden}));
  const std::uint32_t b = p.input("b", f32({s.hidden})), v = p.input("v", f32({s.hidden, s.out}));
  const std::uint32_t c = p.input("c", f32({s.out})), dy = p.input("dy", f32({s.rows, s.out}));
  const auto full = [&](float value) {
    return p.op(OpKind::BROADCAST, {p.constant(f32({}), Floats{value})}, {}, hidden);
  };
  const std::uint32_t a =
      p.op(OpKind::ADD, {p.op(OpKind::MATMUL, {x, w}, {0, 0}), p.op(OpKind::BROADCAST, {b}, {1}, hidden)});
  std::uint32_t h = 0, positive = 0;
  if (form == Form::kTanh) {
    h = p.op(OpKind::TANH, {a});
  } else {
    positive = p.op(OpKind::LT, {full(0), a});
    h = p.op(OpKind::SELECT, {positive, a, full(0)});
  }
  p.output("h", h);
  p.output("y", p.op(OpKind::ADD,
                     {p.op(OpKind::MATMUL, {h, v}, {0, 0}), p.op(OpKind::BROADCAST, {c}, {1}, f32({s.rows, s.out}))}));
  const std::uint32_t dh = p.op(OpKind::MATMUL, {dy, v}, {0, 1});
  const std::uint32_t da = form == Form::kTanh
                               ? p.op(OpKind::MUL, {dh, p.op(OpKind::SUB, {full(1), p.op(OpKind::MUL, {h, h})})})
                               : p.op(OpKind::SELECT, {positive, dh, full(0)});
  p.output("da", da);
  p.output("db", p.op(OpKind::REDUCE_SUM, {da}, {0}));
  p.output("dw", p.op(OpKind::MATMUL, {x, da}, {1, 0}));
}

std::map<std::string, Bytes> inputs(const Sizes& s) {
  return {{"x", bytes_of(random_floats(s.rows * s.in, 1))}, {"w", bytes_of(random_floats(s.in * s.hidden, 2))},
          {"b", bytes_of(random_floats(s.hidden, 3))},      {"v", bytes_of(random_floats(s.hidden * s.out, 4))},
          {"c", bytes_of(random_floats(s.out, 5))},         {"dy", bytes_of(random_floats(s.rows * s.out, 6))}};
}

// A matrix in f64; what a product of `terms` terms may be off is in proportion to the sum of their absolute values.
struct Reference {
  std::vector<double> h, y, da, db, da_size;

  Reference(const Sizes& s, Form form, const std::map<std::string, Bytes>& in) {
    const auto at = [&](const char* name) { return elements_of<float>(in.at(name)); };
    const Floats x = at("x"), w = at("w"), b = at("b"), v = at("v"), c = at("c"), dy = at("dy");
    const auto number = [](float each) { return static_cast<double>(each); };
    const auto i = [](std::int64_t index) { return static_cast<std::size_t>(index); };
    db.assign(i(s.hidden), 0.0);
    da_size.assign(i(s.hidden), 0.0);
    for (std::int64_t r = 0; r < s.rows; ++r) {
      for (std::int64_t j = 0; j < s.hidden; ++j) {
        double a = number(b[i(j)]), dh = 0;
        for (std::int64_t k = 0; k < s.in; ++k) a += number(x[i(r * s.in + k)]) * number(w[i(k * s.hidden + j)]);
        for (std::int64_t k = 0; k < s.out; ++k) dh += number(dy[i(r * s.out + k)]) * number(v[i(j * s.out + k)]);
        const double value = form == Form::kTanh ? std::tanh(a) : std::fmax(a, 0.0);
        const double slope = form == Form::kTanh ? 1 - value * value : (a > 0 ? 1.0 : 0.0);
        h.push_back(value);
        da.push_back(dh * slope);
        db[i(j)] += da.back();
        da_size[i(j)] += std::fabs(da.back());
      }
      for (std::int64_t j = 0; j < s.out; ++j) {
        double sum = number(c[i(j)]);
        for (std::int64_t k = 0; k < s.hidden; ++k) sum += h[i(r * s.hidden + k)] * number(v[i(k * s.out + j)]);
        y.push_back(sum);
      }
    }
  }
};

void expect_near(const Floats& got, const std::vector<double>& want, double tolerance, const char* name) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(got[i]), want[i], tolerance) << name << " " << i;
  }
}

const Sizes kSizes[] = {{64, 4, 64, 2},  {256, 17, 64, 1}, {1, 4, 64, 3},     {130, 33, 200, 18}, {5, 3, 7, 4},
                        {64, 64, 1, 64}, {100, 8, 3, 64},  {300, 64, 64, 64}, {32, 300, 600, 18}};

TEST(CpuLayers, ForwardAndBackwardAgainstF64) {
  Host one(THRT_CPU_PLUGIN, 1);
  for (const Sizes& s : kSizes) {
    for (const Form form : {Form::kTanh, Form::kRelu}) {
      Builder p;
      build(p, s, form);
      const auto in = inputs(s);
      const auto got = run_once(one, p, in);
      const Reference want(s, form, in);
      // Operands are at most 1, so a sum of n terms is off by at most n^2 half ulps of 1, in fact far less.
      const double error = 4e-7 * static_cast<double>(s.in + s.out + s.hidden);
      expect_near(elements_of<float>(got.at("h")), want.h, error, "h");
      expect_near(elements_of<float>(got.at("y")), want.y, error * static_cast<double>(s.hidden), "y");
      if (form == Form::kTanh) {  // at a kink the slope may be either
        expect_near(elements_of<float>(got.at("da")), want.da, error * static_cast<double>(s.out), "da");
        expect_near(elements_of<float>(got.at("db")), want.db, error * static_cast<double>(s.out * s.rows), "db");
      }
    }
  }
}

// What is not a sum over rows has the bits that it has op by op; and no result depends on the number of threads.
TEST(CpuLayers, BitsAreThoseOfOpByOpAndOfOneThread) {
  Host one(THRT_CPU_PLUGIN, 1), two(THRT_CPU_PLUGIN, 2), three(THRT_CPU_PLUGIN, 3);
  for (const Sizes& s : kSizes) {
    for (const Form form : {Form::kTanh, Form::kRelu}) {
      Builder p;
      build(p, s, form);
      const auto in = inputs(s);
      const auto fused = run_once(one, p, in), alone = run_once(one, p, in, THRT_COMPILE_DEBUG);
      for (const char* name : {"h", "y", "da", "dw"}) {
        EXPECT_EQ(fused.at(name), alone.at(name)) << name << " of " << s.rows << " rows, " << s.hidden << " wide";
      }
      EXPECT_EQ(run_once(two, p, in), fused) << s.rows << " " << s.hidden;
      EXPECT_EQ(run_once(three, p, in), fused) << s.rows << " " << s.hidden;
    }
  }
}

bool has_precision(Host& host, std::uint32_t precision) {
  thrt_device_info device{};
  device.struct_size = sizeof device;
  host.check(host.api->device_info(host.plugin, 0, &device, host.error()));
  return (device.precisions & (1u << precision)) != 0;
}

// In bf16 only products differ: of operands rounded to 8 bits, with f32 sums.
TEST(CpuLayers, Bf16IsNearF32AndTheSameAtAnyNumberOfThreads) {
  Host exact(THRT_CPU_PLUGIN, 1);
  if (!has_precision(exact, THRT_PRECISION_BF16)) GTEST_SKIP() << "this processor has no bf16";
  Host one(THRT_CPU_PLUGIN, 1, THRT_PRECISION_BF16), two(THRT_CPU_PLUGIN, 2, THRT_PRECISION_BF16);
  for (const Sizes& s : kSizes) {
    Builder p;
    build(p, s, Form::kTanh);
    const auto in = inputs(s);
    const auto got = run_once(one, p, in);
    EXPECT_EQ(run_once(two, p, in), got) << s.rows << " " << s.hidden;
    const Floats h = elements_of<float>(got.at("h")), near = elements_of<float>(run_once(exact, p, in).at("h"));
    EXPECT_NE(h, near);
    // Each term is off by 2^-8 of itself at most; they are at most 1, and tanh does not steepen.
    for (std::size_t i = 0; i < h.size(); ++i) {
      ASSERT_NEAR(h[i], near[i], 0x1p-8 * static_cast<double>(s.in)) << s.rows << " " << s.hidden << " at " << i;
    }
  }
}

// A product that is itself read elsewhere, summed, or read again after a result that could have taken its place.
TEST(CpuLayers, ProductsThatAreReadTwice) {
  Host host(THRT_CPU_PLUGIN, 1);
  const std::int64_t m = 70, k = 20, n = 33;
  Builder p;
  const std::uint32_t x = p.input("x", f32({m, k})), w = p.input("w", f32({k, n}));
  const std::uint32_t z = p.op(OpKind::MATMUL, {x, w}, {0, 0});
  const std::uint32_t squared = p.op(OpKind::MUL, {z, z});
  const std::uint32_t cubed = p.op(OpKind::MUL, {squared, z});
  p.output("squared", squared);
  p.output("cubed", cubed);
  p.output("sum", p.op(OpKind::REDUCE_SUM, {z}, {0}));
  const std::uint32_t other = p.op(OpKind::MATMUL, {x, w}, {0, 0});
  p.output("product", other);
  p.output("negated", p.op(OpKind::NEG, {other}));
  const std::map<std::string, Bytes> in = {{"x", bytes_of(random_floats(m * k, 7))},
                                           {"w", bytes_of(random_floats(k * n, 8))}};
  const auto fused = run_once(host, p, in), alone = run_once(host, p, in, THRT_COMPILE_DEBUG);
  for (const char* name : {"squared", "cubed", "product", "negated"}) EXPECT_EQ(fused.at(name), alone.at(name)) << name;
  const Floats product = elements_of<float>(fused.at("product")), sum = elements_of<float>(fused.at("sum"));
  for (std::int64_t j = 0; j < n; ++j) {
    double want = 0, size = 0;
    for (std::int64_t i = 0; i < m; ++i) {
      want += static_cast<double>(product[static_cast<std::size_t>(i * n + j)]);
      size += std::fabs(static_cast<double>(product[static_cast<std::size_t>(i * n + j)]));
    }
    EXPECT_NEAR(static_cast<double>(sum[static_cast<std::size_t>(j)]), want, static_cast<double>(m) * 0x1p-24 * size);
  }
}

}  // namespace
}  // namespace thrt::testing
