// Whole training steps, as a learner writes them: forward, loss, gradients, optimiser in one program.
//
// Adam's and RMSprop's second moments start well away from zero: at zero an update is a gradient divided by its own size, and
// no error bound survives that.
#include "program_cases.hpp"

#include <thrt/graph/autodiff.hpp>
#include <thrt/graph/repeat.hpp>
#include <thrt/nn/distributions.hpp>
#include <thrt/nn/layers.hpp>
#include <thrt/nn/losses.hpp>
#include <thrt/nn/optimisers.hpp>
#include <thrt/nn/random.hpp>

#include <fmt/format.h>

#include <array>
#include <initializer_list>
#include <utility>

namespace thrt::conformance {
namespace {

constexpr DType kF32 = DType::kF32;

void adam_on(Graph& graph, Tensor loss, double max_norm = 0.5) {
  const std::vector<std::string> names = nn::parameters(graph, "net");
  const std::vector<Tensor> slopes = gradients(loss, nn::values(graph, names));
  const nn::ClippedGradients clipped = nn::clip_by_global_norm(slopes, max_norm);
  nn::adam(graph, names, clipped.gradients, graph.input("learning_rate", {kF32, {}}), {.eps = 1e-5});
  graph.output("loss", loss);
  graph.output("norm", clipped.norm);
}

void fill_training(CaseProgram& p) {
  p.fill("learning_rate", 1e-2);
  p.fill("net", -0.5, 0.5);
  p.fill("adam/step", 100.0);
  p.fill("adam/m", -0.1, 0.1);
  p.fill("adam/v", 0.25, 1.0);
  p.fill("rmsprop/v", 0.25, 1.0);
  p.fill("", -1.0, 1.0);
}

void mlp_adam(CaseProgram& p) {
  const Tensor x = p.random({kF32, {33, 9}}, -1.0, 1.0), target = p.random({kF32, {33, 1}}, -1.0, 1.0);
  const Tensor hidden = nn::mlp(x, "net", {17, 16}, nn::Activation::kTanh, 1.0);
  const Tensor prediction = nn::dense(hidden, "net/head", 1);
  p.graph.output("prediction", prediction);
  adam_on(p.graph, nn::huber(prediction, target));
  fill_training(p);
}

// Every activation and normalisation there is, and stochastic gradient descent with momentum.
void classifier(CaseProgram& p) {
  const Tensor x = p.random({kF32, {16, 12}}, -1.0, 1.0);
  const Tensor labels = p.random({DType::kI32, {16}}, 0.0, 4.0);
  Tensor h = nn::dense(x, "net/1", 11, {.activation = nn::Activation::kGelu});
  h = nn::layer_norm(h, "net/norm");
  h = nn::dense(h, "net/2", 9, {.activation = nn::Activation::kSilu});
  h = nn::dense(h, "net/3", 7, {.activation = nn::Activation::kElu});
  h = nn::dense(h, "net/4", 9, {.activation = nn::Activation::kSoftplus});
  const Tensor logits = nn::dense(h, "net/head", 5);
  const Tensor loss = nn::softmax_cross_entropy(logits, labels);
  const std::vector<std::string> names = nn::parameters(p.graph, "net");
  nn::sgd(p.graph, names, gradients(loss, nn::values(p.graph, names)), p.graph.input("learning_rate", {kF32, {}}),
          {.momentum = 0.9, .nesterov = true, .weight_decay = 1e-2});
  p.graph.output("loss", loss);
  p.graph.output("right", sum(cast(equal(argmax(logits), labels), DType::kI32)));
  fill_training(p);
}

// u8 images through two convolutions: the shape of a Nature network, smaller.
void conv_net(CaseProgram& p) {
  const Tensor images = p.random({DType::kU8, {3, 2, 14, 14}}, 0.0, 255.0);
  const Tensor labels = p.random({DType::kI32, {3}}, 0.0, 4.0);
  Tensor h = cast(images, kF32) * (1.0 / 255.0);
  h = nn::conv2d(h, "net/conv1", 5, 4,
                 {.geometry = {.stride_h = 2, .stride_w = 2}, .activation = nn::Activation::kTanh});
  h = nn::conv2d(h, "net/conv2", 6, 3,
                 {.geometry = {.pad_top = 1, .pad_bottom = 1, .pad_left = 1, .pad_right = 1},
                  .activation = nn::Activation::kSigmoid});
  h = nn::dense(flatten(h), "net/1", 11, {.activation = nn::Activation::kRelu});
  const Tensor loss = nn::softmax_cross_entropy(nn::dense(h, "net/head", 5), labels);
  const std::vector<std::string> names = nn::parameters(p.graph, "net");
  nn::rmsprop(p.graph, names, gradients(loss, nn::values(p.graph, names)), p.graph.input("learning_rate", {kF32, {}}),
              {.eps = 1e-3, .momentum = 0.9, .variant = nn::RmspropOptions::Variant::kTensorFlow});
  p.graph.output("loss", loss);
  fill_training(p);
}

// Forward and backward of the network of Mnih et al., "Human-level control through deep reinforcement learning" (2015), at
// its own size, with its gradients as outputs.
void nature_cnn(CaseProgram& p, std::int64_t batch) {
  constexpr std::int64_t kActions = 6;
  const Tensor frames = p.random({DType::kU8, {batch, 4, 84, 84}}, 0.0, 255.0);
  // All above what the network says, so that the gradients of the frames add up instead of cancelling.
  const Tensor targets = p.random({kF32, {batch, kActions}}, 0.2, 0.9);
  Tensor h = cast(frames, kF32) * (1.0 / 255.0);
  const std::array<std::array<std::int64_t, 3>, 3> layers = {{{32, 8, 4}, {64, 4, 2}, {64, 3, 1}}};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto [channels, kernel, stride] = layers[i];
    h = nn::conv2d(h, "net/conv" + std::to_string(i + 1), channels, kernel,
                   {.geometry = {.stride_h = stride, .stride_w = stride}, .activation = nn::Activation::kRelu});
  }
  h = nn::dense(flatten(h), "net/dense", 512, {.activation = nn::Activation::kRelu});
  const Tensor loss = nn::huber(nn::dense(h, "net/head", kActions), targets);
  const std::vector<std::string> names = nn::parameters(p.graph, "net");
  const std::vector<Tensor> slopes = gradients(loss, nn::values(p.graph, names));
  for (std::size_t i = 0; i < names.size(); ++i) p.graph.output("gradient " + names[i], slopes[i]);
  p.graph.output("loss", loss);
  // Weights whose absolute values sum to about 1 for each unit, and more of them positive: a worst-case bound grows with that sum
  // from layer to layer, and would say nothing about weights as a network begins with. So it is a third of a percent of the
  // first gradients, and less towards the head.
  for (const auto& [layer, fan_in] : std::initializer_list<std::pair<const char*, double>>{
           {"conv1", 256}, {"conv2", 512}, {"conv3", 576}, {"dense", 3136}, {"head", 512}}) {
    for (const char* kind : {"/weight", "/filter"})
      p.fill(fmt::format("net/{}{}", layer, kind), -1.5 / fan_in, 2.25 / fan_in);
  }
  p.fill("net", -0.05, 0.05);  // biases, which decide about many a ReLU
}

// The residual of u_xx + u_yy + u = 0 for a network u(x, y), and its gradients: gradients of gradients of gradients.
void second_derivatives(CaseProgram& p) {
  const Tensor points = p.random({kF32, {13, 2}}, -1.0, 1.0);
  const Tensor u = nn::dense(nn::mlp(points, "net", {8, 7}, nn::Activation::kTanh, 1.0), "net/head", 1);
  const Tensor slope = gradients(sum(u), {points})[0];  // rows do not meet, so the sum's gradient is each row's
  Tensor residual = u;
  for (const std::int64_t axis : {0, 1}) {
    residual = residual + slice(gradients(sum(slice(slope, 1, axis, 1)), {points})[0], 1, axis, 1);
  }
  p.graph.output("residual", residual);
  adam_on(p.graph, mean(square(residual)));
  fill_training(p);
}

// A table of vectors trained through gather and its gradient, scatter_add.
void embedding(CaseProgram& p) {
  const Tensor table = p.graph.state("net/table", {kF32, {11, 6}}, {});
  const Tensor words = p.random({DType::kI32, {9, 4}}, 0.0, 10.0);
  const Tensor bag = mean(gather(table, words), {1});
  const Tensor score = nn::dense(bag, "net/head", 1, {.activation = nn::Activation::kSigmoid});
  adam_on(p.graph, nn::mse(score, p.random({kF32, {9, 1}}, 0.0, 1.0)));
  fill_training(p);
}

// One gradient step of a clipped-surrogate policy update on the rows of a minibatch.
Graph policy_step(std::int64_t rows, std::int64_t minibatch) {
  Graph step("policy_step");
  const Tensor observations = step.input("observations", {kF32, {rows, 4}});
  const Tensor actions = step.input("actions", {DType::kI32, {rows}});
  const Tensor advantages = step.input("advantages", {kF32, {rows}});
  const Tensor permutation = step.input("permutation", {DType::kI32, {rows}});
  const Tensor first = step.input("iteration", {DType::kI32, {}}) * static_cast<double>(minibatch);
  const Tensor chosen = dynamic_slice(permutation, reshape(first, {1}), {minibatch});
  const Tensor x = gather(observations, chosen), advantage = gather(advantages, chosen);
  const Tensor features = nn::mlp(x, "net/policy", {8}, nn::Activation::kTanh, 1.0);
  const nn::Categorical policy(nn::dense(features, "net/head", 3));
  const Tensor ratio = exp(policy.log_prob(gather(actions, chosen)) + 1.1);
  // As min(ratio A, clip(ratio) A), but the two are told apart by the ratio, not by comparing what is equal inside the clip.
  const Tensor outside = (greater(advantage, 0.0) & greater(ratio, 1.2)) | (less(advantage, 0.0) & less(ratio, 0.8));
  const Tensor surrogate = select(outside, stop_gradient(ratio * advantage), ratio * advantage);
  const Tensor value = flatten(nn::dense(features, "net/value", 1), 0);
  const Tensor loss = 0.5 * mean(square(value - advantage)) - mean(surrogate) - 0.01 * mean(policy.entropy());
  adam_on(step, loss);
  return step;
}

// Several minibatches in random order, in a loop on the device.
void policy_update(CaseProgram& p) {
  constexpr std::int64_t kRows = 24, kMinibatch = 8;
  NamedTensors inputs = {{"observations", p.random({kF32, {kRows, 4}}, -1.0, 1.0)},
                         {"actions", p.random({DType::kI32, {kRows}}, 0.0, 2.0)},
                         {"advantages", p.random({kF32, {kRows}}, -1.0, 1.0)},
                         {"learning_rate", p.random({kF32, {}}, 1e-3, 2e-3)}};
  nn::Random random(p.graph);
  inputs["permutation"] = random.permutation(kRows);
  const NamedTensors results = repeat(p.graph, kRows / kMinibatch, policy_step(kRows, kMinibatch), inputs);
  for (const auto& [name, value] : results) p.graph.output(name, value);
  p.fill("rng", 0.0, 4294967295.0);
  fill_training(p);
}

// Weights in f32, matrix products in a half format, the loss scaled: how mixed precision trains.
void half_mlp(CaseProgram& p, DType half) {
  const Tensor x = p.random({half, {16, 8}}, -1.0, 1.0), target = p.random({kF32, {16, 3}}, -1.0, 1.0);
  const Tensor w1 = p.graph.state("net/w1", {kF32, {8, 12}}, {}), w2 = p.graph.state("net/w2", {kF32, {12, 3}}, {});
  const Tensor hidden = tanh(matmul(x, cast(w1, half)));
  const Tensor prediction = cast(matmul(hidden, cast(w2, half)), kF32);
  const Tensor loss = mean(square(prediction - target));
  const std::vector<std::string> names = {"net/w1", "net/w2"};
  const std::vector<Tensor> slopes = gradients(loss * 64.0, nn::values(p.graph, names));
  for (std::size_t i = 0; i < names.size(); ++i) {
    p.graph.output("gradient " + names[i], slopes[i]);
    p.graph.update(names[i], p.graph.current(names[i]) - slopes[i] * (0.1 / 64.0));
  }
  p.graph.output("loss", loss);
  fill_training(p);
}

void half_softmax(CaseProgram& p, DType half) {
  const Tensor logits = p.random({half, {9, 33}}, -4.0, 4.0);
  p.graph.output("softmax", softmax(logits));
  p.graph.output("log_softmax", log_softmax(logits));
  p.graph.output("logsumexp", logsumexp(logits));
  p.graph.output("argmax", argmax(logits));
}

}  // namespace

