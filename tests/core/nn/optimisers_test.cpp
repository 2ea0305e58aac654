#include "near_all.hpp"
#include "recording.hpp"
#include "reference_device.hpp"

#include <thrt/error.hpp>
#include <thrt/graph/tensor_ops.hpp>
#include <thrt/nn/optimisers.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace thrt::test {
namespace {

constexpr std::size_t kSteps = 12;
using Optimise = std::function<void(Graph&, std::span<const std::string>, std::span<const Tensor>, Tensor)>;

Graph update_graph(DType dtype, const Optimise& optimise) {
  Graph graph("update");
  graph.state("w", {dtype, {3}}, Init::zeros());
  const std::vector<std::string> names = {"w"};
  const std::vector<Tensor> slopes = {graph.input("slope", {dtype, {3}})};
  optimise(graph, names, slopes, graph.input("learning_rate", {dtype, {}}));
  return graph;
}

// The parameter after each of the recorded gradients.
std::vector<double> path_of(const Graph& graph, DType dtype, double learning_rate) {
  Session session(graph);
  session.set("w", {{dtype, {3}}, recorded("start")});
  session.set("learning_rate", {{dtype, {}}, std::vector<double>{learning_rate}});
  std::vector<double> path;
  for (std::size_t step = 0; step < kSteps; ++step) {
    session.set("slope", {{dtype, {3}}, recorded("gradients", 3 * step, 3)});
    session.run();
    for (const double w : session.get("w").numbers()) path.push_back(w);
  }
  return path;
}

// In f64 to PyTorch's last digits, in f32 to its own.
void expect_recorded(const std::string& name, double learning_rate, const Optimise& optimise) {
  SCOPED_TRACE(name);
  const std::vector<double>& expected = recorded("optimiser/" + name);
  const Graph in_f64 = update_graph(DType::kF64, optimise), in_f32 = update_graph(DType::kF32, optimise);
  expect_near_all(path_of(in_f64, DType::kF64, learning_rate), expected, 1e-13);
  expect_near_all(path_of(in_f32, DType::kF32, learning_rate), expected, 2e-6);
  expect_near_all(path_of(thrt::optimise(in_f32), DType::kF32, learning_rate), expected, 2e-6);
}

TEST(Adam, FollowsTorch) {
  expect_recorded("adam", 0.01,
                  [](auto& g, auto names, auto slopes, Tensor rate) { nn::adam(g, names, slopes, rate); });
  expect_recorded("adam_ppo", 3e-4, [](auto& g, auto names, auto slopes, Tensor rate) {
    nn::adam(g, names, slopes, rate, {.eps = 1e-5});
  });
  expect_recorded("adamw", 0.01, [](auto& g, auto names, auto slopes, Tensor rate) {
    nn::adam(g, names, slopes, rate, {.beta1 = 0.8, .beta2 = 0.95, .weight_decay = 0.1});
  });
}

TEST(Sgd, FollowsTorch) {
  expect_recorded("sgd", 0.01, [](auto& g, auto names, auto slopes, Tensor rate) { nn::sgd(g, names, slopes, rate); });
  expect_recorded("sgd_momentum", 0.01, [](auto& g, auto names, auto slopes, Tensor rate) {
    nn::sgd(g, names, slopes, rate, {.momentum = 0.9});
  });
  expect_recorded("sgd_nesterov", 0.01, [](auto& g, auto names, auto slopes, Tensor rate) {
    nn::sgd(g, names, slopes, rate, {.momentum = 0.9, .nesterov = true, .weight_decay = 0.1});
  });
}

TEST(Rmsprop, FollowsTorch) {
  expect_recorded("rmsprop", 0.01,
                  [](auto& g, auto names, auto slopes, Tensor rate) { nn::rmsprop(g, names, slopes, rate); });
  expect_recorded("rmsprop_momentum", 0.01, [](auto& g, auto names, auto slopes, Tensor rate) {
    nn::rmsprop(g, names, slopes, rate, {.decay = 0.9, .eps = 1e-5, .momentum = 0.8});
  });
}

// TF 1's rule as its documentation states it, one number at a time: ms <- rho ms + (1 - rho) g^2;
// mom <- momentum mom + lr g / sqrt(ms + eps); p <- p - mom, with ms = 1 and mom = 0 at first.
TEST(Rmsprop, FollowsTensorFlow) {
  for (const double momentum : {0.0, 0.7}) {
    const Graph graph = update_graph(DType::kF64, [&](auto& g, auto names, auto slopes, Tensor rate) {
      nn::rmsprop(
          g, names, slopes, rate,
          {.decay = 0.9, .eps = 1e-5, .momentum = momentum, .variant = nn::RmspropOptions::Variant::kTensorFlow});
    });
    std::vector<double> expected(3 * kSteps);
    for (std::size_t i = 0; i < 3; ++i) {
      double p = recorded("start")[i], ms = 1.0, mom = 0.0;
      for (std::size_t step = 0; step < kSteps; ++step) {
        const double g = recorded("gradients")[3 * step + i];
        ms = 0.9 * ms + 0.1 * g * g;
        mom = momentum * mom + 0.02 * g / std::sqrt(ms + 1e-5);
        p -= mom;
        expected[3 * step + i] = p;
      }
    }
    expect_near_all(path_of(graph, DType::kF64, 0.02), expected, 1e-13);
  }
}

// 1 - 0.999^t in f32, where the plain difference is wrong in the fifth digit: with eps 0 and equal gradients Adam's step
// is the learning rate exactly, at every t (m = g (1 - beta1^t), v likewise).
TEST(Adam, CorrectsItsBiasAccuratelyInF32) {
  Graph graph("update");
  graph.state("w", {DType::kF32, {1}}, Init::zeros());
  const std::vector<std::string> names = {"w"};
  const std::vector<Tensor> slopes = {full(graph, {DType::kF32, {1}}, 0.25)};
  nn::adam(graph, names, slopes, scalar(graph, 1.0), {.eps = 0.0});
  Session session(graph);
  double before = 0.0;
  for (int step = 1; step <= 300; ++step) {
    session.run();
    const double now = session.get("w").number();
    ASSERT_NEAR(before - now, 1.0, 2e-5) << step;
    before = now;
  }
  EXPECT_EQ(session.get("adam/step").numbers(), std::vector<double>{300});
}

// Stepping the learning rate is a write to a buffer; so is the counter, whichever program runs it: two halves equal the
// whole, to the bit.
TEST(Adam, ResumesFromItsStates) {
  const Graph graph = update_graph(
      DType::kF32, [](auto& g, auto names, auto slopes, Tensor rate) { nn::adam(g, names, slopes, rate); });
  Session whole(graph), first(graph), second(graph);
  const auto advance = [](Session& session, std::size_t from, std::size_t to) {
    session.set("learning_rate", f32({}, {0.01}));
    for (std::size_t step = from; step < to; ++step) {
      session.set("slope", f32({3}, recorded("gradients", 3 * step, 3)));
      session.run();
    }
  };
  advance(whole, 0, kSteps);
  advance(first, 0, 5);
  for (const char* name : {"w", "adam/step", "adam/m/w", "adam/v/w"}) second.set(name, first.get(name));
  advance(second, 5, kSteps);
  EXPECT_EQ(second.all(), whole.all());
}

TEST(Adam, MarksAGroupForEachParameterAndTwoOptimisersKeepApart) {
  Graph graph("g");
  std::vector<Tensor> slopes;
  const std::vector<std::string> actor = {"actor/w", "actor/b"}, critic = {"critic/w"};
  for (const char* name : {"actor/w", "actor/b", "critic/w"}) {
    slopes.push_back(graph.state(name, {DType::kF32, {2}}, Init::zeros()) * 2.0);
  }
  const Tensor rate = graph.input("learning_rate", {DType::kF32, {}});
  nn::adam(graph, actor, std::span<const Tensor>(slopes).first(2), rate, {.name = "adam/actor"});
  nn::adam(graph, critic, std::span<const Tensor>(slopes).last(1), rate, {.name = "adam/critic"});
  std::size_t groups = 0;
  for (const Graph::Group& group : graph.groups()) groups += group.name == "adam/1" ? 1 : 0;
  EXPECT_EQ(groups, 3u);
  EXPECT_NE(graph.find_slot("adam/actor/m/actor/b"), nullptr);
  EXPECT_NE(graph.find_slot("adam/critic/step"), nullptr);
  const HostValues results = run(graph);
  EXPECT_EQ(results.at("adam/actor/step").number(), 1.0);
  EXPECT_EQ(results.at("adam/critic/step").number(), 1.0);
}

TEST(Optimisers, RefuseWhatDoesNotPairUp) {
  Graph graph("g");
  const Tensor w = graph.state("w", {DType::kF32, {2}}, Init::zeros());
  const std::vector<std::string> names = {"w"}, unknown = {"v"};
  const Tensor rate = graph.input("learning_rate", {DType::kF32, {}});
  const std::vector<Tensor> none, wrong = {rate}, right = {w};
  EXPECT_THROW(nn::adam(graph, names, none, rate), Error);
  EXPECT_THROW(nn::sgd(graph, names, wrong, rate), Error);
  EXPECT_THROW(nn::rmsprop(graph, unknown, right, rate), Error);
  EXPECT_THROW(nn::adam(graph, names, right, w), Error);
  EXPECT_THROW(nn::clip_by_global_norm(none, 1.0), Error);
}

TEST(ClipByGlobalNorm, FollowsTorch) {
  const std::vector<std::pair<std::string, double>> lines = {{"clip_active", 0.5}, {"clip_idle", 1e3}};
  for (const auto& [line, most] : lines) {
    SCOPED_TRACE(line);
    Graph graph("g");
    const std::vector<Tensor> slopes = {graph.input("a", {DType::kF64, {2, 3}}), graph.input("b", {DType::kF64, {4}})};
    const nn::ClippedGradients clipped = nn::clip_by_global_norm(slopes, most);
    graph.output("norm", clipped.norm);
    graph.output("clipped a", clipped.gradients[0]);
    graph.output("clipped b", clipped.gradients[1]);
    const HostValues results =
        run(graph, {{"a", f64({2, 3}, {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5})}, {"b", f64({4}, {0.1, -0.2, 0.3, 4.0})}});
    expect_near_all(results.at("norm").numbers(), recorded(line, 0, 1), 1e-14);
    expect_near_all(results.at("clipped a").numbers(), recorded(line, 1, 6), 1e-14);
    expect_near_all(results.at("clipped b").numbers(), recorded(line, 7, 4), 1e-14);
  }
}

}  // namespace
}  // namespace thrt::test
