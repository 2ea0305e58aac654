// The bounds against closed forms computed here, and against what f32 arithmetic on this machine really loses.
#include "error_bound.hpp"
#include "case_program.hpp"
#include "suite_bench.hpp"

#include <thrt/ir/float16.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

namespace thrt::conformance {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The value and bound of each element of a slot.
struct Bounded {
  std::vector<double> value, bound;
};

ExpectedSlots run(const CaseProgram& p, bool flushes_denormals = false) {
  return expected({nullptr, test::reference(), 0}, p.graph, p.contents, 1, flushes_denormals);
}

Bounded floats(const Expected& slot) {
  Bounded result;
  result.value.resize(slot.value.size() / sizeof(double));
  if (!slot.value.empty()) std::memcpy(result.value.data(), slot.value.data(), slot.value.size());
  result.bound = slot.bound;
  if (result.bound.empty()) result.bound.assign(result.value.size(), 0.0);
  return result;
}

// Of the one output of a program.
Bounded bounds(const std::function<Tensor(CaseProgram&)>& build, bool flushes_denormals = false) {
  CaseProgram p("bounds");
  p.graph.output("y", build(p));
  return floats(run(p, flushes_denormals).at("y"));
}

std::vector<bool> undecided(const std::function<Tensor(CaseProgram&)>& build) {
  CaseProgram p("undecided");
  p.graph.output("y", build(p));
  const Expected y = run(p).at("y");
  std::vector<bool> result(static_cast<std::size_t>(p.graph.find_slot("y")->type.elements()), false);
  for (std::size_t i = 0; i < y.undecided.size(); ++i) result[i] = y.undecided[i] != std::byte{0};
  return result;
}

Tensor f32(CaseProgram& p, const std::vector<double>& values) {
  return p.given({DType::kF32, {static_cast<std::int64_t>(values.size())}}, values);
}

double ulp_of(double exact, int digits, int least_exponent) {
  if (exact == 0.0) return std::ldexp(1.0, least_exponent);
  return std::ldexp(1.0, std::max(std::ilogb(exact) - digits + 1, least_exponent));
}

double f32_ulp(double exact) {
  return ulp_of(exact, 24, -149);
}

TEST(ErrorBound, OfACorrectlyRoundedOpOnExactOperandsIsWhatRoundingLoses) {
  Numbers numbers(1);
  std::vector<double> a, b;
  for (int i = 0; i < 500; ++i) {
    a.push_back(static_cast<double>(static_cast<float>(numbers.uniform(-3.0, 3.0))));
    b.push_back(static_cast<double>(static_cast<float>(numbers.uniform(-3.0, 3.0))));
  }
  const Bounded sum = bounds([&](CaseProgram& p) { return f32(p, a) + f32(p, b); });
  const Bounded product = bounds([&](CaseProgram& p) { return f32(p, a) * f32(p, b); });
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(sum.bound[i], std::fabs(a[i] + b[i] - static_cast<double>(static_cast<float>(a[i] + b[i]))));
    EXPECT_EQ(product.bound[i], std::fabs(a[i] * b[i] - static_cast<double>(static_cast<float>(a[i] * b[i]))));
  }
}

TEST(ErrorBound, StaysZeroWhereResultsAreExact) {
  const Bounded y = bounds([](CaseProgram& p) {
    Tensor x = f32(p, {1.0, 2.0, 3.0, -5.0});
    for (int i = 0; i < 10; ++i) x = (x + 3.0) * 0.5 - 1.5;
    return x * 1024.0;
  });
  for (const double bound : y.bound) EXPECT_EQ(bound, 0.0);
}

struct Function {
  const char* name;
  Tensor (*op)(Tensor);
  double (*exact)(double);
  double ulps, low, high;
};

// ops.def's ulps of the exact result; a factor of two where that lies just below a power of two.
TEST(ErrorBound, OfAFunctionIsItsUlps) {
  const Function functions[] = {
      {"exp", exp, std::exp, 8, -20.0, 20.0},     {"log", log, std::log, 8, 0.01, 100.0},
      {"log1p", log1p, std::log1p, 8, -0.9, 9.0}, {"tanh", tanh, std::tanh, 8, -3.0, 3.0},
      {"sqrt", sqrt, std::sqrt, 3, 0.0, 50.0},    {"erf", erf, std::erf, 16, -2.0, 2.0},
  };
  for (const Function& f : functions) {
    const std::vector<double> x = Numbers(2).uniforms(300, f.low, f.high);
    const Bounded y = bounds([&](CaseProgram& p) { return f.op(f32(p, x)); });
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double exact = f.exact(static_cast<double>(static_cast<float>(x[i])));
      EXPECT_NEAR(y.value[i], exact, 1e-14 * std::fabs(exact)) << f.name;
      EXPECT_GE(y.bound[i], f.ulps * f32_ulp(exact) * (1 - 1e-12)) << f.name << " at " << x[i];
      EXPECT_LE(y.bound[i], 2 * f.ulps * f32_ulp(exact)) << f.name << " at " << x[i];
    }
  }
}

