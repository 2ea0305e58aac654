// The reader of checkpoints: safetensors, what a training takes from one, and the state of its environments.
#include "target.hpp"

#include <thrt/error.hpp>
#include <thrt/io/safetensors.hpp>
#include <thrt/rl/env/vector_env.hpp>

#include "rl/train/checkpoint.hpp"

#include <cmath>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace thrt::fuzz {
namespace {

std::optional<io::SafeTensors> parse(std::span<const std::byte> bytes) {
  try {
    return io::SafeTensors::parse(bytes, "input");
  } catch (const Error& error) {
    expect(*error.what() != '\0' && !error.why().empty(), "an error has words");
    return std::nullopt;
  }
}

void check_round_trip(const io::SafeTensors& file) {
  const std::vector<std::byte> bytes = file.serialize();
  const io::SafeTensors again = io::SafeTensors::parse(bytes, "written");
  expect(again.metadata == file.metadata, "metadata is kept");
  expect(again.tensors().size() == file.tensors().size(), "tensors are kept");
  for (std::size_t i = 0; i < file.tensors().size(); ++i) {
    const io::TensorView& a = file.tensors()[i];
    const io::TensorView& b = again.tensors()[i];
    expect(a.name == b.name && a.dtype == b.dtype && a.shape == b.shape && a.bytes.size() == b.bytes.size(),
           "a tensor is kept");
    expect(a.bytes.empty() || std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0,
           "a tensor's bytes are kept");
  }
}

// An environment that goes on from the state must be one that could have made it.
void run_environment(const std::string& state) {
  const std::unique_ptr<rl::VectorEnv> env = rl::make_vector_env("CartPole-v1", 2);
  env->reset(1);
  const std::string before = env->save_state();
  try {
    env->load_state(state);
  } catch (const Error&) {
    expect(env->save_state() == before, "a state that is refused changes nothing");
    return;
  }
  rl::StepResult result;
  const std::vector<std::int32_t> actions = {0, 1};
  for (int i = 0; i < 3; ++i) env->step(actions, result);
  for (const float observation : result.observations) expect(std::isfinite(observation), "an observation is finite");
  env->load_state(env->save_state());
}

}  // namespace
}  // namespace thrt::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thrt;
  // Most changes make the header's length wrong: taken modulo what is there, the header is reached.
  std::vector<std::byte> bytes(size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  static_cast<void>(fuzz::parse(bytes));
  if (size >= 8) {
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    header %= size - 8 + 1;
    std::memcpy(bytes.data(), &header, sizeof header);
  }
  const std::optional<io::SafeTensors> file = fuzz::parse(bytes);
  if (!file) return 0;
  fuzz::check_round_trip(*file);
  const rl::RunConfig config = rl::default_config("ppo", "CartPole-v1");
  const std::vector<rl::StateSlot> slots = {{"weight", {ir::DType::kF32, {2, 3}}}, {"rng/act", {ir::DType::kU32, {4}}}};
  for (const rl::LoadPurpose purpose : {rl::LoadPurpose::kResume, rl::LoadPurpose::kEvaluate}) {
    try {
      const rl::TrainingState state = rl::state_of_checkpoint(*file, "input", config, slots, purpose);
      for (const rl::StateSlot& slot : slots) {
        fuzz::expect(file->find(slot.name)->bytes.size() == slot.type.bytes(), "a slot's tensor is of its size");
      }
      fuzz::run_environment(state.environment);
    } catch (const Error& error) {
      fuzz::expect(*error.what() != '\0', "an error has words");
    }
  }
  return 0;
}
