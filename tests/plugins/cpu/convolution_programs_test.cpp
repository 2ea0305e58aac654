// Convolution networks as whole programs: what is fused, and values that lie channels last between steps. Against the
// reference backend, with one thread and with two.
#include <thrt/graph/autodiff.hpp>
#include <thrt/graph/passes.hpp>
#include <thrt/graph/program.hpp>
#include <thrt/graph/tensor_ops.hpp>
#include <thrt/nn/activations.hpp>
#include <thrt/plugin/loaded_plugin.hpp>
#include <thrt/runtime/context.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace thrt {
namespace {

using Floats = std::vector<float>;
using Values = std::map<std::string, std::vector<std::byte>>;

Context open(const char* file, std::uint32_t threads, std::uint32_t precision = THRT_PRECISION_F32) {
  return Context(std::make_shared<LoadedPlugin>(file), {.threads = threads, .precision = precision});
}

const Context& reference() {
  static const Context context = open(THRT_REFERENCE_PLUGIN, 1);
  return context;
}

std::vector<std::byte> bytes_of(const Floats& list) {
  const auto bytes = std::as_bytes(std::span<const float>(list));
  return {bytes.begin(), bytes.end()};
}

struct Ran {
  std::map<std::string, Floats> outputs;
  std::uint32_t steps = 0;
};

Ran run(const Context& context, const Graph& graph, const Values& inputs) {
  const Executable executable(context, lower(optimise(graph)));
  std::vector<Buffer> buffers;
  for (const Program::Slot& slot : executable.program().slots()) {
    buffers.emplace_back(context, slot.type.bytes());
    if (slot.kind == Graph::SlotKind::kInput) buffers.back().write(std::span<const std::byte>(inputs.at(slot.name)));
  }
  Binding binding(executable, buffers);
  binding.run();
  Ran ran;
  ran.steps = executable.info().steps;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Program::Slot& slot = executable.program().slots()[i];
    if (slot.kind == Graph::SlotKind::kOutput) ran.outputs[slot.name] = buffers[i].read<float>();
  }
  return ran;
}

// A random network over small integers: forward sums are exact in any order, so the same elements are positive on every
// backend. One or two rows of convolutions, values with several readers of several kinds, and the gradients of all.
class Network {
 public:
  explicit Network(std::uint32_t seed) : graph_("network"), random_(seed) {
    const std::int64_t images = pick(1, 5);
    Tensor x = input("x", {images, channels(), pick(6, 12), pick(6, 12)}, 2);
    for (std::int64_t i = pick(1, 3); i > 0; --i) x = layer(x);
    if (pick(0, 2) == 0) graph_.output("last", x);
    Tensor loss = sum(x * input("seed", x.shape(), 1));
    for (const Tensor branch : branches_) {
      loss = loss + sum(branch * input("seed" + std::to_string(branch.id()), branch.shape(), 1));
    }
    const std::vector<Tensor> slopes = gradients(loss, sources_);
    for (std::size_t i = 0; i < slopes.size(); ++i) graph_.output("d" + std::to_string(i), slopes[i]);
  }

  const Graph& graph() const { return graph_; }
  const Values& inputs() const { return inputs_; }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  std::int64_t channels() {
    constexpr std::int64_t kChoices[] = {1, 2, 3, 5, 8, 16, 17, 32};
    return kChoices[pick(0, 7)];
  }

  // Mostly zeros, so that sums stay small. (An array of at most `most`.)
  Tensor input(const std::string& name, const Shape& shape, int most) {
    const Type type{DType::kF32, shape};
    Floats list(static_cast<std::size_t>(type.elements()));
    for (float& x : list) x = pick(0, 2) == 0 ? static_cast<float>(pick(-most, most)) : 0.0f;
    inputs_[name] = bytes_of(list);
    const Tensor tensor = graph_.input(name, type);
    if (name.find("seed") != 0) sources_.push_back(tensor);
    return tensor;
  }

