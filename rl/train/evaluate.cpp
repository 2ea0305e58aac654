#include <thrt/rl/train/trainer.hpp>

#include "rl/train/checkpoint.hpp"
#include "rl/train/open_device.hpp"
#include "rl/train/policy_player.hpp"

namespace thrt::rl {

EvalResult evaluate(const SelectedBackend& backend, const RunConfig& config, const std::string& checkpoint_path,
                    const EvalOptions& options) {
  PolicyPlayer player(open_device(backend, config), config, options);
  const TrainingState state = load_checkpoint(checkpoint_path, config, player.buffers(), LoadPurpose::kEvaluate);
  EvalResult result = player.play();
  result.step = state.step;
  return result;
}

}  // namespace thrt::rl
