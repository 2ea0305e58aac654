#include "rl/train/checkpoint.hpp"

#include <thrt/error.hpp>

#include "rl/algo/algorithm.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstring>

namespace thrt::rl {
namespace {

// Raised when a checkpoint's meaning changes; older readers then refuse it instead of misreading it.
constexpr const char* kFormat = "1";
constexpr const char* kEnvironmentTensor = "train/environment";
constexpr const char* kReturnsTensor = "train/recent_returns";
constexpr const char* kLengthsTensor = "train/recent_lengths";

std::vector<std::int64_t> dims_of(const Type& type) {
  return {type.shape.begin(), type.shape.end()};
}

std::string shape_text(const io::TensorView& tensor) {
  return fmt::format("{}[{}]", io::name_of(tensor.dtype), fmt::join(tensor.shape, ", "));
}

const std::string& required_text(const io::SafeTensors& file, const std::string& source, const std::string& key) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end()) {
    throw Error(fmt::format("{} is not a checkpoint of thrust", source), fmt::format("its metadata has no '{}'", key),
                "name a run folder, or a file of its checkpoints folder");
  }
  return found->second;
}

std::int64_t required_number(const io::SafeTensors& file, const std::string& source, const std::string& key) {
  const std::string& text = required_text(file, source, key);
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() || value < 0) {
    throw Error(fmt::format("checkpoint {} is damaged", source), fmt::format("'{}' is '{}', not a count", key, text));
  }
  return value;
}

void require_same(const io::SafeTensors& file, const std::string& source, const std::string& key,
                  const std::string& expected) {
  const std::string& found = required_text(file, source, key);
  if (found == expected) return;
  if (key == "thrust.format") {
    throw Error(fmt::format("checkpoint {} has format version {}", source, found),
                fmt::format("this thrust reads version {}", expected), "use the thrust that wrote it");
  }
  throw Error(fmt::format("checkpoint {} is of another {}", source, key == "network" ? "network" : "run"),
              fmt::format("its {} is '{}', here it is '{}'", key, found, expected),
              "name the checkpoint's own run folder");
}

const io::TensorView& required_tensor(const io::SafeTensors& file, const std::string& source, std::string_view name) {
  const io::TensorView* tensor = file.find(name);
  if (tensor == nullptr) {
    throw Error(fmt::format("checkpoint {} is of another network or incomplete", source),
                fmt::format("it has no tensor '{}'", name), "check the network's options in the run's config.toml");
  }
  return *tensor;
}

template <typename T>
std::vector<T> vector_of(const io::SafeTensors& file, const std::string& source, const char* name,
                         io::TensorDType dtype) {
  const io::TensorView& tensor = required_tensor(file, source, name);
  if (tensor.dtype != dtype || tensor.shape.size() != 1) {
    throw Error(fmt::format("checkpoint {} is damaged", source),
                fmt::format("tensor '{}' is {}", name, shape_text(tensor)));
  }
  std::vector<T> values(tensor.bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

template <typename T>
void add_vector(io::SafeTensors& file, const char* name, io::TensorDType dtype, std::span<const T> values) {
  file.add(name, dtype, {static_cast<std::int64_t>(values.size())}, std::as_bytes(values));
}

}  // namespace

void save_checkpoint(const std::filesystem::path& path, const RunConfig& config, const TrainingState& state,
                     const BufferSet& buffers) {
  io::SafeTensors file;
  for (const auto& [name, entry] : buffers.entries()) {
    if (entry.kind != Graph::SlotKind::kState) continue;
    entry.buffer.read(file.add(name, io::tensor_dtype(entry.type.dtype), dims_of(entry.type)));
  }
  add_vector(file, kEnvironmentTensor, io::TensorDType::kU8,
             std::span(reinterpret_cast<const std::uint8_t*>(state.environment.data()), state.environment.size()));
  add_vector(file, kReturnsTensor, io::TensorDType::kF64, std::span<const double>(state.recent_returns));
  add_vector(file, kLengthsTensor, io::TensorDType::kF64, std::span<const double>(state.recent_lengths));
  file.metadata = {{"thrust.format", kFormat},
                   {"algorithm", config.algorithm},
                   {"environment", config.environment},
                   {"network", algorithm_of(config).network(config)},
                   {"seed", std::to_string(config.seed)},
                   {"backend", config.backend},
                   {"precision", config.precision},
                   {"step", std::to_string(state.step)},
                   {"updates", std::to_string(state.updates)},
                   {"episodes", std::to_string(state.episodes)}};
  file.write(path);
}

TrainingState state_of_checkpoint(const io::SafeTensors& file, const std::string& source, const RunConfig& config,
                                  std::span<const StateSlot> slots, LoadPurpose purpose) {
  require_same(file, source, "thrust.format", kFormat);
  require_same(file, source, "algorithm", config.algorithm);
  require_same(file, source, "environment", config.environment);
  require_same(file, source, "network", algorithm_of(config).network(config));
  if (purpose == LoadPurpose::kResume) require_same(file, source, "seed", std::to_string(config.seed));

  TrainingState state;
  state.step = required_number(file, source, "step");
  state.updates = required_number(file, source, "updates");
  state.episodes = required_number(file, source, "episodes");
  if (state.episodes > state.step || state.updates > state.step) {
    throw Error(
        fmt::format("checkpoint {} is damaged", source),
        fmt::format("it counts {} updates and {} episodes in {} steps", state.updates, state.episodes, state.step),
        "use an earlier checkpoint of the run");
  }
  state.recent_returns = vector_of<double>(file, source, kReturnsTensor, io::TensorDType::kF64);
  state.recent_lengths = vector_of<double>(file, source, kLengthsTensor, io::TensorDType::kF64);
  const std::vector<char> environment = vector_of<char>(file, source, kEnvironmentTensor, io::TensorDType::kU8);
  state.environment.assign(environment.begin(), environment.end());
  for (const StateSlot& slot : slots) {
    const io::TensorView& tensor = required_tensor(file, source, slot.name);
    if (tensor.dtype == io::tensor_dtype(slot.type.dtype) && tensor.shape == dims_of(slot.type)) continue;
    throw Error(fmt::format("checkpoint {} is of another network", source),
                fmt::format("its '{}' is {}, the network's is {}", slot.name, shape_text(tensor), slot.type.str()),
                "check the network's options in the run's config.toml");
  }
  return state;
}

TrainingState load_checkpoint(const std::filesystem::path& path, const RunConfig& config, BufferSet& buffers,
                              LoadPurpose purpose) {
  const io::SafeTensors file = io::SafeTensors::read(path);
  std::vector<StateSlot> slots;
  for (const auto& [name, entry] : buffers.entries()) {
    const bool skipped = purpose == LoadPurpose::kEvaluate && name.starts_with("rng/");
    if (entry.kind == Graph::SlotKind::kState && !skipped) slots.push_back({name, entry.type});
  }
  TrainingState state = state_of_checkpoint(file, path.string(), config, slots, purpose);
  for (const StateSlot& slot : slots) buffers.at(slot.name).write(file.find(slot.name)->bytes);
  return state;
}

}  // namespace thrt::rl
