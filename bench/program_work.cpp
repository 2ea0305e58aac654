#include "program_work.hpp"

#include <thrt/error.hpp>
#include <thrt/graph/passes.hpp>
#include <thrt/graph/program.hpp>
#include <thrt/nn/layers.hpp>

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <random>
#include <vector>

namespace thrt::bench {
namespace {

constexpr std::uint64_t kSeed = 1;

float value_for(std::string_view name, const SyntheticData& data, std::mt19937_64& random) {
  if (name.ends_with("learning_rate")) return static_cast<float>(data.learning_rate);
  if (name.ends_with("clip")) return 0.2F;
  if (name.ends_with("terminated")) return 0.0F;
  if (name.ends_with("log_probs")) return -std::log(2.0F);
  return std::normal_distribution<float>()(random);
}

template <typename T, typename Draw>
void fill_with(Buffer& buffer, std::int64_t count, Draw draw) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = draw();
  buffer.write(std::span<const T>(values));
}

void fill_inputs(BufferSet& buffers, const Program& program, const SyntheticData& data) {
  std::mt19937_64 random(kSeed);
  for (const Program::Slot& slot : program.slots()) {
    if (slot.kind != Graph::SlotKind::kInput) continue;
    Buffer& buffer = buffers.at(slot.name);
    const std::int64_t count = slot.type.elements();
    switch (slot.type.dtype) {
      case DType::kF32:
        fill_with<float>(buffer, count, [&] { return value_for(slot.name, data, random); });
        break;
      case DType::kI32:
        fill_with<std::int32_t>(buffer, count, [&] {
          return static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(data.actions));
        });
        break;
      case DType::kU8:
        fill_with<std::uint8_t>(buffer, count, [&] { return static_cast<std::uint8_t>(random()); });
        break;
      default:
        throw Error(fmt::format("no synthetic data for the input '{}'", slot.name), "its dtype has none", {});
    }
  }
  if (data.fill) data.fill(buffers);
}

struct Bound {
  Bound(const Context& context, const Graph& graph, const SyntheticData& data)
      : buffers(context), executable(context, lower(optimise(graph))), binding(bind(data)) {}

  BufferSet buffers;
  Executable executable;
  Binding binding;

 private:
  Binding bind(const SyntheticData& data) {
    buffers.add_slots(executable.program(), kSeed);
    fill_inputs(buffers, executable.program(), data);
    return buffers.bind(executable);
  }
};

}  // namespace

std::int64_t parameter_count(const Graph& graph, const std::string& weights) {
  std::int64_t count = 0;
  for (const std::string& name : nn::parameters(graph, weights)) count += graph.find_slot(name)->type.elements();
  return count;
}

Work program_work(const Context& context, const Graph& graph, const SyntheticData& data, const std::string& weights,
                  std::int64_t expected) {
  const std::int64_t parameters = parameter_count(graph, weights);
  if (parameters != expected) {
    throw Error(fmt::format("program '{}' has {} parameters, not {}", graph.name(), parameters, expected),
                "the network is not the one that this group stands for", "a fault of thrust itself: report it",
                ErrorKind::kRun);
  }
  const auto bound = std::make_shared<Bound>(context, graph, data);
  return {.run = [bound] { bound->binding.run(); }, .parameters = parameters, .programs = {bound->executable}};
}

Group program_group(Group group, const SyntheticData& data, const std::string& weights, std::int64_t expected) {
  group.make = [graph = group.graph, data, weights, expected](const Context& context) {
    return program_work(context, graph(), data, weights, expected);
  };
  return group;
}

}  // namespace thrt::bench