  Tensor layer(Tensor x) {
    const std::string name = "layer" + std::to_string(++layers_);
    Conv2dGeometry geometry{.stride_h = pick(1, 3), .stride_w = pick(1, 3)};
    if (pick(0, 1) == 1) {
      geometry.pad_top = pick(0, 2), geometry.pad_bottom = pick(0, 2);
      geometry.pad_left = pick(0, 2), geometry.pad_right = pick(0, 2);
    }
    const std::int64_t kh = std::min(pick(1, 4), x.dim(2)), kw = std::min(pick(1, 4), x.dim(3));
    const Tensor filter = input(name + "/filter", {channels(), x.dim(1), kh, kw}, 1);
    Tensor y = conv2d(x, filter, geometry);
    if (pick(0, 4) > 0) y = y + broadcast_in(input(name + "/bias", {y.dim(1)}, 2), y.shape(), {1});
    if (pick(0, 5) == 0) graph_.output(name + "/before", y);  // then the ReLU has to leave it alone
    if (pick(0, 5) > 0) y = nn::relu(y);
    switch (pick(0, 6)) {
      case 0:  // read by something else, too
        branches_.push_back(y * 2.0);
        break;
      case 1:
        graph_.output(name, y);
        break;
      case 2: {  // read by a second convolution
        const Tensor other = input(name + "/other", {channels(), y.dim(1), 1, 1}, 1);
        branches_.push_back(nn::relu(conv2d(y, other)));
        break;
      }
      case 3:
        branches_.push_back(sum(y, {0, 2, 3}));
        break;
      default:
        break;
    }
    return y;
  }

  Graph graph_;
  std::mt19937 random_;
  Values inputs_;
  std::vector<Tensor> sources_, branches_;
  int layers_ = 0;
};

void expect_same(const Ran& got, const Ran& wanted, double relative, const std::string& what) {
  ASSERT_EQ(got.outputs.size(), wanted.outputs.size());
  for (const auto& [name, expected] : wanted.outputs) {
    const Floats& found = got.outputs.at(name);
    ASSERT_EQ(found.size(), expected.size());
    double largest = 0.0;
    for (const float x : expected) largest = std::max(largest, std::fabs(static_cast<double>(x)));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(found[i], expected[i], relative * largest) << what << ", " << name << "[" << i << "]";
    }
  }
}

TEST(ConvolutionPrograms, RandomNetworksAndTheirGradients) {
  const Context one = open(THRT_CPU_PLUGIN, 1), two = open(THRT_CPU_PLUGIN, 2);
  for (std::uint32_t seed = 0; seed < 120; ++seed) {
    const Network network(seed);
    const Ran wanted = run(reference(), network.graph(), network.inputs());
    // Gradients of three layers may pass 2^24, from where on sums are rounded.
    expect_same(run(one, network.graph(), network.inputs()), wanted, 1e-6, "seed " + std::to_string(seed));
    expect_same(run(two, network.graph(), network.inputs()), wanted, 1e-6, "two threads, seed " + std::to_string(seed));
  }
}

Floats normal(std::int64_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> draw;
  Floats list(static_cast<std::size_t>(count));
  for (float& x : list) x = draw(random);
  return list;
}

TEST(ConvolutionPrograms, BiasAndReluAreOneStepWithTheConvolution) {
  Graph graph("layer");
  const Tensor x = graph.input("x", {DType::kF32, {2, 3, 9, 9}});
  const Tensor y = conv2d(x, graph.input("filter", {DType::kF32, {8, 3, 3, 3}}));
  graph.output("y", nn::relu(y + broadcast_in(graph.input("bias", {DType::kF32, {8}}), y.shape(), {1})));
  const Values inputs = {
      {"x", bytes_of(normal(486, 1))}, {"filter", bytes_of(normal(216, 2))}, {"bias", bytes_of(normal(8, 3))}};
  const Ran got = run(open(THRT_CPU_PLUGIN, 1), graph, inputs);
  EXPECT_EQ(got.steps, 1u);
  expect_same(got, run(reference(), graph, inputs), 1e-6, "layer");
}

// Large enough for two threads to share it: bytes, two layers, and all gradients.
TEST(ConvolutionPrograms, BytesAreReadByTheConvolutionItself) {
  Graph graph("frames");
  const Tensor frames = graph.input("frames", {DType::kU8, {6, 4, 40, 36}});
  const Tensor x = cast(frames, DType::kF32) * (1.0 / 255.0);
  const Tensor first = graph.input("first", {DType::kF32, {16, 4, 8, 8}});
  const Tensor second = graph.input("second", {DType::kF32, {24, 16, 3, 3}});
  const Tensor h = nn::relu(conv2d(x, first, {.stride_h = 4, .stride_w = 4}));
  const Tensor y = nn::relu(conv2d(h, second, {.pad_top = 1, .pad_bottom = 1, .pad_left = 1, .pad_right = 1}));
  const std::vector<Tensor> slopes = gradients(sum(square(y)), {first, second});
  graph.output("y", y);
  graph.output("d0", slopes[0]);
  graph.output("d1", slopes[1]);
  std::mt19937 random(5);
  std::vector<std::byte> bytes(6 * 4 * 40 * 36);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  const Values inputs = {
      {"frames", bytes}, {"first", bytes_of(normal(16 * 4 * 64, 1))}, {"second", bytes_of(normal(24 * 16 * 9, 2))}};
  const Ran wanted = run(reference(), graph, inputs);
  for (const std::uint32_t threads : {1u, 2u}) {
    const Ran got = run(open(THRT_CPU_PLUGIN, threads), graph, inputs);
    expect_same(got, wanted, 2e-5, "frames");
    EXPECT_EQ(got.steps, 7u);  // two layers, d(y^2), the ReLUs' gradients, the inner gradient, two filters' gradients
  }
}