TEST(ErrorBound, OfSinesHasAFloorAndEndsAtTenThousand) {
  const Bounded y = bounds([](CaseProgram& p) { return sin(f32(p, {1e-3, 3.14159274, 20000.0, kInfinity, kNaN})); });
  EXPECT_EQ(y.bound[0], 0x1p-21);  // 8 ulps of 1e-3 are less
  EXPECT_EQ(y.bound[1], 0x1p-21);
  EXPECT_EQ(y.value[2], 0.0);
  EXPECT_EQ(y.bound[2], 1.0);  // anything in [-1, 1]
  EXPECT_EQ(y.bound[3], kInfinity);
  EXPECT_TRUE(std::isnan(y.value[4]));
  EXPECT_EQ(y.bound[4], 0.0);
}

TEST(ErrorBound, OfHalfFormatsIsF32sAndOneRounding) {
  const std::vector<double> x = Numbers(3).uniforms(200, -5.0, 5.0);
  for (const auto& [dtype, digits, least] : {std::tuple{DType::kF16, 11, -24}, std::tuple{DType::kBF16, 8, -133}}) {
    const Type type{dtype, {200}};
    const Bounded y = bounds([&](CaseProgram& p) { return exp(p.given(type, x)); });
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double wanted = 8 * f32_ulp(y.value[i]) + 0.5 * ulp_of(y.value[i], digits, least);
      EXPECT_GE(y.bound[i], wanted * (1 - 1e-12));
      EXPECT_LE(y.bound[i], 2 * wanted);
    }
  }
}

TEST(ErrorBound, OfASumCountsAdditionsAndMagnitudes) {
  const std::vector<double> x = Numbers(4).uniforms(1000, -1.0, 1.0);
  const Bounded y = bounds([&](CaseProgram& p) { return sum(f32(p, x)); });
  double magnitudes = 0.0;
  for (const double each : x) magnitudes += std::fabs(static_cast<double>(static_cast<float>(each)));
  EXPECT_NEAR(y.bound[0], 999 * 0x1p-24 * magnitudes, 1e-9 * magnitudes);
}

TEST(ErrorBound, OfAProductOfMatricesCountsItsTerms) {
  const std::vector<double> a = {1.0, -2.0, 3.0, 4.0, 5.0, -6.0}, b = {0.5, -0.25, 8.0};
  const Bounded y = bounds([&](CaseProgram& p) {
    return matmul(p.given({DType::kF32, {2, 3}}, a), p.given({DType::kF32, {3, 1}}, b));
  });
  EXPECT_DOUBLE_EQ(y.value[0], 0.5 + 0.5 + 24.0);
  EXPECT_NEAR(y.bound[0], 3 * 0x1p-24 * (0.5 + 0.5 + 24.0), 1e-15);
  EXPECT_DOUBLE_EQ(y.value[1], 2.0 - 1.25 - 48.0);
  EXPECT_NEAR(y.bound[1], 3 * 0x1p-24 * (2.0 + 1.25 + 48.0), 1e-15);
}

TEST(ErrorBound, OfAConvolutionCountsChannelsAndTaps) {
  const auto conv = [](CaseProgram& p, double x, double filter) {
    return conv2d(p.given({DType::kF32, {1, 2, 3, 3}}, {x}), p.given({DType::kF32, {1, 2, 2, 2}}, {filter}));
  };
  const Bounded y = bounds([&](CaseProgram& p) { return conv(p, 3.0, -0.5); });
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(y.value[i], -12.0);
    EXPECT_NEAR(y.bound[i], 8 * 0x1p-24 * 12.0, 1e-15);
  }
}

