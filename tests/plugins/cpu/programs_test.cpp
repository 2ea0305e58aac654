// Whole programs on the plugin: state slots, repeat, casts of halves, options, refusals, finiteness checks, determinism, the file itself.
#include "host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <random>

#include <omp.h>

namespace thrt::testing {
namespace {

using ir::DType;
using ir::OpKind;
using ir::Type;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;

Host& cpu() {
  static Host host(THRT_CPU_PLUGIN);
  return host;
}

Type f32(std::initializer_list<std::int64_t> dims) {
  return {DType::kF32, dims};
}
const Type kInt{DType::kI32, {}};

Floats floats(const std::map<std::string, Bytes>& outputs, const std::string& name) {
  return elements_of<float>(outputs.at(name));
}

Floats random_floats(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Floats list(count);
  for (float& x : list) x = uniform(random);
  return list;
}

// ---------------------------------------------------------------------------------------------------------------- slots

TEST(CpuSlots, SwapRotatePassThroughAndShare) {
  Builder b;
  const std::uint32_t x = b.input("x", f32({3})), y = b.input("y", f32({3})), z = b.input("z", f32({3}));
  const std::uint32_t kept = b.input("kept", f32({3}));
  b.output("x", y);
  b.output("y", z);
  b.output("z", x);
  b.output("kept", kept);
  const std::uint32_t sum = b.op(OpKind::ADD, {x, y});
  b.output("first", sum);
  b.output("second", sum);
  b.output("copy", x);
  Loaded loaded(cpu(), b);
  loaded.set("x", bytes_of(Floats{1, 2, 3}));
  loaded.set("y", bytes_of(Floats{4, 5, 6}));
  loaded.set("z", bytes_of(Floats{7, 8, 9}));
  loaded.set("kept", bytes_of(Floats{-1, -2, -3}));
  loaded.run();
  EXPECT_THAT(elements_of<float>(loaded.get("x")), ElementsAre(4, 5, 6));
  EXPECT_THAT(elements_of<float>(loaded.get("y")), ElementsAre(7, 8, 9));
  EXPECT_THAT(elements_of<float>(loaded.get("z")), ElementsAre(1, 2, 3));
  EXPECT_THAT(elements_of<float>(loaded.get("kept")), ElementsAre(-1, -2, -3));
  EXPECT_THAT(elements_of<float>(loaded.get("first")), ElementsAre(5, 7, 9));
  EXPECT_THAT(elements_of<float>(loaded.get("second")), ElementsAre(5, 7, 9));
  EXPECT_THAT(elements_of<float>(loaded.get("copy")), ElementsAre(1, 2, 3));
  loaded.run(2);
  EXPECT_THAT(elements_of<float>(loaded.get("x")), ElementsAre(1, 2, 3));
}

// The new state is needed by one op and the old one by a later op of the same group, plain and through strides.
TEST(CpuSlots, StateReadAfterItsUpdate) {
  constexpr std::int64_t kSide = 70;  // several tiles
  Builder b;
  const std::uint32_t s = b.input("s", f32({kSide, kSide})), g = b.input("g", f32({kSide, kSide}));
  const std::uint32_t next = b.op(OpKind::ADD, {s, g});
  b.output("s", next);
  b.output("late", b.op(OpKind::SUB, {next, b.op(OpKind::ADD, {s, s})}));
  b.output("turned", b.op(OpKind::ADD, {next, b.op(OpKind::TRANSPOSE, {s}, {1, 0})}));
  const Floats old = random_floats(kSide * kSide, 1), step = random_floats(kSide * kSide, 2);
  const auto got = run_once(cpu(), b, {{"s", bytes_of(old)}, {"g", bytes_of(step)}});
  const Floats state = floats(got, "s"), late = floats(got, "late"), turned = floats(got, "turned");
  for (std::size_t i = 0; i < old.size(); ++i) {
    const std::size_t other = i % kSide * kSide + i / kSide;
    ASSERT_EQ(state[i], old[i] + step[i]);
    ASSERT_EQ(late[i], (old[i] + step[i]) - (old[i] + old[i]));
    ASSERT_EQ(turned[i], (old[i] + step[i]) + old[other]);
  }
}

TEST(CpuSlots, OutputsThatNobodyComputes) {
  Builder b;
  const std::uint32_t x = b.input("x", f32({2, 3}));
  b.output("constant", b.constant(f32({2}), Floats{5, 6}));
  b.output("reshaped", b.op(OpKind::RESHAPE, {x}, {}, f32({3, 2})));
  b.output("broadcast", b.op(OpKind::BROADCAST, {x}, {1, 2}, f32({2, 2, 3})));
  b.output("empty", b.op(OpKind::SLICE, {x}, {0, 0, 0, 3, 1, 1}));
  const auto got = run_once(cpu(), b, {{"x", bytes_of(Floats{1, 2, 3, 4, 5, 6})}});
  EXPECT_THAT(floats(got, "constant"), ElementsAre(5, 6));
  EXPECT_THAT(floats(got, "reshaped"), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(floats(got, "broadcast"), ElementsAre(1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(floats(got, "empty"), ElementsAre());
}

// --------------------------------------------------------------------------------------------------------------- repeat

// (a, b) -> (b, a + b), and c untouched: Fibonacci's numbers.
std::shared_ptr<Builder> fibonacci() {
  auto body = std::make_shared<Builder>();
  body->input("i", kInt);
  const std::uint32_t a = body->input("a", kInt), b = body->input("b", kInt), c = body->input("c", kInt);
  body->output("a", b);
  body->output("b", body->op(OpKind::ADD, {a, b}));
  body->output("c", c);
  return body;
}

TEST(CpuRepeat, CarriedValuesShiftAndPassThrough) {
  for (const auto& [trips, a, b] :
       {std::array{0, 0, 1}, std::array{1, 1, 1}, std::array{2, 1, 2}, std::array{30, 832040, 1346269}}) {
    Builder p;
    const std::uint32_t x = p.input("x", kInt), y = p.input("y", kInt), z = p.input("z", kInt);
    const std::uint32_t first = p.repeat(trips, {x, y, z}, {}, fibonacci());
    p.output("a", first);
    p.output("b", first + 1);
    p.output("c", first + 2);
    p.output("old", x);
    const auto got =
        run_once(cpu(), p, {{"x", bytes_of(Ints{0})}, {"y", bytes_of(Ints{1})}, {"z", bytes_of(Ints{-9})}});
    EXPECT_THAT(elements_of<std::int32_t>(got.at("a")), ElementsAre(a)) << trips;
    EXPECT_THAT(elements_of<std::int32_t>(got.at("b")), ElementsAre(b)) << trips;
    EXPECT_THAT(elements_of<std::int32_t>(got.at("c")), ElementsAre(-9));
    EXPECT_THAT(elements_of<std::int32_t>(got.at("old")), ElementsAre(0));
  }
}

TEST(CpuRepeat, SwapInStateSlots) {
  for (const int trips : {0, 1, 2, 5}) {
    const auto body = std::make_shared<Builder>();
    body->input("i", kInt);
    const std::uint32_t a = body->input("a", f32({5})), b = body->input("b", f32({5}));
    body->output("a", b);
    body->output("b", a);
    Builder p;
    const std::uint32_t x = p.input("x", f32({5})), y = p.input("y", f32({5}));
    const std::uint32_t first = p.repeat(trips, {x, y}, {}, body);
    p.output("x", first);
    p.output("y", first + 1);
    const Floats one = {1, 2, 3, 4, 5}, two = {6, 7, 8, 9, 10};
    const auto got = run_once(cpu(), p, {{"x", bytes_of(one)}, {"y", bytes_of(two)}});
    EXPECT_EQ(floats(got, "x"), trips % 2 == 0 ? one : two);
    EXPECT_EQ(floats(got, "y"), trips % 2 == 0 ? two : one);
  }
}

// One operand carried twice and given as an invariant too: three memories, or two would share one.
TEST(CpuRepeat, OneValueForSeveralOperands) {
  const auto body = std::make_shared<Builder>();
  const std::uint32_t i = body->input("i", kInt);
  const std::uint32_t a = body->input("a", kInt), b = body->input("b", kInt), same = body->input("same", kInt);
  body->output("a", body->op(OpKind::ADD, {a, same}));
  body->output("b", body->op(OpKind::ADD, {b, i}));
  Builder p;
  const std::uint32_t x = p.input("x", kInt);
  const std::uint32_t first = p.repeat(4, {x, x}, {x}, body);
  p.output("x", first);
  p.output("y", first + 1);
  const auto got = run_once(cpu(), p, {{"x", bytes_of(Ints{10})}});
  EXPECT_THAT(elements_of<std::int32_t>(got.at("x")), ElementsAre(50));
  EXPECT_THAT(elements_of<std::int32_t>(got.at("y")), ElementsAre(16));
}

// Minibatches by dynamic slices inside an epoch loop: nested, with the iteration index of each level.
TEST(CpuRepeat, NestedWithDynamicSlices) {
  const auto minibatch = std::make_shared<Builder>();
  const std::uint32_t index = minibatch->input("i", kInt);
  const std::uint32_t total = minibatch->input("total", f32({}));
  const std::uint32_t data = minibatch->input("data", f32({12})), epoch = minibatch->input("epoch", kInt);
  const std::uint32_t three = minibatch->constant(kInt, Ints{3});
  const std::uint32_t start =
      minibatch->op(OpKind::RESHAPE, {minibatch->op(OpKind::MUL, {index, three})}, {}, Type{DType::kI32, {1}});
  const std::uint32_t block = minibatch->op(OpKind::DYNAMIC_SLICE, {data, start}, {3});
  const std::uint32_t weight = minibatch->op(OpKind::CAST, {epoch}, {}, f32({}));
  const std::uint32_t sum = minibatch->op(OpKind::MUL, {minibatch->op(OpKind::REDUCE_SUM, {block}, {0}), weight});
  minibatch->output("total", minibatch->op(OpKind::ADD, {total, sum}));
  const auto epochs = std::make_shared<Builder>();
  const std::uint32_t e = epochs->input("i", kInt);
  const std::uint32_t carried = epochs->input("total", f32({})), all = epochs->input("data", f32({12}));
  epochs->output("total", epochs->repeat(4, {carried}, {all, e}, minibatch));
  Builder p;
  const std::uint32_t x = p.input("total", f32({})), d = p.input("data", f32({12}));
  p.output("total", p.repeat(5, {x}, {d}, epochs));
  Floats values(12);
  for (std::size_t i = 0; i < 12; ++i) values[i] = static_cast<float>(i);
  const auto got = run_once(cpu(), p, {{"total", bytes_of(Floats{1})}, {"data", bytes_of(values)}});
  EXPECT_THAT(floats(got, "total"), ElementsAre(1 + 66 * (0 + 1 + 2 + 3 + 4)));  // 66: the sum of 0 .. 11
}

// Gradient descent on a quadratic by hand: x <- x - r (x - c), in closed form c + (1 - r)^n (x0 - c).
TEST(CpuRepeat, EqualsUnrolledRuns) {
  const auto step = [](Builder& b, std::uint32_t x, std::uint32_t c) {
    const std::uint32_t rate = b.op(OpKind::BROADCAST, {b.constant(f32({}), Floats{0.25f})}, {}, f32({300}));
    return b.op(OpKind::SUB, {x, b.op(OpKind::MUL, {rate, b.op(OpKind::SUB, {x, c})})});
  };
  const auto body = std::make_shared<Builder>();
  body->input("i", kInt);
  const std::uint32_t inner = body->input("x", f32({300})), target = body->input("c", f32({300}));
  body->output("x", step(*body, inner, target));
  Builder looped, single;
  const std::uint32_t x = looped.input("x", f32({300})), c = looped.input("c", f32({300}));
  looped.output("x", looped.repeat(7, {x}, {c}, body));
  const std::uint32_t x1 = single.input("x", f32({300})), c1 = single.input("c", f32({300}));
  single.output("x", step(single, x1, c1));
  const Floats start = random_floats(300, 4), goal = random_floats(300, 5);
  const Floats at_once = floats(run_once(cpu(), looped, {{"x", bytes_of(start)}, {"c", bytes_of(goal)}}), "x");
  Loaded steps(cpu(), single);
  steps.set("x", bytes_of(start));
  steps.set("c", bytes_of(goal));
  steps.run(7);
  EXPECT_EQ(elements_of<float>(steps.get("x")), at_once);
  for (std::size_t i = 0; i < 300; ++i) {
    const double exact = goal[i] + std::pow(0.75, 7) * (static_cast<double>(start[i]) - static_cast<double>(goal[i]));
    EXPECT_NEAR(at_once[i], exact, 1e-6);
  }
}

// -------------------------------------------------------------------------------------------------------- narrow floats

TEST(CpuHalves, AreStoredMovedAndCast) {
  Builder b;
  const std::uint32_t x = b.input("x", f32({2, 3}));
  const std::uint32_t half = b.op(OpKind::CAST, {x}, {}, Type{DType::kF16, {2, 3}});
  const std::uint32_t turned = b.op(OpKind::TRANSPOSE, {half}, {1, 0});
  const std::uint32_t two = b.op(OpKind::CONCAT, {turned, turned}, {0});
  b.output("y", b.op(OpKind::CAST, {two}, {}, f32({6, 2})));
  b.output("brain", b.op(OpKind::CAST, {x}, {}, Type{DType::kBF16, {2, 3}}));
  const auto got = run_once(cpu(), b, {{"x", bytes_of(Floats{1, 2, 3, 0.1f, 70000, -6})}});
  const float inf = std::numeric_limits<float>::infinity();
  // The half nearest to 0.1 is 0x2e66.
  EXPECT_THAT(floats(got, "y"), ElementsAre(1, 0.0999755859375f, 2, inf, 3, -6, 1, 0.0999755859375f, 2, inf, 3, -6));
  EXPECT_THAT(elements_of<std::uint16_t>(got.at("brain")), ElementsAre(0x3f80, 0x4000, 0x4040, 0x3dcd, 0x4789, 0xc0c0));
}

TEST(CpuRefusals, AreListedTogetherWithReasons) {
  Builder b;
  const std::uint32_t h = b.input("h", {DType::kF16, {4}}), d = b.input("d", {DType::kF64, {4}}),
                      x = b.input("x", f32({4}));
  b.output("a", b.op(OpKind::ADD, {h, h}));
  b.output("b", b.op(OpKind::ADD, {x, x}));
  b.output("c", b.op(OpKind::EXP, {d}));
  b.output("e", b.op(OpKind::CAST, {d}, {}, f32({4})));
  thrt_verdict verdicts[8] = {};
  std::uint32_t count = 0;
  Host& host = cpu();
  host.check(host.api->check(host.context, &b.built(), verdicts, 8, &count, host.error()));
  ASSERT_EQ(count, 3u);
  EXPECT_EQ(verdicts[0].op_index, 0u);
  EXPECT_THAT(verdicts[0].reason, HasSubstr("add"));
  EXPECT_THAT(verdicts[0].reason, HasSubstr("f16"));
  EXPECT_EQ(verdicts[1].op_index, 2u);
  EXPECT_THAT(verdicts[1].reason, HasSubstr("f64"));
  EXPECT_EQ(verdicts[2].op_index, 3u);
  EXPECT_THROW(Loaded(host, b), HostError);
}

TEST(CpuRefusals, OtherPrecisions) {
  Host& host = cpu();
  for (const auto& [precision, reason] : {std::pair<std::uint32_t, const char*>{THRT_PRECISION_TF32, "tf32"},
                                          {THRT_PRECISION_BF16, "avx512_bf16"},
                                          {THRT_PRECISION_F16, "f16"}}) {
    thrt_device_info device{};
    device.struct_size = sizeof device;
    host.check(host.api->device_info(host.plugin, 0, &device, host.error()));
    if ((device.precisions & (1u << precision)) != 0) continue;  // bf16, where the processor has it
    thrt_context_options options{};
    options.struct_size = sizeof options;
    options.precision = precision;
    thrt_context* context = nullptr;
    thrt_error error{};
    EXPECT_EQ(host.api->context_create(host.plugin, &options, &context, &error),
              static_cast<thrt_status>(THRT_UNSUPPORTED));
    EXPECT_EQ(context, nullptr);
    EXPECT_THAT(std::string(error.message), HasSubstr(reason));
  }
}

// ------------------------------------------------------------------------------------------------------------ debugging

TEST(CpuCheckFinite, NamesTheFirstOpThatMadeANan) {
  Builder b;
  const std::uint32_t x = b.input("x", f32({3}));
  const std::uint32_t y = b.op(OpKind::NEG, {x});
  const std::uint32_t z = b.op(OpKind::LOG, {y});  // op 1
  b.output("y", b.op(OpKind::EXP, {z}));
  Loaded loaded(cpu(), b, THRT_COMPILE_CHECK_FINITE);
  loaded.set("x", bytes_of(Floats{-1, -2, -3}));
  EXPECT_NO_THROW(loaded.run());
  loaded.set("x", bytes_of(Floats{-1, 2, -3}));
  try {
    loaded.run();
    FAIL() << "the NaN was not seen";
  } catch (const HostError& error) {
    EXPECT_EQ(error.error.code, static_cast<std::uint32_t>(THRT_NON_FINITE));
    EXPECT_EQ(error.error.op_index, 1u);
    EXPECT_THAT(error.what(), HasSubstr("log"));
  }
  loaded.set("x", bytes_of(Floats{-1, -2, -3}));
  EXPECT_NO_THROW(loaded.run());
}

TEST(CpuCheckFinite, CountsTheOpsOfSubPrograms) {
  const auto body = std::make_shared<Builder>();
  body->input("i", kInt);
  const std::uint32_t a = body->input("a", f32({}));
  body->output("a", body->op(OpKind::MUL, {a, a}));  // op 2: after neg and repeat
  Builder b;
  const std::uint32_t x = b.op(OpKind::NEG, {b.input("x", f32({}))});
  b.output("y", b.repeat(10, {x}, {}, body));
  Loaded loaded(cpu(), b, THRT_COMPILE_CHECK_FINITE);
  loaded.set("x", bytes_of(Floats{1000}));
  try {
    loaded.run();
    FAIL() << "the infinity was not seen";
  } catch (const HostError& error) {
    EXPECT_EQ(error.error.op_index, 2u);
  }
}

TEST(CpuInfo, TellsWhatWasMade) {
  Builder b;
  const Type type = f32({1000});
  const std::uint32_t x = b.input("x", type), k = b.op(OpKind::BROADCAST, {b.constant(f32({}), Floats{2})}, {}, type);
  b.output("x", b.op(OpKind::TANH, {b.op(OpKind::ADD, {b.op(OpKind::MUL, {x, k}), x})}));
  Loaded fused(cpu(), b), alone(cpu(), b, THRT_COMPILE_DEBUG);
  EXPECT_EQ(fused.info.ops, 5u);
  EXPECT_EQ(fused.info.ops_on_device, 5u);
  EXPECT_EQ(fused.info.steps, 1u);  // mul, add and tanh in one; the constant and its broadcast are read in place
  EXPECT_EQ(fused.info.launches, 1u);
  EXPECT_THAT(fused.info.kind, ::testing::StartsWith("closures, "));  // and how many threads
  EXPECT_EQ(fused.info.constant_bytes, 64u);
  EXPECT_EQ(alone.info.steps, 4u);

  thrt_device_info device{};
  device.struct_size = sizeof device;
  Host& host = cpu();
  host.check(host.api->device_info(host.plugin, 0, &device, host.error()));
  EXPECT_EQ(device.kind, static_cast<std::uint32_t>(THRT_DEVICE_CPU));
  EXPECT_EQ(device.available, 1u);
  EXPECT_GE(device.compute_units, 1u);
  EXPECT_GT(device.memory_total, device.memory_free / 2);
  EXPECT_NE(std::string(device.name), "");
  // bf16 depends on the processor; nothing else is claimed.
  EXPECT_EQ(device.precisions & ~(1u << THRT_PRECISION_BF16), 1u << THRT_PRECISION_F32);
}

TEST(CpuDeterminism, SameBitsEachTimeAndTheHostsThreadsStay) {
  Builder b;
  const std::uint32_t x = b.input("x", f32({4, 8, 20, 20})), f = b.input("f", f32({16, 8, 3, 3}));
  const std::uint32_t y = b.op(OpKind::CONV2D, {x, f}, {1, 1, 1, 1, 1, 1});
  b.output("sum", b.op(OpKind::REDUCE_SUM, {b.op(OpKind::TANH, {y})}, {0, 2, 3}));
  const Bytes image = bytes_of(random_floats(4 * 8 * 400, 6)), filter = bytes_of(random_floats(16 * 8 * 9, 7));
  const int threads = omp_get_max_threads();
  omp_set_num_threads(3);
  for (const std::uint32_t count : {1u, 2u}) {
    Host host(THRT_CPU_PLUGIN, count);
    const Bytes first = run_once(host, b, {{"x", image}, {"f", filter}}).at("sum");
    for (int i = 0; i < 3; ++i) EXPECT_EQ(run_once(host, b, {{"x", image}, {"f", filter}}).at("sum"), first);
    EXPECT_EQ(omp_get_max_threads(), 3);
  }
  omp_set_num_threads(threads);
  // OpenMP's workers would live until the process ends, and the leak checker of GCC 12 stumbles over their thread-local storage.
  omp_pause_resource_all(omp_pause_hard);
}

TEST(CpuFile, LinksNothingOfTheHost) {
  const std::string command = std::string("readelf -d '") + THRT_CPU_PLUGIN + "'";
  std::FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string text;
  char part[512];
  while (std::fgets(part, sizeof part, pipe) != nullptr) text += part;
  pclose(pipe);
  EXPECT_THAT(text, HasSubstr("libstdc++.so"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("thrt")));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("Boost")));
}

TEST(CpuFile, ExportsTheTwoSymbols) {
  const std::string command = std::string("nm -D --defined-only --format=posix '") + THRT_CPU_PLUGIN + "'";
  std::FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::vector<std::string> symbols;
  char line[512];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    const std::string text = line;
    symbols.push_back(text.substr(0, text.find_first_of(" @")));
  }
  pclose(pipe);
  EXPECT_THAT(symbols, ::testing::UnorderedElementsAre("thrt_backend_entry_v1", "thrt_backend_manifest_v1"));
}

}  // namespace
}  // namespace thrt::testing
