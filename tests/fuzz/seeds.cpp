// Writes the seed corpora: fuzz_seeds DIR makes DIR/TARGET/*, small inputs that are right, from which the fuzzer starts.
#include "program_code.hpp"

#include <thrt/graph/passes.hpp>
#include <thrt/graph/program.hpp>
#include <thrt/graph/repeat.hpp>
#include <thrt/graph/tensor_ops.hpp>
#include <thrt/io/program_file.hpp>
#include <thrt/io/safetensors.hpp>
#include <thrt/ir/ops.hpp>
#include <thrt/rl/algo/ppo.hpp>
#include <thrt/rl/env/vector_env.hpp>
#include <thrt/rl/train/config_file.hpp>
#include <thrt/rl/train/fields.hpp>

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

namespace thrt::fuzz {
namespace {

class Corpus {
 public:
  Corpus(const std::filesystem::path& parent, const char* target) : folder_(parent / target) {
    std::filesystem::create_directories(folder_);
  }
  void add(const std::string& name, std::string_view bytes) const {
    std::ofstream file(folder_ / name, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) throw std::runtime_error("cannot write " + (folder_ / name).string());
  }
  void add(const std::string& name, const std::vector<std::byte>& bytes) const {
    add(name, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }

 private:
  std::filesystem::path folder_;
};

Graph elementwise() {
  Graph graph("elementwise");
  const Tensor x = graph.input("x", {DType::kF32, {2, 3}});
  const Tensor w = graph.state("w", {DType::kF32, {2, 3}}, Init::zeros());
  const Graph::Mark mark(graph, "group/1", "here");
  graph.update("w", tanh(w * x) + constant_f32(graph, {2, 3}, std::array<float, 6>{1, 2, 3, 4, 5, 6}));
  graph.output("y", sum(graph.current("w"), {1}));
  graph.output("x again", x);
  return graph;
}

Graph movement() {
  Graph graph("movement");
  const Tensor x = graph.input("x", {DType::kF32, {4, 3}});
  const Tensor i = graph.input("i", {DType::kI32, {2}});
  graph.output("slice", slice(x, 0, 1, 2));
  graph.output("transpose", transpose(x, {1, 0}));
  graph.output("reshape", reshape(x, {2, 6}));
  graph.output("gather", gather(x, i, 0));
  graph.output("argmax", argmax(x, 1));
  graph.output("matmul", matmul(transpose(x, {1, 0}), x));
  return graph;
}

Graph nested() {
  Graph inner("inner");
  inner.update("count", inner.state("count", {DType::kI32, {}}, Init::zeros()) + 1.0);
  Graph body("body");
  body.update("x", body.state("x", {DType::kF32, {2}}, Init::zeros()) * 0.5);
  repeat(body, 2, inner, {});
  repeat(body, 3, inner, {});
  Graph graph("nested");
  repeat(graph, 5, body, {});
  return graph;
}

// Two states that swap, and one slot's value in another: what final copies are for.
Graph swapping() {
  Graph graph("swapping");
  const Tensor a = graph.state("a", {DType::kF32, {2}}, Init::zeros());
  const Tensor b = graph.state("b", {DType::kF32, {2}}, Init::zeros());
  graph.update("a", b);
  graph.update("b", a);
  graph.output("c", a);
  return graph;
}

std::vector<Program> programs() {
  std::vector<Program> all;
  for (const Graph& graph : {Graph("empty"), elementwise(), movement(), nested(), swapping()})
    all.push_back(lower(graph));
  rl::PpoConfig config;
  config.hidden = {4};
  all.push_back(lower(optimise(rl::ppo_act_graph(config, {.observation_size = 4, .actions = 2}, 2))));
  return all;
}

void write_checkpoints(const Corpus& corpus) {
  const std::unique_ptr<rl::VectorEnv> env = rl::make_vector_env("CartPole-v1", 2);
  env->reset(3);
  const rl::RunConfig config = rl::default_config("ppo", "CartPole-v1");
  io::SafeTensors file;
  file.add("weight", io::TensorDType::kF32, {2, 3});
  file.add("rng/act", io::TensorDType::kU32, {4});
  const std::string state = env->save_state();
  file.add("train/environment", io::TensorDType::kU8, {static_cast<std::int64_t>(state.size())},
           std::as_bytes(std::span(state)));
  file.add("train/recent_returns", io::TensorDType::kF64, {1});
  file.add("train/recent_lengths", io::TensorDType::kF64, {1});
  file.metadata = {
      {"thrust.format", "1"},
      {"algorithm", "ppo"},
      {"environment", "CartPole-v1"},
      {"network", fmt::format("hidden {}, activation {}", fmt::join(config.ppo.hidden, ","), config.ppo.activation)},
      {"seed", std::to_string(config.seed)},
      {"step", "512"},
      {"updates", "2"},
      {"episodes", "9"}};
  corpus.add("whole", file.serialize());
  corpus.add("empty", io::SafeTensors().serialize());
  io::SafeTensors dtypes;
  for (const io::TensorDType dtype : io::kAllTensorDTypes) dtypes.add(io::name_of(dtype), dtype, {1, 2});
  corpus.add("dtypes", dtypes.serialize());
}

void write_configs(const Corpus& corpus) {
  corpus.add("defaults", rl::to_toml(rl::default_config("ppo", "CartPole-v1")));
  corpus.add("short", "seed = 3\nthreads = 'auto'\n[ppo]\nhidden = [8, 8]\ngamma = 0.5\n");
  corpus.add(
      "toml",
      "a = \"\\u00e9\"\nb = '''x'''\nc = 1979-05-27T07:32:00Z\nd = { e = [1, 2.5e3, inf, nan] }\n[[f]]\ng.h = 0x1F\n");
  std::size_t index = 0;
  for (const rl::Field& field : rl::run_fields()) {
    const rl::RunConfig config = rl::default_config("ppo", "CartPole-v1");
    corpus.add(std::string("field_") + std::string(field.name),
               static_cast<char>(index++) + rl::field_text(field, config));
  }
  corpus.add("bytes", std::string(1, '\x08') + "1.5GiB");
}

void write_all(const std::filesystem::path& parent) {
  const Corpus verifier(parent, "program_verifier"), files(parent, "program_file");
  for (const Program& program : programs()) {
    verifier.add(program.name(), ProgramEncoder(*program.abi()).bytes());
    files.add(program.name(), io::program_bytes(*program.abi()));
  }
  write_checkpoints(Corpus(parent, "checkpoint"));
  write_configs(Corpus(parent, "config_file"));
}

}  // namespace
}  // namespace thrt::fuzz

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  thrt::fuzz::write_all(argv[1]);
  return 0;
}