// An f16 accumulator over terms below 1 stands still at 2048; the bound must be far below what that loses.
TEST(ErrorBound, ExcludesAccumulationInF16) {
  const Type type{DType::kF16, {4096}};
  const std::vector<double> x = Numbers(5).uniforms(4096, 0.5, 0.95);
  const Bounded y = bounds([&](CaseProgram& p) { return sum(p.given(type, x)); });
  std::uint16_t narrow = 0;
  for (const double each : x) {
    narrow = ir::f32_to_f16(ir::f16_to_f32(narrow) + ir::f16_to_f32(ir::f64_to_f16(each)));
  }
  EXPECT_GT(std::fabs(static_cast<double>(ir::f16_to_f32(narrow)) - y.value[0]), 100 * y.bound[0]);
}

// Programs evaluated in f32 here, as an honest backend would: never outside, and not a thousandth of the bound either.
struct Expression {
  const char* name;
  std::function<Tensor(Tensor, Tensor)> graph;
  std::function<float(float, float)> machine;
};

TEST(ErrorBound, HoldsForWhatF32Loses) {
  const Expression expressions[] = {
      {"cancellation", [](Tensor a, Tensor b) { return (a + b) - a; }, [](float a, float b) { return (a + b) - a; }},
      {"quotient", [](Tensor a, Tensor b) { return (a * b + 1.0) / (b * b + 0.5); },
       [](float a, float b) { return (a * b + 1.0f) / (b * b + 0.5f); }},
      {"log of exp", [](Tensor a, Tensor b) { return log(exp(a) + exp(b)); },
       [](float a, float b) { return std::log(std::exp(a) + std::exp(b)); }},
      {"root", [](Tensor a, Tensor b) { return sqrt(a * a + b * b); },
       [](float a, float b) { return std::sqrt(a * a + b * b); }},
      {"power", [](Tensor a, Tensor b) { return pow(a * a + 0.5, b); },
       [](float a, float b) { return std::pow(a * a + 0.5f, b); }},
      {"waves", [](Tensor a, Tensor b) { return sin(a * 7.0) * cos(b) + tanh(a - b); },
       [](float a, float b) { return std::sin(a * 7.0f) * std::cos(b) + std::tanh(a - b); }},
  };
  const std::vector<double> a = Numbers(6).uniforms(4000, -2.0, 2.0), b = Numbers(7).uniforms(4000, -2.0, 2.0);
  for (const Expression& e : expressions) {
    const Bounded y = bounds([&](CaseProgram& p) { return e.graph(f32(p, a), f32(p, b)); });
    double worst = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const auto came = static_cast<double>(e.machine(static_cast<float>(a[i]), static_cast<float>(b[i])));
      const double error = std::fabs(came - y.value[i]);
      ASSERT_LE(error, y.bound[i]) << e.name << " of " << a[i] << ", " << b[i];
      worst = std::max(worst, y.bound[i] > 0.0 ? error / y.bound[i] : 0.0);
    }
    // glibc's functions are within one ulp where ops.def allows eight and more.
    EXPECT_GT(worst, 0.02) << e.name;
  }
}

TEST(ErrorBound, GrowsByTheSlope) {
  // u = 1/3 in f32 is off by e <= 2^-26; 1000 u by 1000 e and its own rounding of at most 2^-16.
  const Bounded y = bounds([](CaseProgram& p) { return (f32(p, {1.0}) / 3.0) * 1000.0; });
  const double division = 3 * f32_ulp(1.0 / 3.0);
  EXPECT_GE(y.bound[0], 1000 * division);
  EXPECT_LE(y.bound[0], 1000 * division + f32_ulp(333.3));
}

TEST(ErrorBound, DecidesComparisonsOnlyOutsideTheBounds) {
  const auto third = [](CaseProgram& p) { return f32(p, {1.0, 1.0, 1.0}) / 3.0; };
  // The exact third, one within its three ulps, one outside.
  const std::vector<double> others = {1.0 / 3.0, 1.0 / 3.0 + 0x1p-24, 1.0 / 3.0 + 0x1p-20};
  EXPECT_EQ(undecided([&](CaseProgram& p) { return less(third(p), f32(p, others)); }),
            (std::vector<bool>{true, true, false}));
  EXPECT_EQ(undecided([&](CaseProgram& p) {
              return equal(f32(p, {1.0, 2.0, kNaN}), f32(p, {1.0, 3.0, 1.0}));
            }),
            (std::vector<bool>{false, false, false}));
}

TEST(ErrorBound, OfASelectThatIsUndecidedSpansBothBranches) {
  const Bounded y = bounds([](CaseProgram& p) {
    const Tensor third = f32(p, {1.0, 1.0}) / 3.0;
    return select(less(third, f32(p, {1.0 / 3.0, 0.5})), f32(p, {10.0, 10.0}), f32(p, {4.0, 4.0}));
  });
  EXPECT_EQ(y.bound[0], 6.0);
  EXPECT_EQ(y.bound[1], 0.0);
}

