// Behind host_memory.hpp.
#pragma once

#include <thrt/ir/float16.hpp>
#include <thrt/sdk/host_memory.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <string>

namespace thrt::sdk {

inline HostMemory host_memory() {
  HostMemory memory;
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  std::uint64_t kibibytes = 0;
  while (file >> key >> kibibytes) {
    if (key == "MemTotal:") memory.total = kibibytes * 1024;
    if (key == "MemAvailable:") memory.available = kibibytes * 1024;
    std::getline(file, unit);
  }
  return memory;
}

namespace detail {

[[noreturn]] inline void throw_non_finite(double value, std::int64_t element, std::uint32_t flat_op_index,
                                          std::string_view op_name, std::uint32_t value_index) {
  throw Error(THRT_NON_FINITE, "op " + std::to_string(flat_op_index) + " (" + std::string(op_name) + ") made " +
                                   (std::isnan(value) ? "a NaN" : "an infinity") + " in element " +
                                   std::to_string(element) + " of its result")
      .at_op(flat_op_index)
      .at_value(value_index);
}

// Bytes in use against the context's budget. Buffers, executables and bindings hold shares of it.
class Budget {
 public:
  explicit Budget(std::uint64_t bytes) : budget_(bytes) {}

  void take(std::uint64_t bytes, const char* what) {
    if (bytes > budget_ - used_) {
      throw Error(THRT_OVER_BUDGET, std::string(what) + ": asked for " + std::to_string(bytes) + " bytes, in use " +
                                        std::to_string(used_) + " bytes of a budget of " + std::to_string(budget_) +
                                        " bytes");
    }
    used_ += bytes;
    peak_ = std::max(peak_, used_);
  }
  void give_back(std::uint64_t bytes) { used_ -= bytes; }

  std::uint64_t budget() const { return budget_; }
  std::uint64_t used() const { return used_; }
  std::uint64_t peak() const { return peak_; }

 private:
  std::uint64_t budget_;
  std::uint64_t used_ = 0;
  std::uint64_t peak_ = 0;
};

class BudgetShare {
 public:
  BudgetShare(Budget& budget, std::uint64_t bytes, const char* what) : budget_(&budget), bytes_(bytes) {
    budget.take(bytes, what);
  }
  BudgetShare(const BudgetShare&) = delete;
  BudgetShare& operator=(const BudgetShare&) = delete;
  ~BudgetShare() { budget_->give_back(bytes_); }

 private:
  Budget* budget_;
  std::uint64_t bytes_;
};

// Aligned memory that counts against the budget. Never null, also for 0 bytes.
class HostBlock {
 public:
  HostBlock(Budget& budget, std::uint64_t bytes, std::uint64_t alignment, const char* what)
      : share_(budget, bytes, what) {
    if (alignment > (std::uint64_t{1} << 30) || bytes > (std::uint64_t{1} << 62)) throw std::bad_alloc();
    const std::uint64_t rounded = (std::max<std::uint64_t>(bytes, 1) + alignment - 1) / alignment * alignment;
    data_ = static_cast<std::byte*>(std::aligned_alloc(alignment, rounded));
    if (data_ == nullptr) {
      throw Error(THRT_OUT_OF_MEMORY,
                  std::string(what) + ": the host has no " + std::to_string(bytes) + " bytes of memory");
    }
  }
  HostBlock(const HostBlock&) = delete;
  HostBlock& operator=(const HostBlock&) = delete;
  ~HostBlock() { std::free(data_); }

  std::byte* data() const { return data_; }

 private:
  BudgetShare share_;
  std::byte* data_ = nullptr;
};

// Memory of either kind is the same on a processor.
class HostBuffer final : public Buffer {
 public:
  HostBuffer(Budget& budget, const thrt_buffer_options& options)
      : block_(budget, options.bytes, options.alignment, "buffer") {}
  std::byte* data() const { return block_.data(); }

