// The vulkan backend: programs as pre-recorded command buffers on any Vulkan 1.2 device.
#include "binding.hpp"
#include "instance.hpp"

#include <thrt/sdk/plugin.hpp>

#include <string>
#include <utility>

namespace thrt_vulkan {
namespace {

using namespace thrt;

class Context final : public sdk::Context {
 public:
  Context(const Instance& instance, const Listed& listed, std::uint64_t budget, const std::string& cache_dir)
      : device_(instance, listed, budget), kernels_(device_, cache_dir) {}
  ~Context() override { device_.stream().finish(); }

  void stats(thrt_stats& stats) override {
    stats.bytes_allocated = device_.budget().used();
    stats.bytes_peak = device_.budget().peak();
    stats.bytes_budget = device_.budget().bytes();
    stats.bytes_uploaded = uploaded_;
    stats.bytes_downloaded = downloaded_;
    stats.runs = runs_;
  }

  std::unique_ptr<sdk::Buffer> create_buffer(const thrt_buffer_options& options) override {
    return std::make_unique<Buffer>(device_, options);
  }

  thrt_ticket upload(sdk::Buffer& buffer, std::uint64_t offset, std::span<const std::byte> source) override {
    const thrt_ticket ticket =
        device_.stream().upload(static_cast<Buffer&>(buffer).region(offset, source.size()), source);
    uploaded_ += source.size();
    return ticket;
  }

  thrt_ticket download(sdk::Buffer& buffer, std::uint64_t offset, std::span<std::byte> destination) override {
    const thrt_ticket ticket =
        device_.stream().download(static_cast<Buffer&>(buffer).region(offset, destination.size()), destination);
    downloaded_ += destination.size();
    return ticket;
  }

  std::vector<sdk::Refusal> check(const sdk::ProgramView& program) override { return check_program(device_, program); }

  std::unique_ptr<sdk::Executable> compile(const sdk::ProgramView& program, std::uint32_t flags) override {
    return std::make_unique<Executable>(device_, kernels_, program, flags);
  }

  std::unique_ptr<sdk::Binding> bind(sdk::Executable& executable, std::span<const sdk::SlotRegion> slots) override {
    return std::make_unique<Binding>(device_, static_cast<Executable&>(executable), slots);
  }

  thrt_ticket enqueue(sdk::Binding& binding, std::uint32_t repeat) override {
    const thrt_ticket ticket = static_cast<Binding&>(binding).enqueue(repeat);
    runs_ += repeat;
    return ticket;
  }

  bool wait(thrt_ticket ticket, std::uint64_t timeout_ns) override { return device_.stream().wait(ticket, timeout_ns); }

 private:
  Device device_;
  Kernels kernels_;
  std::uint64_t uploaded_ = 0, downloaded_ = 0, runs_ = 0;
};

class Plugin final : public sdk::Plugin {
 public:
  explicit Plugin(const sdk::PluginOptions& options) : cache_dir_(options.cache_dir) {}

  std::uint32_t device_count() override { return static_cast<std::uint32_t>(instance_.devices().size()); }

  void device_info(std::uint32_t index, thrt_device_info& info) override {
    const Listed& listed = instance_.devices()[index];
    info = listed.info;
    if (info.memory_total != 0) info.memory_free = free_memory(instance_.vk(), listed);
  }

  std::unique_ptr<sdk::Context> create_context(const thrt_context_options& options) override {
    const Listed& listed = instance_.devices()[options.device_index];
    const std::uint64_t budget = options.memory_budget != 0 ? options.memory_budget : listed.info.memory_total;
    return std::make_unique<Context>(instance_, listed, budget, cache_dir_);
  }

  std::string why_no_precision(std::uint32_t) override {
    return "the vulkan backend computes f32 values in f32 alone; values of f16 and bf16 are the way to less";
  }

 private:
  std::string cache_dir_;
  Instance instance_;
};

}  // namespace
}  // namespace thrt_vulkan

THRT_BACKEND(thrt_vulkan::Plugin, "vulkan", "0.1.0", "Thrust RL", "Vulkan 1.2 devices");