TEST(ErrorBound, OfStepsIsWholeAtTheStep) {
  const auto near_two = [](CaseProgram& p) { return f32(p, {6.0, 6.3}) / 3.0; };
  const Bounded down = bounds([&](CaseProgram& p) { return floor(near_two(p)); });
  EXPECT_EQ(down.bound[0], 1.0);
  EXPECT_EQ(down.bound[1], 0.0);
  EXPECT_EQ(undecided([&](CaseProgram& p) { return cast(near_two(p), DType::kI32); }),
            (std::vector<bool>{true, false}));
}

TEST(ErrorBound, OfWhatAnUndecidedIndexReadsIsInfinite) {
  const Bounded y = bounds([](CaseProgram& p) {
    const Tensor index = cast(f32(p, {6.0, 6.3}) / 3.0, DType::kI32);
    return gather(f32(p, {1.0, 2.0, 3.0}), index);
  });
  EXPECT_EQ(y.bound[0], kInfinity);
  EXPECT_EQ(y.bound[1], 0.0);
}

TEST(ErrorBound, DecidesOrderWhereIntervalsDoNotMeet) {
  const auto thirds = [](CaseProgram& p) {
    return p.given({DType::kF32, {2, 3}}, {1.0, 2.0, 2.0, 1.0, 2.0, 1.5}) / 3.0;
  };
  EXPECT_EQ(undecided([&](CaseProgram& p) { return argmax(thirds(p), 1); }), (std::vector<bool>{true, false}));
  // Exact ties are decided: the first.
  EXPECT_EQ(undecided([&](CaseProgram& p) { return argmax(f32(p, {1.0, 2.0, 2.0}), 0); }), (std::vector<bool>{false}));
}

TEST(ErrorBound, OfALoopIsThatOfTheUnrolledLoop) {
  const std::vector<double> x = {0.3, -1.7, 4.1};
  const auto step = [](Tensor y) { return tanh(y * 1.25) + 0.3; };
  const Bounded unrolled = bounds([&](CaseProgram& p) {
    Tensor y = f32(p, x);
    for (int i = 0; i < 6; ++i) y = step(y);
    return y;
  });
  const Bounded looped = bounds([&](CaseProgram& p) {
    auto body = std::make_shared<Graph>("body");
    body->input("iteration", {DType::kI32, {}});
    body->update("y", step(body->state("y", {DType::kF32, {3}}, {})));
    return p.graph.append_repeat(6, std::vector<Tensor>{f32(p, x)}, {}, body)[0];
  });
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_GT(unrolled.bound[i], 0.0);
    EXPECT_DOUBLE_EQ(looped.value[i], unrolled.value[i]);
    EXPECT_NEAR(looped.bound[i], unrolled.bound[i], 1e-12 * unrolled.bound[i]);
  }
}

TEST(ErrorBound, AtTheLargestNumberEitherIsRight) {
  // 88.722839 is log of the largest f32, rounded up.
  const Bounded y = bounds([](CaseProgram& p) { return exp(f32(p, {88.72284, 90.0, 88.0})); });
  EXPECT_EQ(y.bound[0], kInfinity);
  EXPECT_EQ(y.value[1], kInfinity);
  EXPECT_EQ(y.bound[1], 0.0);
  EXPECT_LT(y.bound[2], 1e-5 * y.value[2]);
  const Bounded sum_of = bounds([](CaseProgram& p) { return f32(p, {3e38, -3e38}) + f32(p, {3e38, -3e38}); });
  EXPECT_EQ(sum_of.value[0], kInfinity);
  EXPECT_EQ(sum_of.value[1], -kInfinity);
  EXPECT_EQ(sum_of.bound[0], 0.0);
}

TEST(ErrorBound, OfAPartialSumThatMayOverflowIsInfinite) {
  const Bounded y = bounds([](CaseProgram& p) {
    return sum(p.given({DType::kF32, {2, 3}}, {3e38, 3e38, -3e38, 1e38, 1e38, -1e38}), {1});
  });
  EXPECT_EQ(y.bound[0], kInfinity);
  EXPECT_LT(y.bound[1], 1e32);
}