 private:
  HostBlock block_;
};

class HostExecutableObject final : public Executable {
 public:
  HostExecutableObject(Budget& budget, std::unique_ptr<HostExecutable> inner)
      : inner_(std::move(inner)), constants_(budget, inner_->constant_bytes(), "constants") {}

  void info(thrt_executable_info& info) const override {
    inner_->info(info);
    info.workspace_bytes = inner_->workspace_bytes();
    info.constant_bytes = inner_->constant_bytes();
  }
  std::string describe() const override { return inner_->describe(); }
  HostExecutable& inner() const { return *inner_; }

 private:
  std::unique_ptr<HostExecutable> inner_;
  BudgetShare constants_;
};

class HostBinding final : public Binding {
 public:
  HostBinding(Budget& budget, HostExecutable& executable, std::span<const SlotRegion> slots)
      : workspace_(budget, executable.workspace_bytes(), 64, "workspace") {
    std::vector<std::byte*> pointers;
    for (const SlotRegion& slot : slots) {
      pointers.push_back(static_cast<HostBuffer&>(*slot.buffer).data() + slot.offset);
    }
    run_ = executable.prepare(pointers, workspace_.data());
    if (run_ == nullptr) throw Error(THRT_INTERNAL, "the backend prepared no run");
  }
  HostRun& run() const { return *run_; }

 private:
  HostBlock workspace_;
  std::unique_ptr<HostRun> run_;  // destroyed before its workspace
};

class HostContext final : public Context {
 public:
  HostContext(std::unique_ptr<HostDevice> device, std::uint64_t budget) : budget_(budget), device_(std::move(device)) {
    if (device_ == nullptr) throw Error(THRT_INTERNAL, "the backend opened no device");
  }

  void stats(thrt_stats& stats) override {
    stats.bytes_allocated = budget_.used();
    stats.bytes_peak = budget_.peak();
    stats.bytes_budget = budget_.budget();
    stats.bytes_uploaded = uploaded_;
    stats.bytes_downloaded = downloaded_;
    stats.runs = runs_;
  }

  std::unique_ptr<Buffer> create_buffer(const thrt_buffer_options& options) override {
    return std::make_unique<HostBuffer>(budget_, options);
  }

  thrt_ticket upload(Buffer& buffer, std::uint64_t offset, std::span<const std::byte> source) override {
    if (!source.empty()) {
      std::memcpy(static_cast<HostBuffer&>(buffer).data() + offset, source.data(), source.size());
    }
    uploaded_ += source.size();
    return next_ticket();
  }

  thrt_ticket download(Buffer& buffer, std::uint64_t offset, std::span<std::byte> destination) override {
    if (!destination.empty()) {
      std::memcpy(destination.data(), static_cast<HostBuffer&>(buffer).data() + offset, destination.size());
    }
    downloaded_ += destination.size();
    return next_ticket();
  }

  std::vector<Refusal> check(const ProgramView& program) override {
    std::vector<Refusal> refusals;
    collect_refusals(program, refusals);
    return refusals;
  }

  std::unique_ptr<Executable> compile(const ProgramView& program, std::uint32_t flags) override {
    auto inner = device_->compile(program, flags);
    if (inner == nullptr) throw Error(THRT_INTERNAL, "the backend compiled nothing");
    return std::make_unique<HostExecutableObject>(budget_, std::move(inner));
  }

  std::unique_ptr<Binding> bind(Executable& executable, std::span<const SlotRegion> slots) override {
    return std::make_unique<HostBinding>(budget_, static_cast<HostExecutableObject&>(executable).inner(), slots);
  }

  thrt_ticket enqueue(Binding& binding, std::uint32_t repeat) override {
    const thrt_ticket ticket = next_ticket();
    HostRun& run = static_cast<HostBinding&>(binding).run();
    try {
      for (std::uint32_t i = 0; i < repeat; ++i) {
        run.run();
        ++runs_;
      }
    } catch (...) {
      const std::lock_guard<std::mutex> lock(failure_mutex_);
      // The earliest failure is the cause; a later one may be its consequence.
      if (failure_ == nullptr) {
        failure_ = std::current_exception();
        failed_ticket_ = ticket;
        failed_.store(true, std::memory_order_release);
      }
    }
    return ticket;
  }