std::vector<Case> training_cases() {
  std::vector<Case> cases = {
      program_case("mlp_adam", Level::kTraining, mlp_adam),
      program_case("mlp_adam_five_steps", Level::kTraining, mlp_adam, {.runs = 5}),
      program_case("mlp_adam_debug", Level::kTraining, mlp_adam, {.flags = THRT_COMPILE_DEBUG}),
      program_case("classifier", Level::kTraining, classifier),
      program_case("conv_net", Level::kVision, conv_net),
      program_case("nature_cnn_b32", Level::kVision, [](CaseProgram& p) { nature_cnn(p, 32); }),
      program_case("second_derivatives", Level::kTraining, second_derivatives),
      program_case("embedding", Level::kTraining, embedding),
      program_case("policy_update", Level::kTraining, policy_update),
  };
  for (const DType half : {DType::kF16, DType::kBF16}) {
    const std::string suffix = std::string("_") + ir::dtype_name(half);
    cases.push_back(
        program_case("mlp" + suffix, Level::kMixedPrecision, [half](CaseProgram& p) { half_mlp(p, half); }));
    cases.push_back(
        program_case("softmax" + suffix, Level::kMixedPrecision, [half](CaseProgram& p) { half_softmax(p, half); }));
  }
  return cases;
}

}  // namespace thrt::conformance
