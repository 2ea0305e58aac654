// A whole backend that does one op, neg of f32: what an author has to write when the device's memory is the host's.
#include <thrt/sdk/host_memory.hpp>
#include <thrt/sdk/plan_memory.hpp>

#include <cstring>

namespace {

using namespace thrt;

struct Step {
  sdk::Placement from, to;
  std::int64_t elements;
};

class Executable final : public sdk::HostExecutable {
 public:
  explicit Executable(const sdk::ProgramView& program) : plan_(sdk::plan_memory(program, sdk::plan_steps(program))) {
    for (const sdk::OpView& op : program.ops()) {
      steps_.push_back({plan_.values[op.operand(0)], plan_.values[op.result()], op.result_type().elements()});
    }
  }

  std::uint64_t workspace_bytes() const override { return plan_.workspace_bytes; }
  std::uint64_t constant_bytes() const override { return 0; }
  void info(thrt_executable_info& info) const override {
    info.steps = static_cast<std::uint32_t>(steps_.size());
    info.launches = 1;
    sdk::set_text(info.kind, "loops");
  }

  std::unique_ptr<sdk::HostRun> prepare(std::span<std::byte* const> slots, std::byte* workspace) override {
    struct Run final : sdk::HostRun {
      struct Loop {
        const float* from;
        float* to;
        std::int64_t elements;
      };
      struct Copy {
        std::byte* to;
        const std::byte* from;
        std::size_t bytes;
      };
      std::vector<Loop> loops;
      std::vector<Copy> copies;
      void run() override {
        for (const Loop& loop : loops) {
          for (std::int64_t i = 0; i < loop.elements; ++i) loop.to[i] = -loop.from[i];
        }
        for (const Copy& copy : copies) std::memcpy(copy.to, copy.from, copy.bytes);
      }
    };
    const auto address = [&](const sdk::Placement& place) {
      return place.where == sdk::Placement::Where::kSlot ? slots[place.slot] : workspace + place.offset;
    };
    auto run = std::make_unique<Run>();
    for (const Step& step : steps_) {
      run->loops.push_back({reinterpret_cast<const float*>(address(step.from)),
                            reinterpret_cast<float*>(address(step.to)), step.elements});
    }
    for (const sdk::PlanCopy& copy : plan_.final_copies) {
      run->copies.push_back({address(copy.to), address(copy.from), static_cast<std::size_t>(copy.bytes)});
    }
    return run;
  }

 private:
  sdk::MemoryPlan plan_;
  std::vector<Step> steps_;
};

class Device final : public sdk::HostDevice {
 public:
  std::optional<std::string> refuse(const sdk::OpView& op) const override {
    if (op.kind() != ir::OpKind::NEG) return std::string(op.name()) + ": only neg is done here";
    if (op.result_type().dtype != ir::DType::kF32) return "neg: only f32 is done here";
    return std::nullopt;
  }
  std::unique_ptr<sdk::HostExecutable> compile(const sdk::ProgramView& program, std::uint32_t flags) override {
    if ((flags & THRT_COMPILE_CHECK_FINITE) != 0) {
      throw sdk::Error(THRT_UNSUPPORTED, "negator does not check for NaN and infinity");
    }
    return std::make_unique<Executable>(program);
  }
};

class Plugin final : public sdk::HostPlugin {
 public:
  explicit Plugin(const sdk::PluginOptions&) {}
  std::vector<thrt_device_info> devices() override {
    thrt_device_info info{};
    info.kind = THRT_DEVICE_CPU;
    info.available = 1;
    info.compute_units = 1;
    info.memory_total = sdk::host_memory().total;
    info.memory_free = sdk::host_memory().available;
    info.max_buffer_bytes = info.memory_total;
    info.storage_dtypes = 1u << THRT_DTYPE_F32;
    info.precisions = 1u << THRT_PRECISION_F32;
    sdk::set_text(info.name, "negator");
    return {info};
  }
  std::unique_ptr<sdk::HostDevice> open_device(const thrt_context_options&) override {
    return std::make_unique<Device>();
  }
};

}  // namespace

THRT_BACKEND(Plugin, "negator", "1.0.0", "Thrust RL's tests", "Negates f32");