  bool wait(thrt_ticket ticket, std::uint64_t) override {
    if (ticket > last_ticket_) {
      throw Error(THRT_INVALID_ARGUMENT, "ticket " + std::to_string(ticket) + " was never handed out");
    }
    if (!failed_.load(std::memory_order_acquire)) return true;
    std::exception_ptr failure;
    {
      const std::lock_guard<std::mutex> lock(failure_mutex_);
      if (failure_ != nullptr && failed_ticket_ <= ticket) {
        failure = std::exchange(failure_, nullptr);
        failed_.store(false, std::memory_order_relaxed);
      }
    }
    if (failure != nullptr) std::rethrow_exception(failure);
    return true;
  }

 private:
  // [context] calls come one at a time, so no read-modify-write is needed.
  thrt_ticket next_ticket() {
    const thrt_ticket ticket = last_ticket_.load(std::memory_order_relaxed) + 1;
    last_ticket_.store(ticket, std::memory_order_release);
    return ticket;
  }

  void collect_refusals(const ProgramView& program, std::vector<Refusal>& refusals) const {
    for (const OpView& op : program.ops()) {
      if (std::optional<std::string> reason = device_->refuse(op)) {
        refusals.push_back({op.flat_index(), *std::move(reason)});
      }
      if (op.kind() == ir::OpKind::REPEAT) collect_refusals(op.body(), refusals);
    }
  }

  // Constant after construction.
  Budget budget_;
  std::unique_ptr<HostDevice> device_;
  // [context] calls only.
  std::uint64_t uploaded_ = 0;
  std::uint64_t downloaded_ = 0;
  std::uint64_t runs_ = 0;
  // Also read by wait(), from any thread.
  std::atomic<thrt_ticket> last_ticket_{0};
  std::atomic<bool> failed_{false};  // whether failure_ is there: a launch that went well takes no lock
  std::mutex failure_mutex_;
  std::exception_ptr failure_;  // guarded by failure_mutex_, as is its ticket
  thrt_ticket failed_ticket_ = 0;
};

template <typename Stored, typename Widen>
void require_finite_as(const void* data, std::int64_t elements, Widen widen, std::uint32_t flat_op_index,
                       std::string_view op_name, std::uint32_t value) {
  const auto* stored = static_cast<const Stored*>(data);
  for (std::int64_t i = 0; i < elements; ++i) {
    const double wide = static_cast<double>(widen(stored[i]));
    if (!std::isfinite(wide)) throw_non_finite(wide, i, flat_op_index, op_name, value);
  }
}

}  // namespace detail

inline void require_finite(const ir::Type& type, const void* data, std::uint32_t flat_op_index,
                           std::string_view op_name, std::uint32_t value) {
  const std::int64_t n = type.elements();
  switch (type.dtype) {
    case ir::DType::kF32:
      return detail::require_finite_as<float>(
          data, n, [](float x) { return x; }, flat_op_index, op_name, value);
    case ir::DType::kF64:
      return detail::require_finite_as<double>(
          data, n, [](double x) { return x; }, flat_op_index, op_name, value);
    case ir::DType::kF16:
      return detail::require_finite_as<std::uint16_t>(data, n, ir::f16_to_f32, flat_op_index, op_name, value);
    case ir::DType::kBF16:
      return detail::require_finite_as<std::uint16_t>(data, n, ir::bf16_to_f32, flat_op_index, op_name, value);
    case ir::DType::kI32:
    case ir::DType::kU32:
    case ir::DType::kU8:
    case ir::DType::kBool:
      return;
  }
}

inline std::unique_ptr<Context> HostPlugin::create_context(const thrt_context_options& options) {
  const std::uint64_t budget =
      options.memory_budget != 0 ? options.memory_budget : devices()[options.device_index].memory_total;
  return std::make_unique<detail::HostContext>(open_device(options), budget);
}

}  // namespace thrt::sdk