TEST(ConvolutionPrograms, NanBecomesZeroInAReluAndDenormalsStay) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), tiny = 3.0f * std::numeric_limits<float>::denorm_min();
  Graph graph("special");
  const Tensor x = graph.input("x", {DType::kF32, {1, 1, 4, 5}});
  const Tensor filter = graph.input("filter", {DType::kF32, {2, 1, 1, 1}});
  const Tensor z = conv2d(x, filter);
  graph.output("y", nn::relu(z));
  graph.output("plain", conv2d(x, graph.input("again", {DType::kF32, {2, 1, 1, 1}})));
  Floats list(20, 1.0f);
  list[3] = nan;
  list[7] = tiny;
  list[8] = -tiny;
  const Values inputs = {
      {"x", bytes_of(list)}, {"filter", bytes_of({1.0f, -1.0f})}, {"again", bytes_of({1.0f, -1.0f})}};
  const Ran got = run(open(THRT_CPU_PLUGIN, 1), graph, inputs);
  EXPECT_EQ(got.outputs.at("y")[3], 0.0f);
  EXPECT_EQ(got.outputs.at("y")[7], tiny);
  EXPECT_EQ(got.outputs.at("y")[8], 0.0f);
  EXPECT_EQ(got.outputs.at("y")[28], tiny);
  EXPECT_TRUE(std::isnan(got.outputs.at("plain")[3]));
  EXPECT_EQ(got.outputs.at("plain")[27], -tiny);
}

// In bf16 operands are rounded and sums are not: what the reference makes of operands that a cast has rounded.
TEST(ConvolutionPrograms, Bf16RoundsOperandsAlone) {
  const Context probe = open(THRT_CPU_PLUGIN, 1);
  if ((probe.device_info().precisions & 1u << THRT_PRECISION_BF16) == 0) GTEST_SKIP() << "this processor has no bf16";
  for (const std::int64_t channels : {3, 8}) {
    const auto network = [&](bool rounds) {
      Graph graph("bf16");
      const auto operand = [&](const char* name, const Shape& shape) {
        const Tensor t = graph.input(name, {DType::kF32, shape});
        return rounds ? cast(cast(t, DType::kBF16), DType::kF32) : t;
      };
      const Tensor x = operand("x", {5, channels, 20, 18}), filter = operand("filter", {20, channels, 3, 4});
      const Conv2dGeometry geometry{.stride_h = 2, .stride_w = 1, .pad_top = 1, .pad_left = 2};
      const Tensor y = conv2d(x, filter, geometry);
      const Tensor dy = operand("dy", y.shape());
      const std::vector<std::int64_t> attributes = {2, 1, 1, 0, 2, 0};
      graph.output("y", y);
      graph.output("dx", graph.append(OpKind::CONV2D_GRAD_INPUT, {dy, filter}, attributes, x.type()));
      graph.output("dfilter", graph.append(OpKind::CONV2D_GRAD_FILTER, {dy, x}, attributes, filter.type()));
      return graph;
    };
    const Graph plain = network(false);
    Values inputs;
    for (const Graph::Slot& slot : plain.slots()) {
      if (slot.kind == Graph::SlotKind::kInput) inputs[slot.name] = bytes_of(normal(slot.type.elements(), 9));
    }
    const Ran wanted = run(reference(), network(true), inputs), unrounded = run(reference(), plain, inputs);
    for (const std::uint32_t threads : {1u, 2u}) {
      const Ran got = run(open(THRT_CPU_PLUGIN, threads, THRT_PRECISION_BF16), plain, inputs);
      expect_same(got, wanted, 2e-6, "bf16");
      // It did round: the exact result is further away.
      double apart = 0.0;
      for (std::size_t i = 0; i < got.outputs.at("y").size(); ++i) {
        apart = std::max(apart, std::fabs(static_cast<double>(got.outputs.at("y")[i] - unrounded.outputs.at("y")[i])));
      }
      EXPECT_GT(apart, 1e-3);
    }
  }
}

}  // namespace
}  // namespace thrt
