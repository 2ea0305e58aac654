// A backend for OpenCL devices, as somebody who has no more than the installed SDK would write it.
#include "binding.hpp"

#include <atomic>

namespace thrt_opencl {
namespace {

using namespace thrt;

class Context final : public sdk::Context {
 public:
  Context(const Api& api, const Listed& listed, std::uint64_t budget) : device_(api, listed, budget), cache_(device_) {}
  ~Context() override { device_.finish(); }

  void stats(thrt_stats& stats) override {
    stats.bytes_allocated = device_.budget.used();
    stats.bytes_peak = device_.budget.peak();
    stats.bytes_budget = device_.budget.bytes();
    stats.bytes_uploaded = uploaded_;
    stats.bytes_downloaded = downloaded_;
    stats.runs = runs_;
  }

  std::unique_ptr<sdk::Buffer> create_buffer(const thrt_buffer_options& options) override {
    return std::make_unique<Buffer>(device_, options);
  }

  thrt_ticket upload(sdk::Buffer& buffer, std::uint64_t offset, std::span<const std::byte> source) override {
    if (source.empty()) return mark();
    cl_event event = nullptr;
    THRT_CL(device_.api, clEnqueueWriteBuffer, device_.queue.get(), static_cast<Buffer&>(buffer).get(), CL_FALSE,
            offset, source.size(), source.data(), 0, nullptr, &event);
    uploaded_ += source.size();
    return ticket_of(event);
  }

  thrt_ticket download(sdk::Buffer& buffer, std::uint64_t offset, std::span<std::byte> destination) override {
    if (destination.empty()) return mark();
    cl_event event = nullptr;
    THRT_CL(device_.api, clEnqueueReadBuffer, device_.queue.get(), static_cast<Buffer&>(buffer).get(), CL_FALSE, offset,
            destination.size(), destination.data(), 0, nullptr, &event);
    downloaded_ += destination.size();
    return ticket_of(event);
  }

  std::vector<sdk::Refusal> check(const sdk::ProgramView& program) override {
    std::vector<sdk::Refusal> refusals;
    for (const sdk::OpView& op : program.ops()) {
      if (op.kind() == ir::OpKind::REPEAT) {
        for (sdk::Refusal& refusal : check(op.body())) refusals.push_back(std::move(refusal));
      } else if (std::optional<std::string> reason = emit::refuse(op, emit::opencl_c())) {
        refusals.push_back({op.flat_index(), *std::move(reason)});
      }
    }
    return refusals;
  }

  std::unique_ptr<sdk::Executable> compile(const sdk::ProgramView& program, std::uint32_t flags) override {
    return std::make_unique<Executable>(device_, cache_, program, flags);
  }

  std::unique_ptr<sdk::Binding> bind(sdk::Executable& executable, std::span<const sdk::SlotRegion> slots) override {
    return std::make_unique<Binding>(device_, cache_, static_cast<Executable&>(executable), slots);
  }

  thrt_ticket enqueue(sdk::Binding& binding, std::uint32_t repeat) override {
    std::exception_ptr failure;
    try {
      for (std::uint32_t i = 0; i < repeat; ++i) {
        static_cast<Binding&>(binding).run();
        ++runs_;
      }
    } catch (const sdk::Error& e) {  // of the values, not of the queue: wait() reports it
      if (e.status() != THRT_NON_FINITE) throw;
      failure = std::current_exception();
    }
    const thrt_ticket ticket = mark();
    if (failure != nullptr) device_.tickets.fail(ticket, failure);
    return ticket;
  }

  bool wait(thrt_ticket ticket, std::uint64_t timeout_ns) override { return device_.tickets.wait(ticket, timeout_ns); }

 private:
  // A ticket that is reached when all that was queued so far is done.
  thrt_ticket mark() {
    cl_event event = nullptr;
    THRT_CL(device_.api, clEnqueueMarkerWithWaitList, device_.queue.get(), 0, nullptr, &event);
    return ticket_of(event);
  }
  thrt_ticket ticket_of(cl_event event) {
    const thrt_ticket ticket = device_.tickets.add(event);
    THRT_CL(device_.api, clFlush, device_.queue.get());
    return ticket;
  }

  Device device_;
  KernelCache cache_;
  std::uint64_t uploaded_ = 0, downloaded_ = 0, runs_ = 0;
};

class Plugin final : public sdk::Plugin {
 public:
  explicit Plugin(const sdk::PluginOptions&) : api_(load_api()), devices_(list_devices(api_)) {}

  std::uint32_t device_count() override { return static_cast<std::uint32_t>(devices_.size()); }
  void device_info(std::uint32_t index, thrt_device_info& info) override { info = devices_[index].info; }
  std::unique_ptr<sdk::Context> create_context(const thrt_context_options& options) override {
    const Listed& listed = devices_[options.device_index];
    const std::uint64_t budget = options.memory_budget != 0 ? options.memory_budget : listed.info.memory_total;
    return std::make_unique<Context>(api_, listed, budget);
  }

 private:
  Api api_;
  std::vector<Listed> devices_;
};

}  // namespace
}  // namespace thrt_opencl

THRT_BACKEND(thrt_opencl::Plugin, "opencl", "0.1.0", "an example of Thrust RL's SDK", "OpenCL 1.2 devices");
