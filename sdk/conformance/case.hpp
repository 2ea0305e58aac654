// One thing a backend must do, and what came of trying it. The catalogue is the concatenation of the functions at the
// end; a case knows nothing of processes, tables or options.
#pragma once

#include <thrt/graph/graph.hpp>
#include <thrt/plugin/loaded_plugin.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace thrt::conformance {

// What a backend can claim. Core, training and vision are the levels of ops.def with the dtypes f32, i32, u32, u8 and
// bool; mixed precision is the same ops with f16 and bf16. f64 belongs to no level: it is tried when it is claimed.
enum class Level { kCore, kTraining, kVision, kMixedPrecision, kNone };

struct Outcome {
  enum class Kind {
    kPassed,
    kUnsupported,  // the backend says by itself that it does not do this; detail: its reason
    kFailed,       // detail: what was expected, what came, where
  };
  Kind kind = Kind::kPassed;
  std::string detail;
};

// What a case works with; both plugins are loaded, and the one under test is behind the validation layer.
struct Bench {
  std::shared_ptr<LoadedPlugin> plugin;
  std::shared_ptr<LoadedPlugin> reference;
  std::uint32_t device_index = 0;  // of `plugin`
};

struct Case {
  std::string
      name;  // unique, what --filter matches: "matmul/f32/transpose_b", "program/mlp_step", "contract/over_budget"
  std::string area;            // the row of the table: an op's name, "program" or "contract"
  std::optional<DType> dtype;  // the column, for ops
  Level level = Level::kCore;
  // A throw is a failure with its message.
  std::function<Outcome(const Bench&)> run;
};

std::vector<Case> op_cases();        // every op of ops.def, every dtype it takes, a spread of shapes
std::vector<Case> program_cases();   // whole training steps, aliasing, long chains, large tensors, determinism
std::vector<Case> contract_cases();  // errors, budgets, lifetimes, statistics, threads

}  // namespace thrt::conformance