TEST(ErrorBound, OfDivisionByWhatMayBeZeroIsInfinite) {
  const Bounded y = bounds([](CaseProgram& p) {
    const Tensor third = f32(p, {1.0, 1.0}) / 3.0;
    return 1.0 / (third - f32(p, {1.0 / 3.0, 0.5}));
  });
  EXPECT_EQ(y.bound[0], kInfinity);
  EXPECT_LT(y.bound[1], 1e-4);
}

TEST(ErrorBound, KeepsNaNAndInfinityExact) {
  const Bounded y = bounds([](CaseProgram& p) {
    const Tensor x = f32(p, {kNaN, kInfinity, -kInfinity, 0.0});
    return (x * 3.0 + 1.0) * x;
  });
  EXPECT_TRUE(std::isnan(y.value[0]));
  EXPECT_EQ(y.value[1], kInfinity);
  EXPECT_EQ(y.value[2], kInfinity);
  for (const double bound : y.bound) EXPECT_EQ(bound, 0.0);
}

TEST(ErrorBound, FreesTheSignOfAZeroWhereOpsDefDoes) {
  const Bounded larger = bounds([](CaseProgram& p) { return maximum(f32(p, {-0.0, -1.0}), f32(p, {0.0, 0.0})); });
  EXPECT_GT(larger.bound[0], 0.0);
  EXPECT_EQ(larger.bound[1], 0.0);  // of -1 and 0 it is this 0
  const Bounded negated = bounds([](CaseProgram& p) { return -f32(p, {0.0}); });
  EXPECT_TRUE(std::signbit(negated.value[0]));
  EXPECT_EQ(negated.bound[0], 0.0);
  // A free sign is no error: what is compared with it stays decided.
  EXPECT_EQ(undecided([](CaseProgram& p) {
              const Tensor zero = maximum(f32(p, {-0.0}), f32(p, {0.0}));
              return equal(zero * 5.0, f32(p, {0.0}));
            }),
            (std::vector<bool>{false}));
}

TEST(ErrorBound, LetsDenormalsVanishOnlyWhereTheyMay) {
  const auto tiny = [](CaseProgram& p) { return f32(p, {0x1p-126, 1.0}) * 0.25; };
  EXPECT_EQ(bounds(tiny).bound[0], 0.0);
  EXPECT_GE(bounds(tiny, true).bound[0], 0x1p-128);
  EXPECT_LE(bounds(tiny, true).bound[0], 0x1p-126);
  EXPECT_EQ(bounds(tiny, true).bound[1], 0.0);
}

// A denormal that may be zero: what divides by it, takes its power or sorts by it may come out otherwise.
TEST(ErrorBound, FollowsWhatADenormalThatVanishesDoes) {
  const std::vector<double> tiny = {0x1p-140, -0x1p-140, 1.0};
  const auto of = [&](Tensor (*op)(Tensor, Tensor), const std::vector<double>& first,
                      const std::vector<double>& second) {
    return bounds([&](CaseProgram& p) { return op(f32(p, first), f32(p, second)); }, true).bound;
  };
  EXPECT_EQ(of([](Tensor x, Tensor y) { return rem(x, y); }, {1.0, 1.0, 1.0}, tiny)[0], kInfinity);
  EXPECT_EQ(of([](Tensor x, Tensor y) { return x / y; }, {1.0, 1.0, 1.0}, tiny)[1], kInfinity);
  EXPECT_EQ(of([](Tensor x, Tensor y) { return pow(x, y); }, tiny, {1.5, 1.5, 1.5})[1], kInfinity);
  EXPECT_LT(of([](Tensor x, Tensor y) { return pow(x, y); }, tiny, {2.0, 2.0, 2.0})[1], 0x1p-120);
  CaseProgram p("sorted");
  p.graph.output("y", argsort(p.given({DType::kF32, {2, 3}}, {0x1p-140, 0.0, 1.0, 0.0, 1.0, 2.0}), 1));
  const Expected y = run(p, true).at("y");
  EXPECT_EQ(y.undecided, (std::vector<std::byte>{std::byte{1}, std::byte{1}, {}, {}, {}, {}}));
}

TEST(ErrorBound, OfF64CountsTheReferencesOwn) {
  const Type type{DType::kF64, {1}};
  EXPECT_EQ(bounds([&](CaseProgram& p) { return p.given(type, {0.1}) + p.given(type, {0.2}); }).bound[0], 0.0);
  const Bounded y = bounds([&](CaseProgram& p) { return exp(p.given(type, {1.0})); });
  EXPECT_DOUBLE_EQ(y.bound[0], 9 * 0x1p-51);  // an ulp of e is 2^-51
}

}  // namespace
}  // namespace thrt::conformance
